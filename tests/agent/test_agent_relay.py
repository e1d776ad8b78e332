"""Official clients inside real workloads, with a server that comes and goes."""

from __future__ import annotations

import hashlib
import json
import sys
import textwrap
import time
from pathlib import Path

import pytest

from contrail.model.jobs import Cause

DOCUMENTED = """
import os

import mlflow

training_losses = [1.0 / (step + 1) for step in range(20)]
# Log from rank 0 only because all nodes share the same MLFLOW_RUN_ID.
if os.environ.get("RANK", "0") == "0":
    with mlflow.start_run(run_id=os.environ["MLFLOW_RUN_ID"]):
        mlflow.log_param("learning_rate", 3e-4)
        for step, loss in enumerate(training_losses):
            mlflow.log_metric("train_loss", loss, step=step)
print("done")
"""


def await_true(condition, what, timeout_s=60.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited for {what}")


@pytest.fixture
def workload(agent, tmp_path):
    """Runs a Python text under an agent."""

    def run(text: str, **fields):
        name = f"attempt_{fields.get('attempt_id', 1)}_{fields.get('node', 0)}.py"
        script = tmp_path / name
        script.write_text(textwrap.dedent(text))
        return agent(f"{sys.executable} {script}", **fields)

    return run


def steps(stand_in, run_id, key="loss"):
    return [step for step, _value, _time in stand_in.points(run_id, key)]


def test_the_documented_snippet_on_two_nodes(workload, stand_in):
    """Two nodes share the run, and the rank guard makes one of them log: every value is there once."""
    agents = [workload(DOCUMENTED, node=node, num_nodes=2) for node in (0, 1)]
    for process in agents:
        assert process.wait().exit_code == 0
    run = stand_in.run(agents[0].spec.run_id)
    assert sorted(steps(stand_in, agents[0].spec.run_id, "train_loss")) == list(range(20))
    assert run["params"] == {"learning_rate": "0.0003"}
    assert run["status"] == "RUNNING", "the end of the run belongs to the attempt"
    assert stand_in.node(1, 0).text == stand_in.node(1, 1).text == "done\n"
    for node in (0, 1):
        keys = {point["key"] for point in run["points"]}
        assert f"system/node_{node}/system_memory_usage_megabytes" in keys


LOOP = """
import mlflow, sys, time
with mlflow.start_run():
    for i in range({count}):
        mlflow.log_metric("loss", 1 / (i + 1), step=i, timestamp=1_700_000_000_000 + i)
        time.sleep(0.01)
print("last line", flush=True)
"""


def check_loop(stand_in, process, count):
    points = sorted(stand_in.points(process.spec.run_id, "loss"))
    assert points == [(i, 1 / (i + 1), 1_700_000_000_000 + i) for i in range(count)]


def test_a_server_away_in_the_middle(workload, stand_in):
    """The loop goes on at its pace, the log says once that telemetry was kept, and every point is there once."""
    process = workload(LOOP.format(count=600))
    await_true(lambda: len(steps(stand_in, process.spec.run_id)) > 100, "the first points")
    stand_in.away()
    time.sleep(4.5)  # long enough to be told
    stand_in.back()
    assert process.wait().exit_code == 0
    check_loop(stand_in, process, 600)
    text = stand_in.node().text
    assert text.count("does not answer; metrics, artifacts and output are kept") == 1
    assert text.count("[contrail] the server is back after") == 1
    assert "last line\n" in text


def test_a_server_away_from_the_start(workload, stand_in):
    """A command starts and logs although the server is away before it begins."""
    stand_in.away()
    process = workload(LOOP.format(count=100))
    await_true((process.work_dir / "exit.json").exists, "the end")
    assert process.exit().exit_code == 0
    stand_in.back()
    process.wait()
    check_loop(stand_in, process, 100)


def test_a_server_away_until_after_the_end(workload, stand_in):
    """The command is gone soon after its last line; the agent stays and delivers."""
    process = workload(LOOP.format(count=300))
    await_true(lambda: len(steps(stand_in, process.spec.run_id)) > 100, "the first points")
    stand_in.away()
    await_true((process.work_dir / "exit.json").exists, "the end", 30)
    assert process.exit().exit_code == 0
    assert process.process.poll() is None
    assert stand_in.node().exit is None
    stand_in.back()
    process.wait()
    check_loop(stand_in, process, 300)
    record = stand_in.node()
    assert record.exit["exit_code"] == 0
    assert record.log_bytes_at_exit == len(record.log)


def test_answers_that_get_lost_double_nothing(workload, stand_in):
    """The server applied a request, but the agent never heard: it repeats, and nothing is there twice."""
    stand_in.answer_lost_every = 2
    process = workload(LOOP.format(count=200))
    assert process.wait().exit_code == 0
    check_loop(stand_in, process, 200)


def test_four_ranks_join_one_run(workload, stand_in):
    """Four processes call start_run under the variables of the attempt: one run, the points of rank 0."""
    process = workload(
        """
        import mlflow, os
        children = []
        for rank in range(4):
            if (pid := os.fork()) == 0:
                with mlflow.start_run() as run:
                    os.write(1, f"{rank} {run.info.run_id}\\n".encode())
                    if rank == 0:
                        for step in range(50):
                            mlflow.log_metric("loss", 1.0, step=step)
                os._exit(0)
            children.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
        """
    )
    assert process.wait(120).exit_code == 0
    assert sorted(stand_in.node().text.splitlines()) == [f"{rank} {process.spec.run_id}" for rank in range(4)]
    assert sorted(steps(stand_in, process.spec.run_id)) == list(range(50))


def test_a_client_reads_what_it_wrote(workload, stand_in):
    """A read waits until the writes before it have reached the server."""
    process = workload(
        """
        import mlflow
        client = mlflow.MlflowClient()
        with mlflow.start_run() as run:
            for i in range(300):
                mlflow.log_metric("loss", float(i), step=i)
            print(len(client.get_metric_history(run.info.run_id, "loss")))
            mlflow.log_param("p", 1)
            print(client.get_run(run.info.run_id).data.params)
        """
    )
    assert process.wait().exit_code == 0
    assert stand_in.node().text.splitlines() == ["300", "{'p': '1'}"]


def test_what_the_server_would_refuse_is_refused_at_once(workload, stand_in):
    """A changed param and a bad key are errors in the client, with or without a server."""
    text = """
        import math, mlflow
        with mlflow.start_run() as run:
            mlflow.log_param("lr", 1)
            mlflow.log_param("lr", 1)
            mlflow.log_metrics({"nan": math.nan, "inf": math.inf}, step=1)
            for attempt in (lambda: mlflow.log_params({"new": 1, "lr": 2}), lambda: mlflow.log_metric("a//b", 1)):
                try:
                    attempt()
                    print("accepted")
                except mlflow.MlflowException as error:
                    print(error.error_code, "Changing param values" in str(error))
        """
    process = workload(text)
    assert process.wait().exit_code == 0
    expected = ["INVALID_PARAMETER_VALUE True", "INVALID_PARAMETER_VALUE False"]
    assert stand_in.node().text.splitlines() == expected
    run = stand_in.run(process.spec.run_id)
    assert run["params"] == {"lr": "1"}
    assert {p["key"]: p["value"] for p in run["points"] if p["key"] in {"nan", "inf"}} == {
        "nan": "NaN",
        "inf": "Infinity",
    }


OFFLINE = """
import json, mlflow, os, sys, time
client = mlflow.MlflowClient()
with mlflow.start_run() as run:
    mlflow.log_param("lr", 1)
    mlflow.set_tag("color", "blue")
    mlflow.log_metric("loss", 0.5, step=3)
    known = client.get_run(run.info.run_id)
    print(json.dumps([known.data.params, known.data.metrics, known.data.tags["color"], known.info.run_name]))
    with mlflow.start_run(nested=True, run_name="child") as child:
        mlflow.log_metric("inner", 1.0)
        print(json.dumps(child.info.run_id))
    mlflow.log_text("한글", "notes/내용.txt")
    began = time.monotonic()
    os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] = "0"
    try:
        client.search_runs(["7"])
    except mlflow.MlflowException:
        print(json.dumps(time.monotonic() - began < 4))
print(json.dumps(mlflow.set_experiment("my-training").experiment_id))
"""


def test_a_client_works_without_a_server(workload, stand_in):
    """Runs, child runs, reads of what was logged and artifacts work; what cannot be known fails soon."""
    stand_in.away()
    process = workload(OFFLINE)
    await_true((process.work_dir / "exit.json").exists, "the end")
    stand_in.back()
    assert process.wait().exit_code == 0
    answers = [
        json.loads(x)
        for x in stand_in.node().text.splitlines()
        if x[0] in '["t' and not x.startswith("[contrail]")
    ]
    params, metrics, color, name = answers[0]
    assert (params, metrics["loss"], color, name) == ({"lr": "1"}, 0.5, "blue", "baseline")
    child = answers[1]
    assert answers[2:] == [True, "7"]
    assert stand_in.run(child)["name"] == "child"
    assert stand_in.run(child)["status"] == "FINISHED"
    assert stand_in.run(child)["tags"]["mlflow.parentRunId"] == process.spec.run_id
    assert stand_in.points(child, "inner")
    names = [
        name for name in stand_in.artifacts if name.startswith(f"7/{process.spec.run_id}/artifacts/notes/")
    ]
    assert [stand_in.artifacts[name].decode() for name in names] == ["한글"]


def test_artifacts_stream_through_the_node(workload, stand_in, tmp_path):
    """A file of 40 MB goes up and comes down as it was, and the agent stays small."""
    process = workload(
        """
        import hashlib, mlflow, os, pathlib
        big = pathlib.Path("big.bin")
        big.write_bytes(os.urandom(1 << 20) * 40)
        with mlflow.start_run() as run:
            mlflow.log_artifact(str(big), "models")
            mlflow.log_metric("after", 1.0)
            path = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="models/big.bin")
        print(hashlib.sha256(open(path, "rb").read()).hexdigest())
        """
    )
    assert process.wait(120).exit_code == 0
    content = stand_in.artifacts[f"7/{process.spec.run_id}/artifacts/models/big.bin"]
    assert len(content) == 40 << 20
    assert stand_in.node().text.splitlines()[-1] == hashlib.sha256(content).hexdigest()


def test_an_artifact_larger_than_the_spool(agent, stand_in):
    """What finds no room on the node goes straight to the server; without one, the log names what was not kept."""
    put = (
        'curl -s -o /dev/null -w "%{http_code}\\n" -X PUT -T big.bin -H "Authorization: Bearer $MLFLOW_TRACKING_TOKEN" '
        "$MLFLOW_TRACKING_URI/api/2.0/mlflow-artifacts/artifacts/7/run/artifacts/big.bin"
    )
    process = agent(f"head -c 3000000 /dev/zero > big.bin; {put}", spool_max_bytes=2_000_000)
    assert process.wait().exit_code == 0
    assert stand_in.node().text == "200\n"
    assert stand_in.artifacts["7/run/artifacts/big.bin"] == bytes(3_000_000)
    stand_in.artifacts.clear()
    stand_in.away()
    wait = "sleep 1; "  # until the agent has noticed
    process = agent(
        f"{wait}head -c 3000000 /dev/zero > big.bin; {put}", spool_max_bytes=2_000_000, attempt_id=2
    )
    await_true((process.work_dir / "exit.json").exists, "the end")
    stand_in.back()
    process.wait()
    assert "200\n" in stand_in.node(2).text
    assert "[contrail] not kept: the artifact '7/run/artifacts/big.bin'" in stand_in.node(2).text
    assert not stand_in.artifacts


def test_refused_writes_are_counted_and_told_once(workload, stand_in):
    """What the server refuses for good is dropped; the log names the first and counts the rest."""
    stand_in.refuse = lambda item: "too many points" if b"loss" in json.dumps(item["body"]).encode() else None
    process = workload(LOOP.format(count=100))
    assert process.wait().exit_code == 0
    text = stand_in.node().text
    assert text.count("too many points") == 1
    assert "[contrail] the server refused 100 tracking writes in all" in text


def test_a_run_left_open_ends_with_its_attempt(workload, stand_in):
    """A child run of a process that was killed does not stay RUNNING."""
    process = workload(
        """
        import mlflow, os
        mlflow.start_run()
        child = mlflow.start_run(nested=True)
        print(child.info.run_id, flush=True)
        os.kill(os.getpid(), 9)
        """
    )
    end = process.wait()
    assert (end.cause, end.signal) == (Cause.SIGNAL, 9)
    child = stand_in.node().text.split()[0]
    assert stand_in.run(child)["status"] == "FAILED"


def test_a_slow_server_does_not_slow_the_loop(workload, stand_in):
    """With 300 ms per answer of the server, a logged step costs what the client itself costs."""
    stand_in.delay_s = 0.3
    process = workload(
        """
        import mlflow, time
        with mlflow.start_run():
            mlflow.log_metric("loss", 0.0, step=0)
            began = time.monotonic()
            for i in range(100):
                mlflow.log_metric("loss", 1.0, step=i)
            print((time.monotonic() - began) / 100)
        """
    )
    assert process.wait().exit_code == 0
    assert float(stand_in.node().text.split()[0]) < 0.1
    assert len(set(steps(stand_in, process.spec.run_id))) == 100


def test_the_relay_is_not_for_everyone(agent, stand_in, tmp_path):
    """Without the attempt's token the relay answers nothing but that it lives, and paths cannot leave."""
    check = """
import json, os, urllib.request, urllib.error
base, token = os.environ["MLFLOW_TRACKING_URI"], os.environ["MLFLOW_TRACKING_TOKEN"]
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
opener = urllib.request.build_opener(Stay)
def status(path, method="GET", auth=None, data=None):
    headers = {"Authorization": f"Bearer {auth}"} if auth else {}
    try:
        request = urllib.request.Request(base + path, data, headers, method=method)
        return opener.open(request).status
    except urllib.error.HTTPError as error:
        return error.code
art = "/api/2.0/mlflow-artifacts/artifacts/"
print(json.dumps([
    status("/api/2.0/mlflow/runs/get?run_id=x"),
    status(art + "7/a.txt", "PUT", None, b"x"),
    status(art + "7/a.txt", "PUT", "wrong", b"x"),
    status(art + "7/%252e%252e/a.txt", "PUT", token, b"x"),
    status(art + "7/a.txt", "PUT", token, b"x"),
    status("/"),
]))
"""
    script = tmp_path / "check.py"
    script.write_text(check)
    process = agent(f"{sys.executable} {script}")
    assert process.wait().exit_code == 0
    assert json.loads(stand_in.node().text) == [401, 401, 401, 400, 200, 302]
    assert stand_in.artifacts == {"7/a.txt": b"x"}
    assert Path(process.spec.work_dir, "exit.json").exists()
