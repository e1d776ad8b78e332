"""Every setting, once: name, default, unit and help drive the environment, the CLI and the reference page."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrail.model.errors import InvalidParameterValue

PREFIX = "CONTRAIL_"
_LARGEST = sys.float_info.max  # no limit, but not infinite either


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. The environment variable is `CONTRAIL_` + the name in capitals."""

    name: str
    default: Any
    help: str
    unit: str = ""
    maximum: float = _LARGEST

    @property
    def env(self) -> str:
        """Name of the environment variable."""
        return PREFIX + self.name.upper()


SETTINGS: tuple[Setting, ...] = (
    # server
    Setting("data_dir", "~/.contrail", "Folder that holds everything a server keeps"),
    Setting("host", "127.0.0.1", "Address the server listens on"),
    Setting("port", 5050, "Port the server listens on; 0 takes a free one", maximum=65_535),
    Setting("store_url", "", "Database; empty means SQLite inside the data folder"),
    Setting(
        "durability", "full", "`full`: an answered write survives power loss; `process`: a killed process"
    ),
    Setting("server", "", "Address of the server that the command line and the SDK talk to"),
    Setting("allowed_hosts", "", "Further Host names that the server answers to, comma-separated"),
    Setting("request_body_max_bytes", 32 * 1024 * 1024, "Largest JSON request body", "bytes"),
    Setting("write_group_max", 1024, "Writes that may share one commit", "writes"),
    Setting("write_queue_max", 20_000, "Writes that may wait before the server answers 503", "writes"),
    Setting("reader_threads", 8, "Threads that answer reading requests", "threads"),
    # metrics
    Setting(
        "metric_block_compact_count", 2_048, "Uncompacted blocks of a run that start a compaction", "blocks"
    ),
    Setting("metric_chunk_points_max", 65_536, "Points in one compacted chunk", "points"),
    Setting("chart_buckets_max", 2_000, "Most buckets of one series in a chart answer", "buckets"),
    Setting(
        "truncate_long_values",
        True,
        "Cut params above 6,000 and tags above 8,000 characters",
    ),
    # artifacts
    Setting("artifact_root", "", "Root of all artifacts; empty means `artifacts` in the data folder"),
    Setting("volumes_root", "", "Folder behind /Volumes paths; empty means `volumes` in the data folder"),
    Setting("preview_rows_max", 1_000, "Rows of a table preview", "rows"),
    Setting("preview_bytes_max", 1024 * 1024, "Bytes of a text preview", "bytes"),
    # jobs
    Setting("code_max_bytes", 256 * 1024 * 1024, "Largest code archive that `contrail run` sends", "bytes"),
    Setting("retry_delay_s", 5.0, "Pause before the first retry; doubles up to ten times this", "seconds"),
    Setting("cancel_grace_s", 10.0, "Time between SIGTERM and SIGKILL", "seconds"),
    Setting("heartbeat_interval_s", 2.0, "How often a node agent reports", "seconds"),
    Setting(
        "heartbeats_missed_max",
        15,
        "Missed heartbeats after which a vanished agent counts as lost",
        "heartbeats",
    ),
    Setting("system_metrics_interval_s", 10.0, "How often a node's hardware is sampled", "seconds"),
    Setting("local_nodes_max", 64, "Nodes that may run at once on this machine", "nodes"),
    Setting(
        "local_gpus", "", "GPUs to take for granted on this machine, such as `2xA10`; empty asks the driver"
    ),
    Setting("spool_max_bytes", 4 * 1024**3, "Largest spool of one node agent", "bytes"),
    # logs
    Setting("log_chunk_bytes", 1024 * 1024, "Raw bytes of a sealed log chunk", "bytes"),
    Setting("log_retention_days", 60, "How long logs are kept after a job run has ended", "days"),
    Setting(
        "log_line_max_bytes",
        256 * 1024,
        "Longest line that is shown whole; longer ones are cut in views",
        "bytes",
    ),
    Setting("log_search_max_s", 10.0, "Longest time one search request may scan", "seconds"),
)

_BY_NAME = {setting.name: setting for setting in SETTINGS}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


class Settings:
    """The values in force: given ones, else the environment, else the defaults.

    Raises `InvalidParameterValue` for an unknown name or a value that does not parse.
    """

    def __init__(self, given: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None):
        environ = os.environ if environ is None else environ
        self._values: dict[str, Any] = {s.name: s.default for s in SETTINGS}
        for setting in SETTINGS:
            if setting.env in environ:
                self._values[setting.name] = _parse(setting, environ[setting.env])
        for name, value in (given or {}).items():
            if name not in _BY_NAME:
                raise InvalidParameterValue(f"There is no setting '{name}'")
            if value is not None:
                self._values[name] = _parse(_BY_NAME[name], value)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def data_path(self) -> Path:
        """The data folder as an absolute path."""
        return Path(self._values["data_dir"]).expanduser().absolute()

    @property
    def store_address(self) -> str:
        """The database URL, with the default filled in."""
        return self._values["store_url"] or f"sqlite:///{self.data_path / 'contrail.db'}"

    @property
    def artifact_path(self) -> str:
        """Root of all artifacts: an absolute folder, or a URL."""
        return self._values["artifact_root"] or str(self.data_path / "artifacts")

    @property
    def volumes_path(self) -> Path:
        """Folder behind `/Volumes`."""
        return Path(self._values["volumes_root"] or self.data_path / "volumes")


def _parse(setting: Setting, value: Any) -> Any:
    kind = type(setting.default)
    try:
        if kind is bool and isinstance(value, str):
            if value.lower() not in _TRUE | _FALSE:
                raise ValueError(value)
            return value.lower() in _TRUE
        parsed = kind(value)
    except (ValueError, OverflowError):
        raise InvalidParameterValue(f"{setting.env}: '{value}' is not {_KINDS[kind]}") from None
    if kind in (int, float) and not 0 <= parsed <= setting.maximum:
        valid = "0 or more" if setting.maximum == _LARGEST else f"from 0 to {setting.maximum}"
        raise InvalidParameterValue(f"{setting.env}: must be {valid}, is {value}")
    return parsed
