"""Make sure that Chromium is there for the browser tests: installs Debian's package when root, else says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ["chromium", "fonts-noto-cjk"]


def main() -> None:
    """Exit 0 when a browser is there."""
    if any(shutil.which(name) for name in NAMES):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        sys.exit(
            "The browser tests need Chromium: install it (Debian: sudo apt-get install chromium) and try again."
        )
    print("installing Chromium for the browser tests", flush=True)
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([apt, "update", "-qq"], check=True, env=environ)
    subprocess.run(
        [apt, "install", "-y", "-qq", "--no-install-recommends", *PACKAGES],
        check=True,
        env=environ,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
