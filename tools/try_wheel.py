"""Install the built wheel into an empty environment without Node and see the server serve its pages."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

UV = Path(sys.executable).parent / "uv"


def main() -> None:
    """Exit 0 when a fresh installation of `dist/*.whl` answers with the pages."""
    wheel = max(Path(sys.argv[1]).glob("*.whl"), key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        subprocess.run([UV, "venv", "-q", "--python", sys.executable, environment], check=True)
        subprocess.run(
            [UV, "pip", "install", "-q", "--python", environment / "bin/python", wheel], check=True
        )
        _serve(environment, Path(folder) / "data")
    print(f"{wheel.name}: installed, started and served its pages without Node")


def _serve(environment: Path, data_dir: Path) -> None:
    command = [environment / "bin/contrail", "server", "--port", "0", "--data-dir", data_dir]
    environ = {**os.environ, "PATH": f"{environment / 'bin'}:/usr/bin:/bin"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].split()[0]
            for path in ("/", "/experiments/0"):
                request = urllib.request.Request(address + path, headers={"Accept": "text/html"})
                with urllib.request.urlopen(request, timeout=10) as answer:
                    assert b"<title>" in answer.read(), f"{path} is not a page"
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
