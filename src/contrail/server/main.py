"""`contrail server`: listen, announce, serve until asked to stop."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable

import uvicorn

from contrail.model.errors import InvalidParameterValue, PermissionDenied
from contrail.model.settings import Settings
from contrail.server.app import build_app
from contrail.server.lifecycle import DataFolder
from contrail.server.services import Services

BACKLOG = 2048
SHUTDOWN_S = 10  # open streams are cut after this long


def serve(settings: Settings, say: Callable[[str], None] = print) -> None:
    """Run one server in this process until SIGINT or SIGTERM.

    Prints one line with the address when it is ready. Raises `ResourceConflict` when the data folder is
    in use, `InvalidParameterValue` when the address cannot be used, `PermissionDenied` for an address
    that others can reach while there is no sign-in.
    """
    _refuse_open_address(settings.host)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with DataFolder(settings.data_path) as folder, _listen(settings.host, settings.port) as listener:
        address = _address(listener)
        services = Services.open(settings, server_address=lambda: address)
        _outlive_signals()
        gc.freeze()  # what was loaded stays: it need not be looked at again
        gc.enable()
        try:
            services.start()
            server = _Server(
                _config(services),
                ready=lambda: _announce(folder, address, say),
                ending=services.logs.close,  # followers would hold their connections open
            )
            server.run(sockets=[listener])
        finally:
            services.close()


def _outlive_signals() -> None:
    """Uvicorn ends its loop at a signal and then raises it again; what was begun must still be ended in order."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: None)


class _Server(uvicorn.Server):
    """Uvicorn that says when it accepts connections, and when it is about to end them."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None]):
        super().__init__(config)
        self._ready, self._ending = ready, ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets=sockets)


def _config(services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(services),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,  # nothing here looks at the peer's address; saves its work per request
        log_config=None,
        log_level="warning",
        server_header=False,
        date_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=SHUTDOWN_S,
        h11_max_incomplete_event_size=64 * 1024,
    )


def _announce(folder: DataFolder, address: str, say: Callable[[str], None]) -> None:
    folder.announce(address)
    say(f"Contrail is ready at {address} (data in {folder.path})")
    sys.stdout.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidParameterValue(
            f"The server cannot listen on {host} port {port}: {reason}. "
            "Choose another --port (0 takes a free one) or --host."
        ) from None
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _refuse_open_address(host: str) -> None:
    """Without users nobody signs in, so only this machine may reach the server."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise PermissionDenied(
            f"Listening on {host} would let anyone who reaches this machine use it: this version has no sign-in yet. "
            "Listen on 127.0.0.1 and forward the port (for example with ssh -L), or put a proxy with sign-in in front."
        )
