"""The command: its environment, its output, its end."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import random
import shutil
import signal
import sys
import tarfile
import textwrap
import time
from pathlib import Path

import pytest

from contrail.agent import tree
from contrail.model.jobs import Cause


def alive(pid: int) -> bool:
    process = tree.read_process(pid)
    return process is not None and process.state not in "ZX"


def await_true(condition, what, timeout_s=30.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited for {what}")


def pids_in(path: Path, count: int) -> list[int]:
    """Process numbers that a workload wrote, once all are there."""

    def read():
        words = path.read_text().split() if path.exists() else []
        return [int(word) for word in words] if len(words) >= count else None

    return await_true(read, f"{count} process numbers")


def test_a_command_runs_and_everything_arrives(agent, stand_in):
    """Output, exit code and samples of a short command are at the server before its exit is."""
    process = agent("echo hello; echo error >&2; exit 3")
    end = process.wait()
    record = stand_in.node()
    assert record.text == "hello\nerror\n"
    assert (end.exit_code, end.cause, end.message) == (3, Cause.EXIT_CODE, "")
    assert record.exit["exit_code"] == 3
    assert record.log_bytes_at_exit == len("hello\nerror\n")
    points = stand_in.run(process.spec.run_id)["points"]
    assert {"system/system_memory_usage_megabytes", "system/disk_usage_percentage"} <= {
        p["key"] for p in points
    }
    assert {p["step"] for p in points} == {0, 1}
    assert record.heartbeats[0]["pid"] == process.process.pid
    assert sorted(path.name for path in process.work_dir.iterdir()) == [
        "agent.json",
        "agent.lock",
        "agent.log",
        "exit.json",
        "launched.json",
        "spec.json",
    ]


def test_numbers_that_json_does_not_know_reach_the_command(agent, stand_in):
    """NaN, infinities and integers of any size in the parameters are what the workload said."""
    parameters = {"x": math.nan, "low": -math.inf, "big": 2**70}
    process = agent("cat $HYPERPARAMETERS_PATH", parameters=parameters)
    assert process.wait().exit_code == 0
    assert stand_in.node().text == f"x: .nan\nlow: -.inf\nbig: {2**70}\n"


def test_the_environment_of_a_command(agent, stand_in):
    """Every variable of the runtime contract is set, the user's win, and nothing of the server's leaks in."""
    process = agent(
        f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'",
        node=1,
        num_nodes=2,
        local_world_size=4,
        master_addr="10.0.0.1",
        parameters={"lr": 1e-5},
        env={"MY_VAR": "한국어 $HOME", "OMP_NUM_THREADS": "3"},
        environ={
            "CONTRAIL_STORE_URL": "postgresql://secret",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "MLFLOW_TRACKING_PASSWORD": "secret",
            "OMP_NUM_THREADS": "1",
            "http_proxy": "http://proxy.example:3128",
        },
    )
    process.wait()
    environ = json.loads(stand_in.node(1, 1).text)
    expected = {
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29511",
        "NUM_NODES": "2",
        "NODE_RANK": "1",
        "RANK": "1",
        "WORLD_SIZE": "8",
        "LOCAL_WORLD_SIZE": "4",
        "PET_NNODES": "2",
        "PET_NODE_RANK": "1",
        "PET_NPROC_PER_NODE": "4",
        "MLFLOW_RUN_ID": process.spec.run_id,
        "MLFLOW_EXPERIMENT_ID": "7",
        "MLFLOW_TRACKING_TOKEN": "cta_test",
        "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
        "PYTHONUNBUFFERED": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "MY_VAR": "한국어 $HOME",
        "OMP_NUM_THREADS": "3",
        "HYPERPARAMETERS_PATH": str(process.work_dir / "hyperparameters.yaml"),
        "no_proxy": "127.0.0.1,localhost",
    }
    assert {name: environ.get(name) for name in expected} == expected
    assert environ["MLFLOW_TRACKING_URI"].startswith("http://127.0.0.1:")
    assert environ["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert "LOCAL_RANK" not in environ
    assert "SERVERLESS_GPU_COMPUTE_ASSOCIATED_JOB_RUN_ID" not in environ
    assert "CODE_SOURCE_PATH" not in environ
    assert "secret" not in "".join(environ.values())


def archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text.encode()), 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_code_is_where_the_command_runs(agent, stand_in):
    """Code comes by its digest, is the working directory, and CODE_SOURCE_PATH names it."""
    content = archive(
        {"project/train.py": "print(open('conf/a.txt').read())", "project/conf/a.txt": "from the code"}
    )
    digest = hashlib.sha256(content).hexdigest()
    stand_in.code[digest] = content
    process = agent(
        f"{sys.executable} train.py; cd $CODE_SOURCE_PATH && pwd; cat $HYPERPARAMETERS_PATH",
        code_digest=digest,
        code_name="project",
        parameters={"lr": 1e-5},
    )
    assert process.wait().exit_code == 0
    assert stand_in.node().text.splitlines() == [
        "from the code",
        str(process.work_dir / "code" / "project"),
        "lr: 1.0e-05",
    ]


@pytest.mark.parametrize("kind", ["damaged", "outside", "not an archive"])
def test_code_that_is_not_right_does_not_start(agent, stand_in, tmp_path, kind):
    """A wrong digest, a member that leads outside, or no archive: could not start, with the reason."""
    contents = {
        "damaged": archive({"project/a": "x"}),
        "outside": archive({"../../escaped": "x"}),
        "not an archive": b"hello",
    }
    content = contents[kind]
    digest = hashlib.sha256(b"other" if kind == "damaged" else content).hexdigest()
    stand_in.code[digest] = content
    end = agent("echo never", code_digest=digest, code_name="project").wait()
    assert end.cause is Cause.COULD_NOT_START
    assert "code" in end.message
    assert "never" not in stand_in.node().text
    assert "[contrail] could not start: " in stand_in.node().text
    assert not list(tmp_path.rglob("escaped"))


def test_fifty_megabytes_of_anything_arrive_byte_for_byte(agent, stand_in):
    """Output is not text to the agent: random bytes arrive as they were written."""
    script = (
        "import os, random; r = random.Random(5); "
        "[os.write(1, r.randbytes(r.randrange(1, 200_000))) for _ in range(500)]"
    )
    process = agent(f'{sys.executable} -c "{script}"')
    assert process.wait(120).exit_code == 0
    source = random.Random(5)
    expected = b"".join(source.randbytes(source.randrange(1, 200_000)) for _ in range(500))
    assert len(expected) > 45_000_000
    assert hashlib.sha256(stand_in.node().log).hexdigest() == hashlib.sha256(expected).hexdigest()


def test_a_signal_is_the_cause(agent):
    """A command that dies of a signal says which, and how much memory it had."""
    end = agent("kill -SEGV $$").wait()
    assert (end.cause, end.signal, end.exit_code) == (Cause.SIGNAL, 11, 139)
    assert end.peak_memory_bytes > 1_000_000


def test_a_timeout_ends_the_command_without_a_server(agent, stand_in):
    """The clock of the agent counts, also while the server is away."""
    process = agent(
        "trap 'echo asked; exit 0' TERM; echo started; while true; do sleep 0.05; done", timeout_s=1.5
    )
    await_true(lambda: "started" in stand_in.node().text, "the command")
    stand_in.away()
    await_true((process.work_dir / "exit.json").exists, "the end")
    assert process.exit().cause is Cause.TIMED_OUT
    assert "timeout of 1.5 s" in process.exit().message
    stand_in.back()
    process.wait()
    assert "asked" in stand_in.node().text


FLEEING = textwrap.dedent(
    """
    import os, signal, subprocess, sys, time
    def note(): open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note()
    for flee in range(3):
        if os.fork() == 0:
            if flee >= 1:
                os.setsid()
            if flee == 2 and os.fork() > 0:
                os._exit(0)
            note()
            while True: time.sleep(1)
    while True: time.sleep(1)
    """
)


@pytest.mark.parametrize("way", ["heartbeat", "signal"])
def test_cancel_means_gone(agent, stand_in, tmp_path, way):
    """Children in other sessions, double-forked and deaf to SIGTERM are gone; the neighbour is not touched."""
    script, pids = tmp_path / "flee.py", tmp_path / "pids"
    script.write_text(FLEEING)
    neighbour = agent("while true; do sleep 0.1; done", attempt_id=2)
    process = agent(f"{sys.executable} {script} {pids}", grace_s=0.5)
    found = pids_in(pids, 4)
    await_true(lambda: stand_in.node(2).heartbeats, "the neighbour")
    if way == "signal":
        os.kill(process.process.pid, signal.SIGTERM)
        end = process.wait(20)
    else:
        stand_in.grace_s = 0.5
        stand_in.stop_cause = "peer_failed"
        end = process.wait(20)
    assert end.cause is (Cause.CANCELLED if way == "signal" else Cause.PEER_FAILED)
    assert not [pid for pid in found if alive(pid)]
    if way == "signal":
        assert neighbour.process.poll() is None


def test_a_polite_command_may_finish_within_its_grace(agent, stand_in):
    """SIGTERM comes first: a command that saves its state and leaves is not killed."""
    process = agent(
        "trap 'sleep 0.3; echo saved; exit 5' TERM; echo up; while true; do sleep 0.05; done", grace_s=20.0
    )
    await_true(lambda: "up" in stand_in.node().text, "the command")
    os.kill(process.process.pid, signal.SIGTERM)
    end = process.wait()
    assert "saved" in stand_in.node().text
    assert (end.cause, end.exit_code) == (Cause.CANCELLED, 5)


def test_background_processes_do_not_outlive_the_command(agent, tmp_path):
    """What is left when the command has ended goes after a second, and the exit code stays."""
    pids = tmp_path / "pids"
    started = time.monotonic()
    end = agent(f"setsid sleep 1000 & echo $! > {pids}; exit 0").wait()
    assert (end.exit_code, end.cause) == (0, Cause.EXIT_CODE)
    assert time.monotonic() - started < 15
    assert not alive(pids_in(pids, 1)[0])


def test_an_attempt_that_the_server_does_not_know_ends(agent, stand_in, tmp_path):
    """404 means that nobody wants the attempt: everything stops and nothing is left to deliver."""
    pids = tmp_path / "pids"
    process = agent(f"echo $$ > {pids}; while true; do sleep 0.05; done")
    found = pids_in(pids, 1)
    stand_in.unknown_attempt = True
    process.wait(20)
    assert not alive(found[0])
    assert not (process.work_dir / "spool").exists()


def test_a_killed_agent_leaves_no_command(agent, stand_in, tmp_path):
    """With the agent killed its command dies too; started again, it reports a lost node and runs nothing twice."""
    pids, script = tmp_path / "pids", tmp_path / "flee.py"
    script.write_text(FLEEING)
    process = agent(f"echo before; echo ran >> {tmp_path}/count; exec {sys.executable} {script} {pids}")
    found = pids_in(pids, 4)
    stand_in.away()  # so that something is left in the spool
    process.kill()
    await_true(lambda: not alive(found[0]), "the direct child's death")
    stand_in.back()
    end = process.start().wait()
    assert end.cause is Cause.NODE_LOST
    assert not [pid for pid in found if alive(pid)]
    assert (tmp_path / "count").read_text() == "ran\n"
    assert stand_in.node().text == "before\n"
    assert stand_in.node().exit["cause"] == "node_lost"


def test_an_agent_killed_while_delivering_delivers_again(agent, stand_in):
    """The exit record stays what it was, and neither output nor exit is lost or doubled."""
    process = agent("echo one; sleep 0.5; echo two; exit 4")
    await_true(lambda: "one" in stand_in.node().text, "output")
    stand_in.away()
    await_true((process.work_dir / "exit.json").exists, "the end")
    process.kill()
    stand_in.back()
    assert process.start().wait().exit_code == 4
    record = stand_in.node()
    lines = [line for line in record.text.splitlines() if not line.startswith("[contrail]")]
    assert lines == ["one", "two"]
    assert record.exit["exit_code"] == 4
    assert process.start().wait().exit_code == 4  # and a third one finds nothing to do


def test_sigterm_means_leave(agent, stand_in):
    """An agent that is asked to go does not wait for an absent server: what it has kept stays for the next one."""
    process = agent("echo one; while true; do sleep 0.05; done", grace_s=0.2)
    await_true(lambda: "one" in stand_in.node().text, "the command")
    stand_in.away()
    os.kill(process.process.pid, signal.SIGTERM)
    assert process.wait(40).cause is Cause.CANCELLED
    assert stand_in.node().exit is None
    stand_in.back()
    assert process.start().wait().cause is Cause.CANCELLED
    assert stand_in.node().exit["cause"] == "cancelled"


def test_an_agent_whose_folder_is_gone_leaves(agent, stand_in):
    """Nothing is left to deliver when someone has removed the work folder."""
    process = agent("true", start=False)
    stand_in.away()
    process.start()
    await_true((process.work_dir / "exit.json").exists, "the end")
    shutil.rmtree(process.work_dir)
    process.process.wait(20)


def test_one_agent_per_work_folder(agent, stand_in):
    """A second agent of the same node leaves at once: placing twice is placing once."""
    process = agent("echo once; sleep 2")
    await_true(lambda: "once" in stand_in.node().text, "the command")
    second = agent("", start=False)
    second.spec = process.spec
    second.start().process.wait(20)
    assert second.process.returncode == 0
    assert process.process.poll() is None
    assert process.wait().exit_code == 0
    assert stand_in.node().text == "once\n"


def test_an_agent_is_small(agent, stand_in):
    """The agent of a running command takes less than 40 MiB."""
    process = agent("echo up; sleep 2")
    await_true(lambda: "up" in stand_in.node().text, "the command")
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    resident_kib = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    assert resident_kib < 40 * 1024
    process.wait()
