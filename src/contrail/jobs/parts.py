"""What all parts of the jobs layer share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contrail.engines.base import Engine
from contrail.model.errors import InvalidParameterValue
from contrail.model.settings import Settings

if TYPE_CHECKING:
    from contrail.blobs.store import BlobStore
    from contrail.logs import Logs
    from contrail.store.database import Database
    from contrail.tracking import Tracking


@dataclass(frozen=True, slots=True)
class Parts:
    """The lower layers, the engines by name, and the outside. Setting `wake` makes the supervisor look at once."""

    database: Database
    tracking: Tracking
    logs: Logs
    blobs: BlobStore
    settings: Settings
    engines: Mapping[str, Engine]
    server_address: Callable[[], str]
    clock: Callable[[], float]
    wake: threading.Event = field(default_factory=threading.Event)

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        return int(self.clock() * 1000)

    def engine(self, name: str) -> Engine:
        """The engine with this name. Raises `InvalidParameterValue` that names the field and the choices."""
        found = self.engines.get(name)
        if found is None:
            choices = ", ".join(sorted(self.engines))
            raise InvalidParameterValue(f"engine: there is no engine '{name}' here; choose one of: {choices}")
        return found
