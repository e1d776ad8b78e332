"""The command: its environment, its output, its end."""

from __future__ import annotations

from contrail.model.jobs import Cause


def test_a_command_runs_and_everything_arrives(agent, stand_in):
    """Output, exit code and samples of a short command are at the server before its exit is."""
    process = agent("echo hello; echo error >&2; exit 3")
    end = process.wait()
    record = stand_in.node()
    assert record.text == "hello\nerror\n"
    assert (end.exit_code, end.cause) == (3, Cause.EXIT_CODE)
    assert record.exit["exit_code"] == 3
    assert record.log_bytes_at_exit == len("hello\nerror\n")
    keys = {point["key"] for point in stand_in.run(process.spec.run_id)["points"]}
    assert "system/system_memory_usage_megabytes" in keys
    assert record.heartbeats[0]["pid"] == process.process.pid
