"""What the commands print: data on stdout, everything else on stderr, in text or as JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from contrail.model import errors
from contrail.model.errors import ContrailError

GREEN, RED, AMBER, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[33m", "\033[1m", "\033[0m"


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """How an error appears in JSON."""

    code: str
    kind: str
    retryable: bool


_CLASSES: tuple[tuple[type[ContrailError], ErrorClass], ...] = (
    (errors.Unauthenticated, ErrorClass("UNAUTHENTICATED", "PERMANENT", False)),
    (errors.PermissionDenied, ErrorClass("UNAUTHENTICATED", "PERMANENT", False)),
    (errors.ResourceDoesNotExist, ErrorClass("NOT_FOUND", "NOT_FOUND", False)),
    (errors.ResourceConflict, ErrorClass("INVALID_ARGS", "CONFLICT", False)),
    (errors.ResourceAlreadyExists, ErrorClass("INVALID_ARGS", "CONFLICT", False)),
    (errors.NotImplementedHere, ErrorClass("FEATURE_DISABLED", "PERMANENT", False)),
    (errors.EndpointNotFound, ErrorClass("FEATURE_DISABLED", "PERMANENT", False)),
    (errors.RequestLimitExceeded, ErrorClass("INTERNAL_ERROR", "TRANSIENT", True)),
    (errors.TemporarilyUnavailable, ErrorClass("INTERNAL_ERROR", "TRANSIENT", True)),
    (errors.InternalError, ErrorClass("INTERNAL_ERROR", "TRANSIENT", True)),
)
_OTHER = ErrorClass("INVALID_ARGS", "PERMANENT", False)


class CommandFailed(ContrailError):
    """A command ended without success and has said all there is to say."""


class Output:
    """Prints for one command. In JSON mode stdout holds JSON only, one document a line."""

    def __init__(self, *, as_json: bool = False):
        self.as_json = as_json

    def data(self, data: dict[str, Any]) -> None:
        """The result of the command, as an envelope. JSON mode only."""
        self._line({"v": 1, "ts": now_text(), "data": data})

    def event(self, kind: str, **fields: Any) -> None:
        """One line of a stream; log lines wait for `flush`. JSON mode only."""
        self._line({"type": kind, "ts": now_text(), **fields}, flush=kind not in ("LOG", "ALERT"))

    def error(self, error: ContrailError) -> None:
        """Why the command failed: an envelope, or a sentence on stderr."""
        if not self.as_json:
            self.say(paint(f"Error: {error.message}", RED, sys.stderr))
            return
        body = error_class(error)
        shown: dict[str, Any] = {"code": body.code, "kind": body.kind, "message": error.message}
        shown["retryable"] = body.retryable
        problems = getattr(error, "problems", None)
        if problems:
            shown["problems"] = [problem.to_data() for problem in problems]
        self._line({"v": 1, "ts": now_text(), "error": shown})

    def text(self, line: str = "", colour: str = "", *, flush: bool = True) -> None:
        """A line of the result for people; nothing in JSON mode."""
        if not self.as_json:
            print(paint(line, colour, sys.stdout) if colour else line, flush=flush)

    def flush(self) -> None:
        """Let out the log lines that were printed."""
        sys.stdout.flush()

    def say(self, line: str) -> None:
        """A remark: never part of the result."""
        print(line, file=sys.stderr, flush=True)

    def _line(self, document: dict[str, Any], *, flush: bool = True) -> None:
        print(json.dumps(document, ensure_ascii=False), flush=flush)


def error_class(error: ContrailError) -> ErrorClass:
    """Code, kind and retryability of an error."""
    return next((found for kind, found in _CLASSES if isinstance(error, kind)), _OTHER)


def paint(text: str, colour: str, stream: Any) -> str:
    """The text in a colour where the stream is a terminal and NO_COLOR does not ask for none."""
    coloured = text and stream.isatty() and not os.environ.get("NO_COLOR")
    return f"{colour}{text}{PLAIN}" if coloured else text


def now_text() -> str:
    """Now, as RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
