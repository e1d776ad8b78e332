"""Use cases on experiments."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar
from urllib.parse import urlsplit

from contrail.model.errors import (
    BadRequest,
    InvalidParameterValue,
    InvalidState,
    ResourceAlreadyExists,
    ResourceDoesNotExist,
)
from contrail.model.tracking import Experiment, Lifecycle, Tag
from contrail.store import experiments as store
from contrail.store.database import Database
from contrail.store.writer import Connection
from contrail.wire import filters, page_tokens, validation
from contrail.wire.protojson import invalid
from contrail.wire.tracking import (
    CreateExperiment,
    DeleteExperimentTag,
    KeyValue,
    OfExperiment,
    SearchExperiments,
    SetExperimentTag,
    UpdateExperiment,
    experiment_id,
    tags_of,
    view_type,
)

T = TypeVar("T")

ARTIFACT_ROOT = "mlflow-artifacts:"
# Where artifacts may live. Folders of this machine are not among them: whoever may create an
# experiment could read them through it. `/Volumes/…` is the way to files of one's own.
LOCATION_SCHEMES = frozenset(
    {"mlflow-artifacts", "s3", "gs", "r2", "abfs", "abfss", "wasb", "wasbs", "hdfs", "viewfs", "dbfs"}
)
_VOLUME = re.compile(r"(?:dbfs:)?/Volumes/")


class Experiments:
    """Creating, finding and changing experiments."""

    def __init__(self, database: Database, now_ms: Callable[[], int]):
        self._database = database
        self._now_ms = now_ms

    # ------------------------------------------------ reading

    def get(self, message: OfExperiment) -> Experiment:
        """The experiment, deleted or not. Raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return store.get(connection, experiment_id(message.experiment_id))

    def get_by_name(self, name: str) -> Experiment:
        """The experiment of exactly this name, deleted or not. Raises `ResourceDoesNotExist`."""
        with self._database.read() as connection:
            return store.get_by_name(connection, name)

    def search(self, message: SearchExperiments) -> tuple[list[Experiment], str | None]:
        """One page, and the token of the next one."""
        limit = validation.check_max_results(message.max_results, validation.SEARCH_RESULTS_MAX)
        tree = filters.parse(message.filter, filters.EXPERIMENTS)
        order_by = filters.parse_order_by(message.order_by, filters.EXPERIMENTS)
        view = view_type(message.view_type, "view_type")
        listing = listing_name("experiments", message.order_by)
        after = page_tokens.decode(listing, message.page_token) if message.page_token else None
        with self._database.read() as connection:
            found, last = store.search(
                connection, filter=tree, order_by=order_by, view=view, limit=limit, after=after
            )
        return found, None if last is None else page_tokens.encode(listing, last)

    # ------------------------------------------------ writing

    def ensure_default(self) -> None:
        """Create experiment 0 unless it exists."""
        now_ms = self._now_ms()
        self._write(lambda c: store.ensure_default(c, root=ARTIFACT_ROOT, now_ms=now_ms)).result()

    def create(self, message: CreateExperiment) -> Future[int]:
        """Create an experiment; the future holds its id."""
        validation.check_experiment_name(message.name)
        location = neutral_location(message.artifact_location)
        for index, tag in enumerate(message.tags):
            validation.check_experiment_tag(tag, f"tags[{index}]")
        tags, now_ms = tags_of(message.tags), self._now_ms()
        return self._write(
            lambda c: store.create(
                c,
                name=message.name,
                artifact_location=location,
                tags=tags,
                now_ms=now_ms,
                root=ARTIFACT_ROOT,
            )
        )

    def get_or_create(
        self, name: str, artifact_location: str | None = None, now_ms: int | None = None
    ) -> Experiment:
        """The active experiment of this name, made if there is none. Atomic.

        Raises `InvalidParameterValue` for a name or location that cannot be, or when it is deleted.
        """
        validation.check_experiment_name(name)
        location = neutral_location(artifact_location or "")
        moment = self._now_ms() if now_ms is None else now_ms

        def write(connection: Connection) -> Experiment:
            try:
                found = store.get_by_name(connection, name)
            except ResourceDoesNotExist:
                made = store.create(
                    connection, name=name, artifact_location=location, now_ms=moment, root=ARTIFACT_ROOT
                )
                return store.get(connection, made)
            if found.lifecycle is Lifecycle.DELETED:
                raise InvalidParameterValue(
                    f"The experiment '{name}' is deleted; restore it or choose another name"
                )
            return found

        return self._write(write).result()

    def rename(self, message: UpdateExperiment) -> Future[None]:
        """Give an active experiment another name."""
        identity = experiment_id(message.experiment_id)
        validation.check_experiment_name(message.new_name)
        now_ms = self._now_ms()

        def write(connection: Connection) -> None:
            if store.get(connection, identity).lifecycle is Lifecycle.DELETED:
                raise InvalidState("Cannot rename a non-active experiment.")
            try:
                store.update_name(connection, identity, message.new_name, now_ms)
            except BadRequest as error:
                raise ResourceAlreadyExists(error.message) from None

        return self._write(write)

    def delete(self, message: OfExperiment) -> Future[None]:
        """Move an experiment and its runs to the trash."""
        identity, now_ms = experiment_id(message.experiment_id), self._now_ms()
        return self._write(lambda c: store.delete(c, identity, now_ms))

    def restore(self, message: OfExperiment) -> Future[None]:
        """Take an experiment and all its runs out of the trash."""
        identity, now_ms = experiment_id(message.experiment_id), self._now_ms()
        return self._write(lambda c: store.restore(c, identity, now_ms))

    def set_tag(self, message: SetExperimentTag) -> Future[None]:
        """Set one tag."""
        identity, now_ms = experiment_id(message.experiment_id), self._now_ms()
        validation.check_experiment_tag(KeyValue(key=message.key, value=message.value))
        tag = Tag(message.key, message.value)
        return self._write(lambda c: store.set_tag(c, identity, tag, now_ms))

    def delete_tag(self, message: DeleteExperimentTag) -> Future[None]:
        """Remove one tag."""
        identity, now_ms = experiment_id(message.experiment_id), self._now_ms()
        return self._write(lambda c: store.delete_tag(c, identity, message.key, now_ms))

    def _write(self, write: Callable[[Connection], T]) -> Future[T]:
        return self._database.writer.submit(write)


def neutral_location(location: str) -> str | None:
    """An artifact location as it is stored, None for the default.

    `/Volumes/…` becomes a path below the artifact proxy, so clients need no access to the folder.
    Raises `InvalidParameterValue` for a place that this server must not serve.
    """
    if not location:
        return None
    validation.check_artifact_location(location)
    if _VOLUME.match(location):
        return f"{ARTIFACT_ROOT}/{location[location.index('/Volumes/') + 1 :]}".rstrip("/")
    if urlsplit(location).scheme not in LOCATION_SCHEMES:
        known = ", ".join(sorted(LOCATION_SCHEMES))
        raise invalid(
            "artifact_location",
            location,
            f"It must be a path below /Volumes/ or a URL with one of the schemes {known}.",
        )
    return location.rstrip("/")


def listing_name(noun: str, order_by: Sequence[str]) -> str:
    """The listing that a page token belongs to: a token of another order means another place."""
    return f"{noun}/{zlib.crc32(repr(list(order_by)).encode()):08x}"
