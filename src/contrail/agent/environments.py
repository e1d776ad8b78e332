"""Python environments for `dependencies`, built once per machine and shared by everyone who asks for the same.

An environment is a folder named after what it holds: Python version, base interpreter and the sorted
dependencies. It is built beside its place and moved there when complete. The base interpreter's packages
stay visible behind the installed ones, so the tracking client is there without being listed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from contrail.agent.output import Output

log = logging.getLogger(__name__)

REASON_MAX = 2_000
_POLL_S = 0.1
_READ_BYTES = 64 * 1024
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# A dependency that means a file: what it installs depends on more than its text.
_LOCAL = re.compile(r"^(-|\.|/|~|file:)|@\s*(file:|\.|/)|\.(whl|tar\.gz|zip)$")


class Environments:
    """The environments below `folder`. `check_stop` raises when the attempt is to end."""

    class Failed(Exception):
        """An environment could not be built; the message is the installer's reason."""

    def __init__(self, folder: Path, output: Output, check_stop: Callable[[], None]):
        self._folder = folder
        self._output = output
        self._check_stop = check_stop

    def bin_dir(self, environment: Path | None) -> Path:
        """Where its programs are; without an environment, those of the interpreter that runs us."""
        return Path(sys.executable).parent if environment is None else environment / "bin"

    def get(self, dependencies: Sequence[str], *, cwd: Path, code: str | None) -> Path:
        """The environment with `dependencies`, built if need be. Raises `Failed`."""
        wanted = sorted({line.strip() for line in dependencies if line.strip()})
        place = self._folder / environment_key(wanted, cwd, code)
        self._folder.mkdir(parents=True, exist_ok=True)
        if not place.is_dir():
            with self._locked(place.with_suffix(".lock")):
                if not place.is_dir():
                    self._build(place, wanted, cwd)
        with suppress(OSError):
            os.utime(place)  # when it was last used, for cleaning up
        return place

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        with path.open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    self._check_stop()
                    time.sleep(_POLL_S)
            yield

    def _build(self, place: Path, wanted: Sequence[str], cwd: Path) -> None:
        fresh = place.with_name(f".{place.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        uv = _find_uv()
        try:
            self._run([uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, str(fresh)], cwd)
            python = str(fresh / "bin" / "python")
            given = [argument for line in wanted for argument in _arguments(line)]
            self._run([uv, "pip", "install", "--python", python, *given], cwd)
            _show_base_packages(fresh)
            fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _run(self, command: Sequence[str], cwd: Path) -> None:
        """Run the installer, its output into the log. Raises `Failed` with what it said last."""
        environ = installer_environment(os.environ)
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101 - asked for above
        said = b""
        try:
            os.set_blocking(process.stdout.fileno(), False)
            while process.poll() is None:
                said += self._pass_on(process)
                self._check_stop()
                time.sleep(0.02)
            said += self._pass_on(process)
        except BaseException:
            with suppress(OSError):
                os.killpg(process.pid, 9)
            process.wait()
            raise
        finally:
            process.stdout.close()
        if process.returncode != 0:
            raise self.Failed(_reason(said, process.returncode))

    def _pass_on(self, process: subprocess.Popen[bytes]) -> bytes:
        said = b""
        assert process.stdout is not None  # noqa: S101 - asked for at the start
        with suppress(BlockingIOError):
            while data := os.read(process.stdout.fileno(), _READ_BYTES):
                self._output.write(data)
                said += data
        return said


def environment_key(wanted: Sequence[str], cwd: Path, code: str | None) -> str:
    """The name of the environment: equal names hold the same packages."""
    parts: list[object] = [platform.python_version(), platform.machine(), _base_packages(), list(wanted)]
    if any(_LOCAL.search(line) for line in wanted):
        parts += [code or str(cwd), _file_digests(wanted, cwd)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _file_digests(wanted: Sequence[str], cwd: Path) -> list[str]:
    digests = []
    for line in wanted:
        for word in re.split(r"[\s=@]+", line):
            path = cwd / Path(word.removeprefix("file://")).expanduser()
            if word and path.is_file():
                digests.append(hashlib.sha256(path.read_bytes()).hexdigest())
    return digests


def _arguments(line: str) -> list[str]:
    """A dependency as arguments: `-r requirements.txt` is two, everything else is one."""
    if line.startswith("-"):
        option, _, value = line.partition(" ")
        return [option, value.strip()] if value else [option]
    return [line.partition(" #")[0].rstrip()]


def _base_packages() -> list[str]:
    paths = sysconfig.get_paths()
    return sorted({paths["purelib"], paths["platlib"]})


def _show_base_packages(environment: Path) -> None:
    """Put the base interpreter's packages behind the installed ones on the path."""
    lines = [f"import site; site.addsitedir({path!r})\n" for path in _base_packages()]
    for folder in environment.glob("lib*/python*/site-packages"):
        if not folder.parent.parent.is_symlink():
            (folder / "zz_contrail_base.pth").write_text("".join(lines))


def installer_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The installer sees the node's own configuration (indexes, proxies, caches), not the server's."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("CONTRAIL_", "MLFLOW_", "VIRTUAL_ENV", "PYTHON"))
    }
    return {**kept, "NO_COLOR": "1", "UV_NO_PROGRESS": "1"}


def _find_uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise Environments.Failed("uv, which installs dependencies, is not on this node")
    return found


def _reason(said: bytes, code: int) -> str:
    text = _ANSI.sub("", said.decode(errors="replace")).strip()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Using Python ")]
    reason = "\n".join(lines)[-REASON_MAX:] or f"exit code {code}"
    return f"installing dependencies failed: {reason}"
