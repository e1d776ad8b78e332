"""Attempt tokens: random, handed to the agents of one attempt, known to the server only as SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import secrets

PREFIX = "cta_"
RANDOM_BYTES = 32
_SCHEME = "bearer "


def create() -> str:
    """A new token."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def sha256(token: str) -> str:
    """What the server keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def matches(token: str, kept_sha256: str) -> bool:
    """Whether this is the token; takes the same time whatever differs. A token never matches nothing."""
    return bool(kept_sha256) and hmac.compare_digest(sha256(token), kept_sha256)


def bearer(authorization: str | None) -> str | None:
    """The token of an `Authorization: Bearer …` header."""
    if authorization is None or not authorization.lower().startswith(_SCHEME):
        return None
    return authorization[len(_SCHEME) :].strip() or None
