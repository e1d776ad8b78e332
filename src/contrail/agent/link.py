"""The agent's connection to the server: keep-alive, bounded waits, and a server that may come back elsewhere."""

from __future__ import annotations

import http.client
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias
from urllib.parse import SplitResult, urlsplit

import msgspec

from contrail.agent.files import read_json
from contrail.model.jobs import AgentSpec

log = logging.getLogger(__name__)

CONNECT_S = 2.0
ANSWER_S = 30.0
AWAY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

Body: TypeAlias = bytes | IO[bytes] | None


class ServerAway(Exception):
    """The server does not answer, or says that it cannot right now. Trying again later is right."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer of the server."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def error_code(self) -> str:
        """`error_code` of a JSON error, else an empty text."""
        return self._error().get("error_code", "")

    @property
    def message(self) -> str:
        """Message of a JSON error, else the beginning of the body."""
        return self._error().get("message") or self.body[:200].decode(errors="replace")

    def _error(self) -> dict[str, str]:
        try:
            found = msgspec.json.decode(self.body)
        except msgspec.MsgspecError:
            return {}
        return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


class ServerAddress:
    """Where the server is; `refresh` reads the server's file again. Thread-safe."""

    def __init__(self, address: str, server_file: str | None):
        self._file = Path(server_file) if server_file else None
        self.url = address.rstrip("/")
        self.refresh()

    def refresh(self) -> None:
        """Take the address that a restarted server has announced, if there is one."""
        if self._file is None:
            return
        content = read_json(self._file, dict[str, Any])
        address = (content or {}).get("address")
        if isinstance(address, str) and address.startswith(("http://", "https://")):
            self.url = address.rstrip("/")


class Health:
    """Whether the server answers, as all threads see it. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._changed = threading.Condition()
        self._up = True  # until proven otherwise
        self._away_since = 0.0
        self._recovered = 0

    @property
    def up(self) -> bool:
        """Whether the last exchange worked."""
        return self._up

    def away_s(self) -> float:
        """For how long the server has been away."""
        with self._changed:
            return 0.0 if self._up else self._clock() - self._away_since

    def worked(self) -> None:
        """The server answered."""
        if self._up:
            return
        with self._changed:
            self._up = True
            self._recovered += 1
            self._changed.notify_all()

    def failed(self, reason: str) -> None:
        """The server did not answer."""
        with self._changed:
            if self._up:
                log.warning("the server is away: %s", reason)
                self._up = False
                self._away_since = self._clock()

    def wait_recovered(self, timeout_s: float) -> None:
        """Return when the server comes back, at the latest after `timeout_s`."""
        with self._changed:
            seen = self._recovered
            self._changed.wait_for(lambda: self._recovered != seen, timeout_s)


class Link:
    """One kept-alive connection, for one thread.

    `request` raises `ServerAway` for everything that passes with time, and gives every other answer.
    """

    def __init__(self, address: ServerAddress, token: str, health: Health):
        self._address = address
        self._token = token
        self._health = health
        self._connection: http.client.HTTPConnection | None = None
        self._connected_to = ""
        self._prefix = ""

    def request(
        self,
        method: str,
        target: str,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        *,
        answer_s: float = ANSWER_S,
    ) -> Answer:
        """Send and read the whole answer. Raises `ServerAway`."""
        response = self.open(method, target, body, headers, answer_s=answer_s)
        try:
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error
        answer = Answer(response.status, content, {k.lower(): v for k, v in response.getheaders()})
        if answer.status in AWAY_STATUS:
            reason = f"{method} {target.partition('?')[0]} was answered {answer.status}: {answer.message}"
            self._health.failed(reason)
            raise ServerAway(reason)
        self._health.worked()
        return answer

    def open(
        self,
        method: str,
        target: str,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        *,
        answer_s: float = ANSWER_S,
        patient: bool = False,
    ) -> http.client.HTTPResponse:
        """Send; the caller reads the answer. `patient`: wait longer as long as others reach the server."""
        for fresh in (False, True):
            kept = self._connection is not None and self._connected_to == self._address.url
            try:
                connection = self._connect()
                connection.request(
                    method, self._prefix + target, body, {**(headers or {}), **self._authorization()}
                )
                self._await_answer(connection, answer_s, patient=patient)
                return connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                # A kept connection may have been closed by the server in the meantime: once more.
                if kept and not fresh and not isinstance(error, TimeoutError):
                    self.close()
                    _rewind(body)
                    continue
                raise self._away(error) from error
        raise AssertionError("unreachable")

    def begin(self, method: str, target: str, headers: Mapping[str, str]) -> http.client.HTTPConnection:
        """Send the head of a request, on a fresh connection; the caller sends the body. Raises `ServerAway`."""
        self.close()
        try:
            connection = self._connect()
            connection.putrequest(method, self._prefix + target)
            for name, value in {**headers, **self._authorization()}.items():
                connection.putheader(name, value)
            connection.endheaders()
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error
        return connection

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def _connect(self) -> http.client.HTTPConnection:
        url = self._address.url
        if self._connection is None or self._connected_to != url:
            self.close()
            parts = urlsplit(url)
            self._prefix = parts.path
            connection = _connection(parts)
            connection.connect()
            connection.sock.settimeout(ANSWER_S)
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connection, self._connected_to = connection, url
        return self._connection

    def _await_answer(
        self, connection: http.client.HTTPConnection, answer_s: float, *, patient: bool
    ) -> None:
        sock = connection.sock
        sock.settimeout(ANSWER_S if patient else answer_s)
        deadline = time.monotonic() + answer_s
        while not select.select([sock], [], [], min(0.25, answer_s))[0]:
            expired = time.monotonic() > deadline
            if expired and not (patient and self._health.up):
                raise TimeoutError(f"no answer within {answer_s:g} s")

    def _away(self, error: Exception) -> ServerAway:
        self.close()
        reason = f"{self._address.url}: {error or type(error).__name__}"
        self._health.failed(reason)
        self._address.refresh()
        return ServerAway(reason)


def _rewind(body: Body) -> None:
    if body is not None and not isinstance(body, bytes):
        with suppress(OSError):
            body.seek(0)


def _connection(url: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    return kind(url.hostname or "", url.port, timeout=CONNECT_S)


def agent_path(spec: AgentSpec, verb: str) -> str:
    """Path of the agent protocol for this node."""
    return f"/api/contrail/v1/agent/attempts/{spec.attempt_id}/nodes/{spec.node}/{verb}"
