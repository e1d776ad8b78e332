from __future__ import annotations

import http.client
import os
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

PROXY = "/api/2.0/mlflow-artifacts/artifacts"
HOSTILE = [
    "../x",
    "a/../../x",
    "%2e%2e/x",
    "%252e%252e/x",
    "%25252e%25252e%25252fx",
    "a/..%2f..%2fx",
    "a\\..\\x",
    "a%5cx",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "C:/x",
    "a%00b",
    "%0a",
    "a%ff",
    "x" * 3000,
    "y" * 300,
    "",
    ".",
    "..",
    "Volumes",
    "Volumes/../x",
    "Volumes/%2e%2e/%2e%2e/x",
    ".contrail-uploads/x",
    "file:///etc/passwd",
]


def raw_request(url: str, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    """One request whose path no client library has tidied up."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    connection.putrequest(method, path)
    if body is not None:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, text


def snapshot(folder: Path) -> set[tuple[str, int]]:
    return {
        (str(p), p.stat().st_size) for p in folder.rglob("*") if p.is_file() and "contrail.db" not in p.name
    }


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_touch_nothing(shared_server, method, path):
    """Every way out of the store is a 4xx that names no place on the server, and no file changes."""
    before = snapshot(shared_server.data_dir.parent)
    for prefix in ("/api/2.0", "/ajax-api/2.0"):
        url = f"{prefix}/mlflow-artifacts/artifacts/{path}"
        status, text = raw_request(shared_server.url, method, url, b"data" if method == "PUT" else None)
        assert 400 <= status < 500, (status, text)
        assert str(shared_server.data_dir) not in text
    assert snapshot(shared_server.data_dir.parent) == before


@pytest.mark.parametrize(
    "path", ["..", "%252e%252e", "a%5Cb", "%2Fetc", "a%00", "%2e%2e%2f%2e%2e", "a%23b", "x" * 2000]
)
def test_hostile_query_paths_are_refused(shared_server, path):
    """The same for paths in a query string."""
    status, text = raw_request(shared_server.url, "GET", f"{PROXY}?path={path}")
    assert (status, str(shared_server.data_dir) in text) == (400, False)


def test_a_killed_upload_leaves_nothing(server):
    """A client that goes away in the middle leaves neither a file nor used space, nor does a server that is killed."""
    server_url = urlsplit(server.url)

    def half_an_upload() -> socket.socket:
        connection = socket.create_connection((server_url.hostname, server_url.port), timeout=30)
        head = f"PUT {PROXY}/k/half.bin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n"
        connection.sendall(head.encode() + os.urandom(1 << 20) * 4)
        return connection

    def stored() -> list[Path]:
        return [p for p in (server.data_dir / "artifacts").rglob("*") if p.is_file()]

    def stored_bytes() -> int:
        try:
            return sum(p.stat().st_size for p in stored())
        except FileNotFoundError:  # removed between the two looks
            return 0

    def wait(condition) -> None:
        end = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.02)

    connection = half_an_upload()
    wait(lambda: stored_bytes() >= 2 << 20)
    connection.close()
    wait(lambda: stored() == [])
    connection = half_an_upload()
    wait(lambda: stored_bytes() >= 2 << 20)
    server.kill()
    server.restart()
    connection.close()
    assert stored() == []
    assert raw_request(server.url, "GET", f"{PROXY}/k/half.bin")[0] == 404
