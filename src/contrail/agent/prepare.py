"""What must be there before the command can start: code, script, parameters, environment."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contrail.agent import yaml_text
from contrail.agent.environments import Environments
from contrail.agent.files import WorkDir
from contrail.agent.link import Link, ServerAway
from contrail.agent.output import Output
from contrail.model.jobs import AgentSpec

log = logging.getLogger(__name__)

FETCH_TRIES_PAUSE_S = 1.0
_PIECE_BYTES = 256 * 1024


class CouldNotStart(Exception):
    """The command cannot be started; the message says why, for the user."""


class StopRequested(Exception):
    """Someone wants the attempt to end before its command has begun."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Where everything is. `bin_dir` comes first on the command's PATH."""

    command: Path
    bin_dir: Path
    environment: Path | None
    code: Path | None
    hyperparameters: Path | None


@dataclass(frozen=True, slots=True)
class Tools:
    """What preparing needs from outside. `check_stop` raises `StopRequested`; `status` tells the server."""

    link: Link
    output: Output
    check_stop: Callable[[], None]
    status: Callable[[str], None]
    pause: Callable[[float], None]


def prepare(spec: AgentSpec, work_dir: WorkDir, tools: Tools) -> Prepared:
    """Prepare everything. Raises `CouldNotStart` or `StopRequested`. May be repeated."""
    code = None
    if spec.code_digest:
        tools.status("Fetching code")
        code = fetch_code(spec, work_dir, tools)
    command = _write_command(spec, work_dir)
    hyperparameters = None
    if spec.parameters is not None:
        hyperparameters = work_dir.hyperparameters
        hyperparameters.write_text(yaml_text.dump(spec.parameters))
    environments = Environments(Path(spec.environments_dir), tools.output, tools.check_stop)
    environment = None
    if spec.dependencies:
        tools.status("Installing dependencies")
        try:
            environment = environments.get(
                spec.dependencies, cwd=code or work_dir.path, code=spec.code_digest
            )
        except environments.Failed as error:
            raise CouldNotStart(str(error)) from error
    return Prepared(command, environments.bin_dir(environment), environment, code, hyperparameters)


def _write_command(spec: AgentSpec, work_dir: WorkDir) -> Path:
    text = spec.command if spec.command.endswith("\n") else spec.command + "\n"
    work_dir.command.write_text(text)
    work_dir.command.chmod(0o700)
    return work_dir.command


def fetch_code(spec: AgentSpec, work_dir: WorkDir, tools: Tools) -> Path:
    """The code folder. Waits for an absent server; raises `CouldNotStart` when the code is not what it should be."""
    name = spec.code_name or "code"
    target = work_dir.code / name
    if target.is_dir():
        return target
    work_dir.code.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work_dir.path, prefix=".code-") as folder:
        archive = Path(folder) / "code.tar.gz"
        digest = spec.code_digest or ""
        while not _download(digest, archive, tools):
            tools.check_stop()
            tools.pause(FETCH_TRIES_PAUSE_S)
        extracted = Path(folder) / "extracted"
        extract(archive, extracted)
        source = extracted / name
        (source if source.is_dir() else extracted).rename(target)
    return target


def _download(digest: str, archive: Path, tools: Tools) -> bool:
    """Fetch once; False when the server is away. Raises `CouldNotStart` for a code that is not there."""
    found = hashlib.sha256()
    try:
        response = tools.link.open("GET", f"/api/contrail/v1/code/{digest}", answer_s=30.0)
        if response.status != 200:
            body = response.read()
            if response.status >= 500 or response.status in {408, 429}:
                return False
            raise CouldNotStart(
                f"the code {digest[:12]} could not be fetched: {response.status} {body[:200]!r}"
            )
        with archive.open("wb") as file:
            while piece := response.read(_PIECE_BYTES):
                found.update(piece)
                file.write(piece)
                tools.check_stop()
    except (ServerAway, OSError) as error:
        log.info("fetching code: %s", error)
        tools.link.close()
        return False
    except BaseException:
        tools.link.close()
        raise
    if found.hexdigest() != digest.removeprefix("sha256:"):
        raise CouldNotStart(
            f"the code that arrived is not the one that was sent (its SHA-256 is {found.hexdigest()})"
        )
    return True


def extract(archive: Path, target: Path) -> None:
    """Unpack below `target` and nowhere else. Raises `CouldNotStart` for members that lead out of it."""
    target.mkdir()
    try:
        with tarfile.open(archive, "r:*") as tar:
            tar.extractall(target, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        shutil.rmtree(target, ignore_errors=True)
        raise CouldNotStart(f"the code archive could not be unpacked: {error}") from error
    # "data" strips group and other write bits only where it must; owners can always write their code.
    with suppress(OSError):
        target.chmod(0o700)
