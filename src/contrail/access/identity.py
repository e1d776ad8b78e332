"""Identities. While there are no users everyone who reaches the server is the person who runs it."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking."""

    user: str


def single_user() -> Identity:
    """The person who runs the server."""
    try:
        return Identity(getpass.getuser())
    except (KeyError, OSError):  # a container's user may have a number but no name
        return Identity(f"uid-{os.getuid()}")
