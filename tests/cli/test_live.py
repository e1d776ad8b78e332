"""The command line against a live server."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cli(connected: Callable[[str], Any], shared_server: Any) -> Any:
    return connected(shared_server.url)


def wait_for(condition: Callable[[], bool], what: str, limit_s: float = 60) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, f"waited {limit_s} s for {what}"
        time.sleep(0.05)


def read_until(process: Any, text: str, stream: str = "stdout") -> str:
    """Lines of a running command up to one that holds `text`."""
    seen = ""
    for line in getattr(process, stream):
        seen += line
        if text in line:
            return seen
    raise AssertionError(f"'{text}' never came:\n{seen}")


def submit(cli: Any, file: Path, *options: str) -> str:
    answer = cli("run", "-f", file, "-o", "json", *options)
    assert answer.code == 0, answer
    return str(answer.data["run_id"])


def status(cli: Any, job_run_id: str) -> str:
    return str(cli.inside("get", job_run_id, "-o", "json").data["status"])


def test_run_list_get_logs(cli: Any, shared_server: Any) -> None:
    """One submission through every command; text and JSON agree."""
    file = cli.workload("echo hello; echo oops >&2; printf 'no newline'", name="basic.yaml")
    answer = cli("run", "-f", file)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "Submitting experiment: basic"
    job_run_id = lines[1].removeprefix("Job Run ID: ")
    assert lines[2] == f"{shared_server.url}/jobs/{job_run_id}"
    assert lines[3].endswith(f"contrail logs {job_run_id}")

    logs = cli("logs", job_run_id)  # follows to the end
    assert (logs.code, logs.out) == (0, "hello\noops\nno newline\n")

    data = cli.inside("get", job_run_id, "-o", "json").data
    assert (data["run_id"], data["status"], data["attempt_number"]) == (job_run_id, "SUCCESS", 0)
    assert data["dashboard_url"] == f"{shared_server.url}/jobs/{job_run_id}"
    assert data["mlflow_url"] == f"{shared_server.url}/runs/{data['mlflow_run_id']}/logs"
    assert data["started_at"].endswith("+00:00")
    assert "termination_reason" not in data
    text = cli.inside("get", job_run_id).out
    for part in (
        "experiment_name: basic",
        "Status        SUCCESS",
        "1x CPU",
        f"Run URL: {data['dashboard_url']}",
    ):
        assert part in text

    rows = cli.inside("list", "--all-status", "--filter", "experiment=BAS*", "-o", "json").data["runs"]
    assert [(row["run_id"], row["user"], row["status"], row["is_sweep"]) for row in rows] == [
        (job_run_id, "tester", "SUCCESS", False)
    ]
    assert f"\n{job_run_id} " in cli.inside("list", "--all-status", "--limit", "100").out
    assert cli.inside("list", "--filter", "experiment=basic").out.startswith("No runs found.")
    assert cli.inside("list", "--all-status", "--filter", "user=nobody", "-o", "json").data == {"runs": []}


def test_tail_minutes_json_and_nodes(cli: Any) -> None:
    """Finished logs: the last lines, one node or all marked, as JSON lines; wrong nodes and attempts are refused."""
    file = cli.workload('for i in 1 2 3; do echo "node $NODE_RANK line $i"; done', name="nodes.yaml", nodes=2)
    watched = cli("run", "-f", file, "--watch")
    assert watched.code == 0
    for line in ("[node 0] node 0 line 3", "[node 1] node 1 line 1"):
        assert line in watched.out.splitlines()
    job_run_id = watched.out.splitlines()[1].removeprefix("Job Run ID: ")

    assert (
        cli.inside("logs", job_run_id, "--node", "1", "--tail", "2").out == "node 1 line 2\nnode 1 line 3\n"
    )
    assert len(cli.inside("logs", job_run_id).out.splitlines()) == 6
    assert len(cli.inside("logs", job_run_id, "--minutes", "5").out.splitlines()) == 6
    events = cli.inside("logs", job_run_id, "--node", "0", "-o", "json").documents
    assert [event.get("line") for event in events[:-1]] == [f"node 0 line {i}" for i in (1, 2, 3)]
    assert {event["type"] for event in events[:-1]} == {"LOG"}
    assert events[-1]["data"]["status"] == "SUCCESS"
    assert "has nodes 0 to 1" in cli.inside("logs", job_run_id, "--node", "2").err
    assert "has only 0" in cli.inside("logs", job_run_id, "--retry", "1").err

    answer = cli.inside("logs", job_run_id, "--download-to", "out", "-o", "json")
    assert answer.code == 0
    assert [file["node"] for file in answer.data["files"]] == [0, 1]
    for node in (0, 1):
        expected = "".join(f"node {node} line {i}\n" for i in (1, 2, 3))
        assert (cli.folder / "out" / "logs" / f"node_{node}.log").read_text() == expected
    assert not list((cli.folder / "out" / "logs").glob("*.part"))


def test_retries_one_run_per_attempt(cli: Any, shared_server: Any, tmp_path: Path) -> None:
    """Two failures, then success: one job run, three runs; each attempt's log holds its own marker only."""
    counter = tmp_path / "counter"
    file = cli.workload(
        f"n=$(cat {counter} 2>/dev/null | wc -l); echo x >> {counter}\n"
        'echo "attempt $n marker"; [ $n -ge 2 ] || exit 17',
        name="flaky.yaml",
        retries=2,
    )
    answer = cli("run", "-f", file, "--watch")
    assert answer.code == 0
    assert answer.err.count("attempt 1 failed: exit code 17") == 1
    assert answer.err.count("attempt 2 failed: exit code 17") == 1
    assert [line for line in answer.out.splitlines() if "marker" in line] == [
        f"attempt {n} marker" for n in range(3)
    ]
    assert answer.out.splitlines()[-1] == "SUCCESS"
    job_run_id = answer.out.splitlines()[1].removeprefix("Job Run ID: ")
    data = cli.inside("get", job_run_id, "-o", "json").data
    assert [attempt["status"] for attempt in data["attempts"]] == ["FAILED", "FAILED", "SUCCESS"]
    assert [attempt["exit_code"] for attempt in data["attempts"]] == [17, 17, 0]
    runs = [attempt["mlflow_run_id"] for attempt in data["attempts"]]
    assert len(set(runs)) == 3
    shown = cli.inside("get", job_run_id).out
    for line in ("Attempt 1  FAILED: exit code 17", "Attempt 3  SUCCESS"):  # people count from one
        assert line in shown
    assert f"Run:     {shared_server.url}/runs/{runs[-1]}" in answer.out
    for number in range(3):
        assert cli.inside("logs", job_run_id, "--retry", str(number)).out == f"attempt {number} marker\n"


def test_zero_retries_means_zero(cli: Any) -> None:
    """`max_retries: 0` runs the command once; the failure is the exit code and the last line."""
    file = cli.workload("echo once; exit 17", name="once.yaml")
    answer = cli("run", "-f", file, "--watch", "-o", "json")
    assert answer.code == 1
    kinds = [event.get("type") for event in answer.documents]
    assert (kinds[0], kinds.count("LOG"), kinds.count("RETRY"), kinds[-1]) == ("SUBMITTED", 1, 0, None)
    statuses = [event["status"] for event in answer.documents if event.get("type") == "STATUS"]
    assert statuses[-1] == "FAILED"
    assert answer.data["status"] == "FAILED"
    assert len(answer.data["attempts"]) == 1
    assert "exit code 17" in answer.data["termination_reason"]
    job_run_id = answer.data["run_id"]
    text = cli.inside("get", job_run_id).out
    assert "Failure reason: exit code 17" in text
    assert cli.inside("logs", job_run_id).code == 1


def test_alerts_and_retry_events(connected: Callable[[str], Any], make_server: Callable[..., Any]) -> None:
    """Lines that usually kill a training come as ALERT too; a retry is one event, said while it waits."""
    cli = connected(make_server(CONTRAIL_RETRY_DELAY_S="4").url)
    file = cli.workload("echo 'RuntimeError: CUDA out of memory.'; exit 1", name="alert.yaml", retries=1)
    events = cli("run", "-f", file, "--watch", "-o", "json").documents
    kinds = [event.get("type") for event in events]
    assert kinds.count("ALERT") == kinds.count("LOG") == 2
    retry = next(event for event in events if event.get("type") == "RETRY")
    assert (retry["attempt_number"], retry["max_retries"], retry["exit_code"]) == (1, 1, 1)
    assert retry["message"] == "attempt 1 failed: exit code 1; next in 4 s"
    assert kinds.index("LOG") < kinds.index("RETRY")


def test_code_is_sent_once(cli: Any) -> None:
    """The code arrives in $CODE_SOURCE_PATH; the same tree is not uploaded a second time."""
    cli.write("code/.gitignore", "secret.txt\n")
    cli.write("code/secret.txt", "no")
    cli.write("code/lib/part.txt", "from the code\n")
    file = cli.workload(
        'cd "$CODE_SOURCE_PATH"; cat lib/part.txt; ls -A; basename "$PWD"',
        name="code.yaml",
        more="code_source: {root_path: code}\n",
    )
    first = cli("run", "-f", file, "--watch")
    assert first.out.splitlines()[5:9] == ["from the code", ".gitignore", "lib", "code"], first.out
    assert "Uploaded" in first.err
    second = cli("run", "-f", file, "--watch")
    assert second.code == 0
    assert "nothing to upload" in second.err


def test_idempotency_key_gives_the_same_job_run(cli: Any) -> None:
    """A repeated key submits nothing; the flag takes precedence over the YAML."""
    file = cli.workload("echo", name="idem.yaml", more="idempotency_token: from-the-yaml\n")
    first = submit(cli, file)
    assert submit(cli, file) == first
    other = submit(cli, file, "--idempotency-key", "from-the-flag")
    assert other != first
    again = cli("run", "-f", file, "--idempotency-key", "from-the-flag")
    assert "submitted before" in again.out
    assert f"Job Run ID: {other}" in again.out
    wait_for(lambda: status(cli, other) == "SUCCESS", "the job to end")
    answer = cli.inside("run", "-f", file, "--idempotency-key", "from-the-flag", "-o", "json")
    assert (answer.data["run_id"], answer.data["status"]) == (other, "SUCCESS"), (
        "how it ended, not that it did"
    )


def test_cancel(cli: Any) -> None:
    """Known ids are cancelled, unknown ones reported, and then the exit code is 1."""
    file = cli.workload("echo started; sleep 600", name="cancelled.yaml")
    job_run_id = submit(cli, file)
    wait_for(lambda: status(cli, job_run_id) == "RUNNING", "the job to run")
    shown = cli.inside("list")
    assert "cancelled" in shown.out
    answer = cli.inside("cancel", job_run_id, "999999", "-o", "json")
    assert answer.code == 1
    assert answer.data["cancelled"] == [job_run_id]
    assert [failure["run_id"] for failure in answer.data["failed"]] == ["999999"]
    followed = cli("logs", job_run_id)
    assert (followed.code, followed.out) == (1, "started\n")
    data = cli.inside("get", job_run_id, "-o", "json").data
    assert (data["status"], "cancelled by" in data["message"]) == ("CANCELED", True)
    assert f"Reason: {data['message']}\n" in cli.inside("get", job_run_id).out
    again = cli.inside("cancel", job_run_id)
    assert (again.code, again.out) == (0, f"{job_run_id}: has ended\n"), "nothing is left to ask for"


def test_cancel_all_asks_first(cli: Any) -> None:
    """`--all` without a terminal needs `--yes`; it takes only the user's own active job runs."""
    file = cli.workload("sleep 600", name="all.yaml")
    cli.environ["CONTRAIL_USER"] = "all-tester"
    assert cli.inside("cancel", "--all", "-o", "json").data["cancelled"] == []
    first, second = submit(cli, file), submit(cli, file)
    refused = cli("cancel", "--all")
    assert (refused.code, "add --yes" in refused.err) == (1, True)
    answer = cli.inside("cancel", "--all", "-y", "-o", "json")
    assert (answer.code, answer.data["all"]) == (0, True)
    assert sorted(answer.data["cancelled"]) == sorted([first, second])
    for job_run_id in (first, second):
        wait_for(lambda number=job_run_id: status(cli, number) == "CANCELED", "the job to be gone")  # type: ignore[misc]


def test_ctrl_c_stops_only_the_watching(cli: Any) -> None:
    """Ctrl-C ends `--watch`, says how to go on, exits with 1; the workload lives."""
    file = cli.workload("echo started; sleep 600", name="ctrlc.yaml")
    process = cli.start("run", "-f", file, "--watch")
    job_run_id = read_until(process, "Job Run ID: ").splitlines()[-1].removeprefix("Job Run ID: ")
    read_until(process, "started")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"contrail logs {job_run_id}" in err
    assert "Traceback" not in err
    assert status(cli, job_run_id) == "RUNNING"
    assert cli.inside("cancel", job_run_id).code == 0


def test_no_follow_returns_at_once(cli: Any) -> None:
    """`logs --no-follow` prints what there is of an active job run and ends with 0."""
    file = cli.workload("echo started; sleep 600", name="nofollow.yaml")
    job_run_id = submit(cli, file)
    wait_for(lambda: "started" in cli.inside("logs", job_run_id, "--no-follow").out, "the first line")
    assert cli.inside("logs", job_run_id, "--no-follow", "-o", "json").code == 0
    cli.inside("cancel", job_run_id)


def test_watch_goes_on_after_the_server_was_away(connected: Callable[[str], Any], server: Any) -> None:
    """A server killed and started again in mid-watch costs no line and doubles none."""
    cli = connected(server.url)
    file = cli.workload('for i in $(seq 60); do echo "line $i"; sleep 0.1; done', name="away.yaml")
    process = cli.start("run", "-f", file, "--watch")
    seen = read_until(process, "line 10")
    server.kill()
    time.sleep(1)
    server.start()
    # Not communicate(): it would miss what this text stream has read ahead.
    rest = process.stdout.read()
    err = process.stderr.read()
    process.wait(timeout=120)
    lines = [line for line in (seen + rest).splitlines() if line.startswith("line ")]
    assert lines == [f"line {i}" for i in range(1, 61)]
    assert process.returncode == 0, err
    assert err.count("does not answer") <= 1


def test_long_output_is_complete(cli: Any) -> None:
    """A command that prints faster than anyone reads loses no line on the way to `--watch` and `logs`."""
    file = cli.workload("seq 30000", name="long.yaml")
    watched = cli("run", "-f", file, "--watch")
    assert [line for line in watched.out.splitlines() if line.isdigit()] == [str(i) for i in range(1, 30001)]
    job_run_id = watched.out.splitlines()[1].removeprefix("Job Run ID: ")
    assert len(cli.inside("logs", job_run_id).out.splitlines()) == 10_000
    assert len(cli.inside("logs", job_run_id, "--tail", "30000").out.splitlines()) == 30_000


def test_run_starts_a_local_server(contrail: Any, stop_started: Callable[[Path], None]) -> None:
    """With no server anywhere `run` starts one and says so; the next command finds it."""
    file = contrail.workload("echo hi", name="local.yaml")
    contrail.environ["CONTRAIL_PORT"] = "0"
    data_dir = Path(contrail.environ["CONTRAIL_DATA_DIR"])
    try:
        answer = contrail("run", "-f", file, "--watch")
        assert answer.code == 0, answer
        assert "Starting a Contrail server on this machine" in answer.err
        assert "hi" in answer.out.splitlines()
        second = contrail("run", "-f", file)
        assert second.code == 0
        assert "Starting a Contrail server" not in second.err
        assert len(contrail.inside("list", "--all-status", "-o", "json").data["runs"]) == 2
    finally:
        stop_started(data_dir)


def test_two_runs_at_once_share_one_started_server(
    contrail: Any, stop_started: Callable[[Path], None]
) -> None:
    """Two submissions that both find no server end up on the same one."""
    file = contrail.workload("echo hi", name="both.yaml")
    contrail.environ["CONTRAIL_PORT"] = "0"
    data_dir = Path(contrail.environ["CONTRAIL_DATA_DIR"])
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(contrail("run", "-f", file))) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answer.code for answer in answers] == [0, 0], answers
        assert len(contrail.inside("list", "--all-status", "-o", "json").data["runs"]) == 2
    finally:
        stop_started(data_dir)
