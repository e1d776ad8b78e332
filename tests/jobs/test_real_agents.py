"""Job runs with real agents on a real server: the whole way over processes and HTTP."""

from __future__ import annotations

import json
import os
import signal
import textwrap
from collections.abc import Callable
from pathlib import Path


def _yaml(command: str, nodes: int = 1, retries: int = 0, more: str = "") -> str:
    return (
        f"experiment_name: real\ncompute: {{accelerator_type: CPU, num_accelerators: {nodes}}}\n"
        f"max_retries: {retries}\n{more}command: |\n{textwrap.indent(textwrap.dedent(command), '  ')}"
    )


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _agent_pid(api, attempt_id: int, node: int = 0) -> int:
    record = api.server.data_dir / f"attempts/{attempt_id}/node_{node}/agent.json"
    return int(json.loads(record.read_text())["pid"])


def test_two_nodes_log_and_end(api) -> None:
    """Each node knows its place, its output is kept apart, and the run ends FINISHED."""
    job_run_id = api.submit(
        _yaml('echo "node $NODE_RANK of $NUM_NODES at $MASTER_ADDR:$MASTER_PORT"', nodes=2)
    )
    job = api.end(job_run_id)
    assert (job["status"], [node["exit_code"] for node in job["attempts"][0]["nodes"]]) == ("SUCCESS", [0, 0])
    first, second = (api.text(job_run_id, node=node) for node in range(2))
    assert (first[:11], second[:11]) == ("node 0 of 2", "node 1 of 2")
    assert first.split()[-1] == second.split()[-1]
    assert _run(api, job["run_id"])["info"]["status"] == "FINISHED"


SCRIPT = """
import json, os, pathlib, time, urllib.request
def post(path, **fields):
    body = json.dumps({"run_id": os.environ["MLFLOW_RUN_ID"], **fields}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"]}
    url = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/" + path
    urllib.request.urlopen(urllib.request.Request(url, body, headers)).close()
post("runs/log-metric", key="loss", value=0.5, timestamp=1, step=3)
post("runs/update", status="FINISHED", end_time=5, run_name="mine")
while not pathlib.Path("go").exists():
    time.sleep(0.05)
raise SystemExit(3)
"""


def test_metrics_arrive_and_the_script_does_not_end_its_run(api, tmp_path: Path, wait_for: Callable) -> None:
    """A script that says FINISHED while it goes on has its run RUNNING until the process ends, then FAILED."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    job_run_id = api.submit(_yaml(f"python {script}"))
    job = api.wait(job_run_id, lambda job: job["state"] == "RUNNING")
    run = wait_for(lambda: (run := _run(api, job["run_id"]))["info"]["run_name"] == "mine" and run)
    assert run["info"]["status"] == "RUNNING"
    assert {metric["key"]: metric["value"] for metric in run["data"]["metrics"]}["loss"] == 0.5
    (api.server.data_dir / f"attempts/{job['attempts'][0]['attempt_id']}/node_0/go").touch()
    job = api.end(job_run_id)
    info = _run(api, job["run_id"])["info"]
    assert (info["status"], info["end_time"]) == ("FAILED", job["attempts"][0]["ended_ms"])


def test_three_attempts_each_with_its_own_log(api, tmp_path: Path) -> None:
    """17, 17, 0: each attempt shows only its own marker, the job run ends well."""
    counter = tmp_path / "counter"
    command = f"""
        echo x >> {counter}
        N=$(wc -l < {counter})
        echo "attempt $N marker"
        [ $N -ge 3 ] || exit 17
    """
    job_run_id = api.submit(_yaml(command, retries=2))
    job = api.end(job_run_id)
    assert (job["status"], [a["exit_code"] for a in job["attempts"]]) == ("SUCCESS", [17, 17, 0])
    for number in range(3):
        assert api.text(job_run_id, attempt=number) == f"attempt {number + 1} marker\n"


def test_no_retries_is_one_attempt(api, tmp_path: Path) -> None:
    """With `max_retries: 0` the command runs once."""
    counter = tmp_path / "counter"
    job = api.end(api.submit(_yaml(f"echo x >> {counter}; exit 17")))
    assert (job["status"], job["message"], len(job["attempts"])) == ("FAILED", "exit code 17", 1)
    assert counter.read_text() == "x\n"


def test_cancel_means_gone_and_leaves_the_neighbour_alone(
    make_api: Callable, tmp_path: Path, wait_for: Callable
) -> None:
    """What ignores SIGTERM in a session of its own is gone too; another job run notices nothing."""
    api = make_api(CONTRAIL_CANCEL_GRACE_S="1")
    stubborn, quiet = tmp_path / "stubborn", tmp_path / "quiet"
    neighbour = api.submit(_yaml(f"echo $$ > {quiet}; sleep 1000"))
    job_run_id = api.submit(
        _yaml(
            f"""
            setsid bash -c 'trap "" TERM; echo $$ > {stubborn}; while true; do sleep 0.2; done' &
            (setsid sleep 1000 &)
            sleep 1000
            """
        )
    )
    pids = [int(wait_for(lambda path=path: path.exists() and path.read_text())) for path in (stubborn, quiet)]
    api.wait(job_run_id, lambda job: job["state"] == "RUNNING")
    assert api.call("POST", f"job-runs/{job_run_id}/cancel")[1]["state"] == "TERMINATING"
    job = api.end(job_run_id, timeout_s=1 + 5 + 5)
    assert job["status"] == "CANCELED"
    assert job["message"].startswith("cancelled by ")
    assert not _alive(pids[0])
    assert _alive(pids[1])
    assert _run(api, job["run_id"])["info"]["status"] == "KILLED"
    assert api.job(neighbour)["state"] in {"PENDING", "RUNNING"}
    api.call("POST", f"job-runs/{neighbour}/cancel")
    assert api.end(neighbour)["status"] == "CANCELED"


def test_a_killed_server_finds_everything_again(api, tmp_path: Path) -> None:
    """kill -9 and restart in mid-job: no line is lost or doubled, the exit code is the true one."""
    go = tmp_path / "go"
    command = f"""
        for i in $(seq 50); do echo before $i; done
        while [ ! -e {go} ]; do sleep 0.05; done
        for i in $(seq 50); do echo after $i; done
        exit 5
    """
    job_run_id = api.submit(_yaml(command, nodes=2))
    for node in range(2):
        api.wait_text(job_run_id, "before 50", node=node)
    api.wait(job_run_id, lambda job: job["state"] == "RUNNING")
    api.server.kill()
    api.server.start()
    assert api.job(job_run_id)["state"] == "RUNNING"
    go.touch()
    job = api.end(job_run_id)
    assert (job["status"], job["attempts"][0]["exit_code"], len(job["attempts"])) == ("FAILED", 5, 1)
    wanted = "".join(f"{word} {i}\n" for word in ("before", "after") for i in range(1, 51))
    assert all(api.text(job_run_id, node=node).startswith(wanted) for node in range(2))


def test_a_job_run_that_ends_while_the_server_is_away_ends_in_its_true_state(
    api, tmp_path: Path, wait_for: Callable
) -> None:
    """The command ends without a server; its exit code, end and last lines are there afterwards."""
    go = tmp_path / "go"
    job_run_id = api.submit(_yaml(f"echo begin; while [ ! -e {go} ]; do sleep 0.05; done; echo end; exit 9"))
    api.wait_text(job_run_id, "begin")
    attempt = api.job(job_run_id)["attempts"][0]["attempt_id"]
    api.server.kill()
    go.touch()
    end = api.server.data_dir / f"attempts/{attempt}/node_0/exit.json"
    wait_for(end.exists)
    api.server.start()
    job = api.end(job_run_id)
    assert (job["status"], job["attempts"][0]["exit_code"]) == ("FAILED", 9)
    assert job["attempts"][0]["ended_ms"] == json.loads(end.read_text())["ended_ms"]
    assert "end\n" in api.text(job_run_id)


def test_a_killed_agent_is_a_lost_node_and_leaves_nothing_behind(
    api, tmp_path: Path, wait_for: Callable
) -> None:
    """kill -9 of an agent: its output so far is there, its processes are gone, the retry runs."""
    pid_file = tmp_path / "pid"
    command = f"""
        if [ $CONTRAIL_ATTEMPT_NUMBER = 1 ]; then exit 0; fi
        setsid bash -c 'trap "" TERM; echo $$ > {pid_file}; while true; do sleep 0.2; done' &
        echo so far
        sleep 1000
    """
    job_run_id = api.submit(_yaml(command, retries=1))
    api.wait_text(job_run_id, "so far")
    escaped = int(wait_for(lambda: pid_file.exists() and pid_file.read_text()))
    attempt = api.wait(job_run_id, lambda job: job["state"] == "RUNNING")["attempts"][0]["attempt_id"]
    os.kill(_agent_pid(api, attempt), signal.SIGKILL)
    job = api.end(job_run_id)
    assert [(a["cause"], a["exit_code"]) for a in job["attempts"]] == [("node_lost", None), ("exit_code", 0)]
    assert job["status"] == "SUCCESS"
    assert not _alive(escaped)
    assert "so far\n" in api.text(job_run_id, attempt=0)
    assert _run(api, job["attempts"][0]["run_id"])["info"]["status"] == "FAILED"


def test_a_lost_node_stops_its_peers(api) -> None:
    """The agent of one node is killed: the other node is stopped, and the attempt says which node was lost."""
    job_run_id = api.submit(_yaml("echo up; sleep 1000", nodes=2))
    attempt = api.wait(job_run_id, lambda job: job["state"] == "RUNNING")["attempts"][0]["attempt_id"]
    os.kill(_agent_pid(api, attempt, 1), signal.SIGKILL)
    job = api.end(job_run_id)
    assert (job["status"], job["attempts"][0]["cause"], job["attempts"][0]["failed_node"]) == (
        "FAILED",
        "node_lost",
        1,
    )


def test_a_failed_node_stops_its_peers(api) -> None:
    """The exit code is that of the node that failed first."""
    job_run_id = api.submit(_yaml("if [ $NODE_RANK = 1 ]; then exit 42; fi; sleep 1000", nodes=2))
    job = api.end(job_run_id)
    assert (job["status"], job["message"]) == ("FAILED", "node 1: exit code 42")
    assert job["attempts"][0]["exit_code"] == 42


def test_a_command_that_cannot_be_found_says_so(api) -> None:
    """Exit code 127 and bash's own words in the log."""
    job_run_id = api.submit(_yaml("no-such-program-here"))
    job = api.end(job_run_id)
    assert (job["status"], job["attempts"][0]["exit_code"]) == ("FAILED", 127)
    assert "no-such-program-here" in api.text(job_run_id)


def test_a_killed_command_names_the_signal(api) -> None:
    """SIGKILL from outside is a signal, not an exit code."""
    job = api.end(api.submit(_yaml("kill -9 $$")))
    assert (job["attempts"][0]["cause"], job["attempts"][0]["signal"]) == ("signal", 9)
    assert "SIGKILL" in job["message"]


def _run(api, run_id: str) -> dict:
    return json.loads(api.server.get(f"/api/2.0/mlflow/runs/get?run_id={run_id}"))["run"]
