"""Identities. While there are no users everyone who reaches the server is the person who runs it."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass

from contrail.model.errors import PermissionDenied


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking. `attempt_id` is set for the agents and the workload of one attempt."""

    user: str
    attempt_id: int | None = None


def single_user() -> Identity:
    """The person who runs the server."""
    try:
        return Identity(getpass.getuser())
    except (KeyError, OSError):  # a container's user may have a number but no name
        return Identity(f"uid-{os.getuid()}")


def check_attempt(identity: Identity, attempt_id: int) -> None:
    """Raise `PermissionDenied` unless `identity` acts for this attempt."""
    if identity.attempt_id != attempt_id:
        raise PermissionDenied(f"This token does not belong to attempt {attempt_id}")
