"""Environments for dependencies: built once, shared, with the base packages behind them."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from contrail.model.jobs import Cause


def wheel(folder: Path, name: str, version: str, text: str) -> Path:
    """A wheel with one module, made by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
    }
    record = ""
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content.encode())}\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


@pytest.fixture
def offline(tmp_path):
    """The installer looks into one folder only."""
    return {
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(tmp_path / "wheels"),
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
    }


def test_two_nodes_build_an_environment_once(agent, stand_in, tmp_path, offline):
    """Dependencies are importable, their programs are on PATH, the base stays visible, one node builds for both."""
    wheel(tmp_path / "wheels", "tinything", "1.0", "def main(): print('tool')\n")
    wheel(tmp_path / "wheels", "msgspec", "99.0", "__version__ = '99.0'\n")
    command = "python -c 'import tinything, httptools, msgspec; print(msgspec.__version__)' && tinything-tool"
    dependencies = ["tinything==1.0", "msgspec>=99"]
    agents = [
        agent(command, node=node, num_nodes=2, dependencies=dependencies, environ=offline) for node in (0, 1)
    ]
    for process in agents:
        assert process.wait().exit_code == 0, stand_in.node(1, process.spec.node).text
    texts = [stand_in.node(1, node).text for node in (0, 1)]
    assert all(text.endswith("99.0\ntool\n") for text in texts), "installed packages win over the base's"
    assert sum("tinything" in text for text in texts) == 1, "one of them installed"
    built = [path for path in (tmp_path / "environments").iterdir() if path.is_dir()]
    assert len(built) == 1
    again = agent(
        command,
        attempt_id=2,
        dependencies=list(reversed(dependencies)),
        environ={**offline, "UV_FIND_LINKS": "/none"},
    )
    assert again.wait().exit_code == 0, "the order of dependencies does not matter, and nothing is installed"
    assert stand_in.node(2).text == "99.0\ntool\n"


def test_what_cannot_be_installed_does_not_start(agent, stand_in, tmp_path, offline):
    """The installer's reason is in the log and in the exit; nothing half-built stays."""
    (tmp_path / "wheels").mkdir()
    end = agent("echo never", dependencies=["no-such-thing==7"], environ=offline).wait()
    assert end.cause is Cause.COULD_NOT_START
    assert "no-such-thing" in end.message
    assert "Using Python" not in end.message, "the installer's greeting is not a reason"
    assert "no-such-thing" in stand_in.node().text
    assert "never" not in stand_in.node().text
    assert [path.suffix for path in (tmp_path / "environments").iterdir()] == [".lock"]


def test_a_requirements_file_of_the_code(agent, stand_in, tmp_path, offline):
    """`-r requirements.txt` means the file in the code; another content is another environment."""
    wheel(tmp_path / "wheels", "tinything", "1.0", "def main(): print('one')\n")
    wheel(tmp_path / "wheels", "tinything", "2.0", "def main(): print('two')\n")
    for attempt_id, version in ((1, "1.0"), (2, "2.0")):
        process = agent("tinything-tool", attempt_id=attempt_id, start=False, environ=offline)
        process.spec = type(process.spec)(
            **{
                **{name: getattr(process.spec, name) for name in process.spec.__dataclass_fields__},
                "dependencies": ["-r requirements.txt"],
            }
        )
        process.work_dir.mkdir(parents=True)
        (process.work_dir / "requirements.txt").write_text(f"tinything=={version}\n")
        assert process.start().wait().exit_code == 0, stand_in.node(attempt_id).text
    assert stand_in.node(1).text.endswith("one\n")
    assert stand_in.node(2).text.endswith("two\n")


def test_without_dependencies_the_base_interpreter_runs(agent, stand_in):
    """`python` is the interpreter that runs the agent, with all its packages."""
    agent("python -c 'import sys; print(sys.executable)'").wait()
    assert stand_in.node().text.strip() == sys.executable
