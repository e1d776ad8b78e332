"""Build hook: the wheel carries the built pages, so that nobody who installs it needs Node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "CONTRAIL_SKIP_WEB"


class PagesHook(BuildHookInterface[Any]):
    """Make sure that `src/contrail/web/dist` is there before files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Use the built pages, else build them with npm, else say what to do."""
        root = Path(self.root)
        if (root / "src/contrail/web/dist/index.html").exists() or os.environ.get(SKIP):
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                "The pages are not built and there is no npm here: run `make web` first, or set "
                f"{SKIP}=1 to build a package without pages."
            )
        for command in (["ci"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=root / "frontend", check=True)
