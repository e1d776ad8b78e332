from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import httpx
import mlflow
import pytest
from mlflow import MlflowClient
from PIL import Image


@pytest.fixture
def client(shared_server) -> MlflowClient:
    mlflow.set_tracking_uri(shared_server.url)
    return MlflowClient(shared_server.url)


@pytest.fixture
def run_id(client: MlflowClient) -> str:
    return client.create_run("0").info.run_id


def tree(folder: str) -> dict[str, bytes]:
    root = Path(folder)
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_everything_logged_can_be_listed_and_downloaded(client, run_id, tmp_path):
    """All ways of logging artifacts of the official client arrive byte for byte, under their names."""
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "a.txt").write_bytes(b"hi")
    (source / "한글 파일.bin").write_bytes(b"\xff\x00")
    (source / "sub" / "100%.csv").write_bytes(b"a,b\n1,2\n")
    (source / "sub" / "empty").write_bytes(b"")
    client.log_artifact(run_id, str(source / "a.txt"))
    client.log_artifacts(run_id, str(source), "dir")
    client.log_text(run_id, "é", "t/x.txt")
    client.log_dict(run_id, {"a": 1}, "d.json")
    client.log_image(run_id, Image.new("RGB", (8, 8)), "img.png")
    client.log_table(run_id, {"n": [1, 2]}, "table.json")
    assert [f.path for f in client.list_artifacts(run_id)] == [
        "a.txt",
        "d.json",
        "dir",
        "img.png",
        "t",
        "table.json",
    ]
    assert [(f.path, f.is_dir, f.file_size) for f in client.list_artifacts(run_id, "dir")] == [
        ("dir/a.txt", False, 2),
        ("dir/sub", True, None),
        ("dir/한글 파일.bin", False, 2),
    ]
    assert client.list_artifacts(run_id, "nowhere") == client.list_artifacts(run_id, "a.txt") == []
    assert tree(client.download_artifacts(run_id, "dir", str(tmp_path / "out"))) == tree(str(source))
    assert Path(client.download_artifacts(run_id, "t/x.txt")).read_text() == "é"


def test_a_volume_location_needs_no_access_to_the_folder(client, shared_server):
    """An experiment in a volume is written and read through the server; the file lies in the volume's folder."""
    experiment = client.create_experiment(f"in a volume {os.urandom(4).hex()}", "/Volumes/cat/sch/vol/models")
    run = client.create_run(experiment)
    assert (
        run.info.artifact_uri == f"mlflow-artifacts:/Volumes/cat/sch/vol/models/{run.info.run_id}/artifacts"
    )
    client.log_text(run.info.run_id, "weights", "m/w.bin")
    assert [f.path for f in client.list_artifacts(run.info.run_id, "m")] == ["m/w.bin"]
    stored = shared_server.data_dir / "volumes/cat/sch/vol/models" / run.info.run_id / "artifacts/m/w.bin"
    assert stored.read_text() == "weights"


def test_a_large_file_streams_both_ways(client, run_id, tmp_path):
    """A file much larger than the server's buffers keeps its checksum, whole and in ranges."""
    large = tmp_path / "large.bin"
    large.write_bytes(os.urandom(1 << 20) * 48)
    client.log_artifact(run_id, str(large))
    got = client.download_artifacts(run_id, "large.bin", str(tmp_path))
    assert hashlib.sha256(Path(got).read_bytes()).digest() == hashlib.sha256(large.read_bytes()).digest()


@pytest.fixture
def proxy(shared_server) -> str:
    return f"{shared_server.url}/api/2.0/mlflow-artifacts/artifacts"


def test_ranges_tags_and_names(proxy):
    """Ranges give 206, tags 304, and the answer can only be saved, never run, under the file's own name."""
    url = f"{proxy}/ranges/%ED%95%9C.html"
    assert httpx.put(url, content=b"0123456789").json() == {}
    whole = httpx.get(url)
    assert whole.content == b"0123456789"
    assert (
        whole.headers["content-disposition"]
        == "attachment; filename=\"_.html\"; filename*=UTF-8''%ED%95%9C.html"
    )
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in whole.headers["content-security-policy"]
    for asked, content, said in [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ]:
        part = httpx.get(url, headers={"range": asked})
        assert (part.status_code, part.content, part.headers["content-range"]) == (206, content, said)
    beyond = httpx.get(url, headers={"range": "bytes=10-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")
    for odd in ("bytes=5-2", "bytes=-", "items=1-2", "bytes=1-2,4-5"):
        assert httpx.get(url, headers={"range": odd}).status_code == 200
    assert httpx.get(url, headers={"if-none-match": whole.headers["etag"]}).status_code == 304
    stale = {"range": "bytes=2-4", "if-range": '"other"'}
    assert httpx.get(url, headers=stale).status_code == 200
    head = httpx.head(url)
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "10", b"")
    assert httpx.delete(url).json() == {}
    assert httpx.delete(url).json() == {}
    missing = httpx.get(url)
    assert (missing.status_code, missing.json()["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_folders_are_listed_not_downloaded(proxy):
    """A folder is a 400 as a file, and listings say names, kinds and sizes."""
    httpx.put(f"{proxy}/listing/d/a", content=b"12").raise_for_status()
    assert httpx.get(f"{proxy}/listing/d").status_code == 400
    assert httpx.get(proxy, params={"path": "listing"}).json() == {"files": [{"path": "d", "is_dir": True}]}
    assert httpx.get(proxy, params={"path": "listing/d"}).json() == {
        "files": [{"path": "a", "is_dir": False, "file_size": 2}]
    }
    assert httpx.get(proxy, params={"path": "nowhere"}).json() == {}


def test_previews(client, run_id, shared_server):
    """Tables give their first rows as text, texts come in parts, pictures inline, anything unknown only to save."""
    base = f"{shared_server.url}/api/contrail/v1/artifacts"
    client.log_text(run_id, 'a,b\n1,"x\ny"\n3\n', "t.csv")
    client.log_table(run_id, {"n": [1, None]}, "t.json")
    client.log_text(run_id, '{"a": 1}\n{"b": {"c": true}}\n', "t.jsonl")
    client.log_text(run_id, "한글로" * 10, "t.txt")
    client.log_text(run_id, "<script>alert(1)</script>", "page.html")
    client.log_text(run_id, "x", "model.pkl")
    client.log_text(run_id, "{nonsense", "bad.json")

    def get(kind: str, path: str, **more: str) -> httpx.Response:
        return httpx.get(f"{base}/{kind}", params={"run_id": run_id, "path": path, **more})

    assert get("table", "t.csv").json() == {
        "columns": ["a", "b"],
        "rows": [["1", "x\ny"], ["3", None]],
        "more": False,
    }
    assert get("table", "t.csv", limit="1").json()["more"] is True
    assert get("table", "t.json").json()["columns"] == ["n"]
    assert get("table", "t.jsonl").json()["rows"] == [["1", None], [None, '{"c": true}']]
    for path in ("bad.json", "model.pkl", "t.txt"):
        assert get("table", path).status_code == 400
    first = get("text", "t.txt", limit="10")
    assert (first.text, first.headers["x-next-offset"], first.headers["x-total-bytes"]) == (
        "한글로",
        "9",
        "90",
    )
    rest = get("text", "t.txt", offset="9")
    assert (rest.text, rest.headers["x-next-offset"]) == ("한글로" * 9, "")
    page = get("raw", "page.html")
    assert page.headers["content-disposition"].startswith("inline")
    assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    saved = get("raw", "model.pkl")
    assert saved.headers["content-disposition"].startswith("attachment")
    assert get("text", "nowhere").status_code == 404
    assert get("text", "").status_code == 400


def test_parquet_preview(client, run_id, shared_server, tmp_path):
    """The first rows of a Parquet file are shown; a file that only pretends to be one is refused in words."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"n": list(range(5000)), "s": ["x"] * 5000}), tmp_path / "t.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    client.log_artifacts(run_id, str(tmp_path))
    base = f"{shared_server.url}/api/contrail/v1/artifacts/table"
    found = httpx.get(base, params={"run_id": run_id, "path": "t.parquet"}).json()
    assert (found["columns"], len(found["rows"]), found["rows"][1], found["more"]) == (
        ["n", "s"],
        1000,
        ["1", "x"],
        True,
    )
    assert httpx.get(base, params={"run_id": run_id, "path": "bad.parquet"}).status_code == 400


def test_upload_route_of_the_pages(run_id, shared_server):
    """The pages' upload stores up to 10 MiB below the run and refuses more."""
    url = f"{shared_server.url}/ajax-api/2.0/mlflow/upload-artifact"
    params = {"run_uuid": run_id, "path": "up/x.txt"}
    assert httpx.post(url, params=params, content=b"x").status_code == 200
    assert httpx.get(f"{shared_server.url}/get-artifact", params=params).content == b"x"
    assert httpx.post(url, params=params, content=b"x" * (10 * 2**20 + 1)).status_code == 413
    assert httpx.get(f"{shared_server.url}/get-artifact", params=params).content == b"x"
    assert httpx.post(url, params={"run_uuid": run_id}, content=b"x").status_code == 400
    assert httpx.post(url, params={"path": "x"}, content=b"x").status_code == 400


def test_listing_of_a_run_names_paths_from_its_root(run_id, client, shared_server):
    """`artifacts/list` gives paths relative to the run and the run's root."""
    client.log_text(run_id, "x", "a/b.txt")
    url = f"{shared_server.url}/api/2.0/mlflow/artifacts/list"
    found = httpx.get(url, params={"run_id": run_id, "path": "a"}).json()
    assert found["root_uri"].endswith(f"/{run_id}/artifacts")
    assert found["files"] == [{"path": "a/b.txt", "is_dir": False, "file_size": 1}]
    assert "files" not in httpx.get(url, params={"run_id": run_id, "path": "nowhere"}).json()
    assert httpx.get(url).status_code == 400
    assert (
        json.loads(httpx.get(url, params={"run_id": "none"}).text)["error_code"] == "RESOURCE_DOES_NOT_EXIST"
    )
