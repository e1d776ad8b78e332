"""Agents against the real server, which dies and comes back."""

from __future__ import annotations

import json
import os
import time
import urllib.request

import pytest

from contrail.agent import tree


def post(server, path, content):
    request = urllib.request.Request(
        server.url + path, json.dumps(content).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def submit(server, command: str, nodes: int = 1, **keys) -> int:
    indented = "\n".join(f"  {line}" for line in command.splitlines())
    extra = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    workload = (
        f"experiment_name: agents\ncompute: {{accelerator_type: CPU, num_accelerators: {nodes}}}\n"
        f"max_retries: 0\n{extra}command: |\n{indented}\n"
    )
    return post(server, "/api/contrail/v1/job-runs", {"workload": workload})["job_run_id"]


def job(server, job_run_id: int) -> dict:
    return json.loads(server.get(f"/api/contrail/v1/job-runs/{job_run_id}"))


def ended(server, job_run_id: int) -> dict:
    return await_true(lambda: (found := job(server, job_run_id))["result"] and found, "the job's end")


def await_true(condition, what, timeout_s=90.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited for {what}")


def raw_log(server, job_run_id: int, node: int = 0) -> str:
    return server.get(f"/api/contrail/v1/job-runs/{job_run_id}/logs/download?raw=1&node={node}").decode()


def history(server, run_id: str, key: str) -> list[tuple[int, float]]:
    answer = server.get(f"/api/2.0/mlflow/metrics/get-history?run_id={run_id}&metric_key={key}")
    return [(point["step"], point["value"]) for point in json.loads(answer).get("metrics", [])]


LOOP = """
cat > loop.py <<'PY'
import mlflow, os, time
with mlflow.start_run(run_id=os.environ["MLFLOW_RUN_ID"]):
    mlflow.log_param("learning_rate", 3e-4)
    print("started", flush=True)
    for step in range(400):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
        time.sleep(0.01)
    mlflow.log_text("text", "notes/a.txt")
    with mlflow.start_run(nested=True, run_name="child", run_id=None) if os.environ.pop("MLFLOW_RUN_ID") else None:
        mlflow.log_metric("inner", 1.0)
print("last line")
PY
python loop.py
"""


@pytest.mark.parametrize("returns", ["in the middle", "after the end"])
def test_a_killed_server_costs_nothing(server, returns):
    """kill -9 of the server in mid-training: the workload ends as it would, and everything is there once."""
    job_run_id = submit(server, LOOP)
    await_true(lambda: "started" in raw_log(server, job_run_id), "the training")
    run_id = job(server, job_run_id)["run_id"]
    await_true(lambda: len(history(server, run_id, "loss")) > 50, "points")
    server.kill()
    record = next(server.data_dir.glob("attempts/*/node_0/agent.json")).parent
    if returns == "after the end":
        await_true((record / "exit.json").exists, "the end of the command")
    else:
        time.sleep(1.5)
    server.start()
    assert ended(server, job_run_id)["result"] == "SUCCESS"
    assert history(server, run_id, "loss") == [(step, 1 / (step + 1)) for step in range(400)]
    assert raw_log(server, job_run_id).count("last line") == 1
    run = json.loads(server.get(f"/api/2.0/mlflow/runs/get?run_id={run_id}"))["run"]
    assert run["info"]["status"] == "FINISHED"
    assert run["data"]["params"] == [{"key": "learning_rate", "value": "0.0003"}]
    assert server.get(f"/get-artifact?run_id={run_id}&path=notes/a.txt") == b"text"
    search = post(server, "/api/2.0/mlflow/runs/search", {"experiment_ids": [run["info"]["experiment_id"]]})
    child = next(found for found in search["runs"] if found["info"]["run_id"] != run_id)
    assert child["info"]["status"] == "FINISHED"
    assert child["info"]["run_name"] == "child"
    assert {"key": "mlflow.parentRunId", "value": run_id} in child["data"]["tags"]
    assert not (record / "spool").exists()


def test_a_killed_agent_is_a_lost_node(server):
    """kill -9 of the agent: its command dies, what it had kept is delivered, and the attempt says what happened."""
    job_run_id = submit(server, "echo before; echo $$ > $CONTRAIL_WORK_DIR/pid; sleep 1000")
    await_true(lambda: "before" in raw_log(server, job_run_id), "the command")
    record = await_true(lambda: next(server.data_dir.glob("attempts/*/node_0/pid"), None), "its number")
    pid = int(await_true(record.read_text, "its number"))
    agent_pid = json.loads((record.parent / "agent.json").read_text())["pid"]
    os.kill(agent_pid, 9)
    await_true(lambda: (found := tree.read_process(pid)) is None or found.state == "Z", "the command's death")
    end = ended(server, job_run_id)
    assert end["result"] == "FAILED"
    assert end["attempts"][0]["cause"] == "node_lost"


def test_cancelling_takes_the_tree_down(make_server):
    """A cancelled job leaves no process, and both nodes' logs hold what they said."""
    server = make_server(CONTRAIL_CANCEL_GRACE_S="0.5")
    command = (
        "trap '' TERM; setsid sleep 1000 & echo $! $$ > $CONTRAIL_WORK_DIR/pids; echo up; wait; sleep 1000"
    )
    job_run_id = submit(server, command, nodes=2)
    for node in (0, 1):
        await_true(lambda node=node: "up" in raw_log(server, job_run_id, node), "the nodes")
    pids = [
        int(pid)
        for path in server.data_dir.glob("attempts/*/node_*/pids")
        for pid in path.read_text().split()
    ]
    assert len(pids) == 4
    post(server, f"/api/contrail/v1/job-runs/{job_run_id}/cancel", {})
    assert ended(server, job_run_id)["result"] == "CANCELED"
    assert not [pid for pid in pids if (found := tree.read_process(pid)) is not None and found.state != "Z"]
