"""What the command line does without a server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from contrail import __version__

HEAVY = ("httpx", "rich", "ruamel.yaml", "numpy", "sqlalchemy", "msgspec", "urllib.request", "pathspec")


def test_version_is_quick() -> None:
    """`contrail --version` loads nothing that it does not need."""
    script = (
        "import sys\nfrom contrail.cli.main import main\n"
        "try: main(['--version'])\nexcept SystemExit as end: assert end.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"contrail {__version__}", "[]"]
    assert time.monotonic() - started < 5  # generous: the machine may be busy; the imports are the point


def test_help_names_every_command(contrail: Any) -> None:
    """`--help` and `-h` work everywhere and end with 0."""
    answer = contrail("--help")
    for name in ("run", "list", "get", "logs", "cancel", "server"):
        assert f"\n  {name} " in answer.out
        for option in ("-h", "--help"):
            one = contrail.inside(name, option)
            assert (one.code, one.out.startswith(f"Usage: contrail {name}")) == (0, True)


def test_dry_run_needs_no_server(contrail: Any) -> None:
    """A dry run validates, shows what would be sent, and starts nothing."""
    file = contrail.workload("echo hi", more="code_source: {root_path: code}\n")
    contrail.write("code/train.py", "print(1)")
    contrail.write("code/.gitignore", "data/\n")
    contrail.write("code/data/big.bin", "x" * 2000)
    answer = contrail("run", "-f", file, "--dry-run", "--watch", "-o", "json")
    assert (answer.code, answer.data) == (0, {"status": "DRY_RUN_OK", "dry_run": True})
    assert "Code: 2 files" in answer.err
    assert "left out 1 file, 2.0 kB: .gitignore line 1: data/" in answer.err
    answer = contrail("run", "-f", file, "--dry-run")
    assert "valid; not submitting" in answer.out
    assert not (contrail.folder.parent / "data").exists()


def test_unknown_key_is_refused_with_line_and_name(contrail: Any) -> None:
    """A typo in the YAML is named with its line and the key that was meant; text and JSON say the same."""
    file = contrail.workload("exit 17", more="max_retriez: 2\ntimeout_minutes: 0\n")
    answer = contrail("run", "--file", file)
    assert answer.code == 1
    assert (
        "line 6, max_retriez: there is no key 'max_retriez' in a workload; did you mean 'max_retries'?"
        in answer.err
    )
    assert "line 7, timeout_minutes: must be from 1" in answer.err
    answer = contrail("run", "--file", file, "-o", "json")
    assert (answer.code, answer.err) == (1, "")
    assert (answer.error["code"], answer.error["kind"], answer.error["retryable"]) == (
        "INVALID_ARGS",
        "PERMANENT",
        False,
    )
    assert [(p["path"], p["line"], p["nearest"]) for p in answer.error["problems"]] == [
        ("max_retriez", 6, "max_retries"),
        ("timeout_minutes", 7, None),
    ]


def test_overrides_are_said_and_checked(contrail: Any) -> None:
    """Each override is announced on stderr; a wrong one names what there is."""
    file = contrail.workload("echo", more="parameters: {lr: 1e-3}\n")
    answer = contrail(
        "run", "-f", file, "--dry-run", "--override", "parameters.lr=1e-4", "--override", "max_retries=5"
    )
    assert answer.code == 0
    assert "Override: changing parameters.lr from 0.001 to 0.0001" in answer.err
    assert "Override: changing max_retries from 0 to 5" in answer.err
    answer = contrail("run", "-f", file, "--dry-run", "--override", "max_retry=5")
    assert answer.code == 1
    assert "did you mean 'max_retries'?" in answer.err


def test_help_on_keys(contrail: Any) -> None:
    """`-h config.path` explains keys from the schema; typos get the nearest name."""
    answer = contrail.inside("run", "-h", "config")
    assert "experiment_name " in answer.out
    assert "(required)" in answer.out
    answer = contrail.inside("run", "-h", "config.compute.num_accelerators")
    assert "type:     whole number" in answer.out
    assert "required: yes" in answer.out
    assert "required: unless snapshot is given" in contrail.inside("run", "-h", "code_source.root_path").out
    answer = contrail.inside("run", "-h", "config.max_retriez")
    assert (answer.code, "did you mean 'max_retries'?" in answer.err) == (1, True)
    assert "its keys are yours" in contrail.inside("run", "-h", "config.parameters.lr").err


BAD_ARGUMENTS = [
    (["run"], "Missing option '-f'"),
    (["run", "-f", "nowhere.yaml"], "nowhere.yaml cannot be read: No such file"),
    (["run", "-f", "."], "cannot be read: Is a directory"),
    (["run", "-f", "work.yaml", "--idempotency-key", "x" * 65], "must have 1 to 64 characters"),
    (["run", "-f", "work.yaml", "--wach"], "--wach"),
    (["get"], "Missing argument 'JOB_RUN_ID'"),
    (["get", "0"], "'0' is not a job run id"),
    (["get", "abc"], "'abc' is not a job run id"),
    (["get", "９"], "is not a job run id"),
    (["get", "99999999999999999999"], "is not a job run id"),
    (["list", "--limit", "0"], "--limit"),
    (["list", "--filter", "colour=red"], "there is no key 'colour'"),
    (["list", "--filter", "experiment"], "must have the form KEY=VALUE"),
    (["list", "--filter", "num_accelerators=two"], "positive whole number"),
    (["logs", "1", "--tail", "1", "--minutes", "1"], "either --tail or --minutes"),
    (["logs", "1", "--tail", "0"], "--tail"),
    (["logs", "1", "--node", "-1"], "--node"),
    (["logs", "1", "--download-to", "x", "--tail", "5"], "--download-to writes complete logs"),
    (["cancel"], "Name one or more job runs, or use --all"),
    (["cancel", "1", "--all"], "Name one or more job runs, or use --all"),
    (["lst"], "did you mean 'list'?"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_ARGUMENTS)
def test_bad_arguments(contrail: Any, arguments: list[str], message: str) -> None:
    """A wrong argument gives exit code 1 and one message, in JSON an envelope and nothing else."""
    contrail.workload("echo")
    answer = contrail.inside(*arguments)
    assert (answer.code, answer.out) == (1, "")
    assert message in answer.err
    answer = contrail.inside(*arguments, "-o", "json")
    assert (answer.code, answer.err) == (1, "")
    assert answer.error["code"] == "INVALID_ARGS"
    assert message in answer.error["message"]


def test_no_server_is_said_with_a_way_out(contrail: Any) -> None:
    """Commands that only look do not start a server; they say how to."""
    for arguments in (["list"], ["get", "1"], ["logs", "1"], ["cancel", "1"]):
        answer = contrail.inside(*arguments)
        assert (answer.code, answer.out) == (1, "")
        assert "No Contrail server runs for" in answer.err
        assert "contrail server" in answer.err


def test_unreachable_server_is_one_sentence(contrail: Any) -> None:
    """A named server that does not answer is a transient error with its address; none is started instead."""
    file = contrail.workload("echo")
    for arguments in (["list"], ["run", "-f", str(file)]):
        answer = contrail(*arguments, "--server", "http://127.0.0.1:1", "-o", "json")
        assert answer.code == 1
        assert "No Contrail server answers at http://127.0.0.1:1" in answer.error["message"]
        assert (answer.error["kind"], answer.error["retryable"]) == ("TRANSIENT", True)
    assert not (contrail.folder.parent / "data").exists()
    answer = contrail("list", "--server", "localhost:5050")
    assert "it looks like http://host:5050" in answer.err


def test_setting_that_does_not_parse_is_named(contrail: Any) -> None:
    """A wrong environment variable is a sentence, for the server's options as well."""
    contrail.environ["CONTRAIL_PORT"] = "many"
    assert "CONTRAIL_PORT: 'many' is not a" in contrail("list").err
    del contrail.environ["CONTRAIL_PORT"]
    answer = contrail("server", "--port", "many")
    assert (answer.code, "CONTRAIL_PORT: 'many' is not a" in answer.err) == (1, True)


def test_closed_pipe_ends_quietly(contrail: Any) -> None:
    """`contrail … | head` does not complain."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "contrail", "run", "-h", "config"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        env=contrail.environ,
        check=False,
    )
    os.close(write)
    assert done.stderr == ""
