"""What this node knows of the runs that its workload logs to.

It answers for the server while that is away, and refuses at once what the server would refuse later: a param
that changes its value. It is bounded and may forget; then the server's verdict counts.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from contrail.model.errors import InvalidParameterValue
from contrail.model.jobs import AgentSpec
from contrail.model.tracking import Experiment, Lifecycle, Metric, Param, Run, RunInfo, RunStatus, Tag

RUNS_MAX = 2_000
METRIC_KEYS_MAX = 20_000  # per run
PARAM_BYTES_MAX = 8 * 1024 * 1024  # of all runs
RUN_NAME_TAG = "mlflow.runName"
USER_TAG = "mlflow.user"
FINAL = frozenset({RunStatus.FINISHED, RunStatus.FAILED, RunStatus.KILLED})


@dataclass(slots=True)
class _Known:
    """`info` is None for a run of which only the existence is known."""

    info: RunInfo | None = None
    created_here: bool = False
    metrics: dict[str, Metric] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


class Knowledge:
    """Thread-safe. The attempt's own run is always known."""

    def __init__(self, spec: AgentSpec, now_ms: int):
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Known] = OrderedDict()
        self._param_bytes = 0
        self.own_run_id = spec.run_id
        self.experiment = own_experiment(spec, now_ms)
        info = RunInfo(
            run_id=spec.run_id,
            experiment_id=self.experiment.experiment_id,
            name=spec.run_name,
            user_id=spec.user,
            status=RunStatus.RUNNING,
            start_ms=now_ms,
            end_ms=None,
            artifact_uri=spec.artifact_uri,
            lifecycle=Lifecycle.ACTIVE,
        )
        self._runs[spec.run_id] = _Known(info, tags={RUN_NAME_TAG: spec.run_name, USER_TAG: spec.user})

    # ------------------------------------------------------------ asking

    def knows(self, run_id: str) -> bool:
        """Whether this run exists and can be written to, as far as this node has seen."""
        return run_id in self._runs

    def info(self, run_id: str) -> RunInfo | None:
        """What the run is, if that is known."""
        known = self._runs.get(run_id)
        return None if known is None else known.info

    def run(self, run_id: str) -> Run | None:
        """The run with everything that was logged to it from here, if it is known."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None or known.info is None:
                return None
            return Run(
                known.info,
                tuple(known.metrics.values()),
                tuple(Param(*item) for item in known.params.items()),
                tuple(Tag(*item) for item in known.tags.items()),
            )

    def unfinished(self) -> list[str]:
        """Runs that the workload made from here and has not ended."""
        with self._lock:
            return [
                run_id
                for run_id, known in self._runs.items()
                if known.created_here and known.info is not None and known.info.status not in FINAL
            ]

    # ------------------------------------------------------------ taking in

    def add(self, info: RunInfo, tags: Iterable[Tag]) -> None:
        """A run that was made here."""
        with self._lock:
            self._put(info.run_id, _Known(info, True, tags={tag.key: tag.value for tag in tags}))

    def see(self, run_id: str) -> None:
        """The server took a write to this run, so it exists."""
        with self._lock:
            if run_id not in self._runs:
                self._put(run_id, _Known())

    def forget(self, run_id: str) -> None:
        """Something happened to the run that only the server knows."""
        with self._lock:
            if run_id != self.own_run_id:
                self._runs.pop(run_id, None)

    def learn(self, answer: bytes) -> None:
        """Remember the run in an answer to `runs/get`."""
        try:
            run = msgspec.json.decode(answer)["run"]
            info, data = _run_info(run["info"]), run.get("data", {})
            params = {item["key"]: item.get("value", "") for item in data.get("params", ())}
            tags = {item["key"]: item.get("value", "") for item in data.get("tags", ())}
        except (msgspec.MsgspecError, AttributeError, KeyError, TypeError, ValueError):
            return
        if info.lifecycle is not Lifecycle.ACTIVE:
            self.forget(info.run_id)
            return
        with self._lock:
            known = self._runs.get(info.run_id)
            if known is None:
                known = _Known()
                self._put(info.run_id, known)
            known.info = info
            known.tags.update(tags)
            self._keep_params(known, params.items())

    def log_metrics(self, run_id: str, metrics: Iterable[Metric]) -> None:
        """The latest value of a key is the one with the greatest (step, timestamp, value), as in MLflow."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None:
                return
            for metric in metrics:
                seen = known.metrics.get(metric.key)
                if seen is None and len(known.metrics) >= METRIC_KEYS_MAX:
                    continue
                if seen is None or _order(metric) >= _order(seen):
                    known.metrics[metric.key] = metric

    def log_params(self, run_id: str, params: Sequence[tuple[str, str]]) -> None:
        """Remember params. Raises `InvalidParameterValue`, remembering nothing, when one would change."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None:
                return
            changed = [
                {"key": key, "old_value": known.params[key], "new_value": value}
                for key, value in params
                if known.params.get(key, value) != value
            ]
            if changed:
                raise InvalidParameterValue(
                    "Changing param values is not allowed. "
                    f"Params were already logged='{changed}' for run ID='{run_id}'."
                )
            self._keep_params(known, params)

    def set_tags(self, run_id: str, tags: Iterable[tuple[str, str]]) -> None:
        """Remember tags; the one with the run's name renames it."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None:
                return
            for key, value in tags:
                known.tags[key] = value
                if key == RUN_NAME_TAG and known.info is not None:
                    known.info = replace(known.info, name=value)

    def delete_tag(self, run_id: str, key: str) -> None:
        """Forget a tag."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is not None:
                known.tags.pop(key, None)

    def update(self, run_id: str, status: RunStatus | None, end_ms: int | None, name: str) -> None:
        """Remember an update."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None or known.info is None:
                return
            info = known.info
            known.info = replace(
                info,
                status=info.status if status is None else status,
                end_ms=info.end_ms if end_ms is None else end_ms,
                name=name or info.name,
            )
            if name:
                known.tags[RUN_NAME_TAG] = name

    def _put(self, run_id: str, known: _Known) -> None:
        self._runs[run_id] = known
        while len(self._runs) > RUNS_MAX:
            oldest = next(run_id for run_id in self._runs if run_id != self.own_run_id)
            del self._runs[oldest]

    def _keep_params(self, known: _Known, params: Iterable[tuple[str, str]]) -> None:
        for key, value in params:
            size = len(key) + len(value)
            if key not in known.params and self._param_bytes + size <= PARAM_BYTES_MAX:
                known.params[key] = value
                self._param_bytes += size


def own_experiment(spec: AgentSpec, now_ms: int) -> Experiment:
    """The attempt's experiment, as far as the spec tells."""
    return Experiment(
        experiment_id=int(spec.experiment_id),
        name=spec.experiment_name,
        artifact_location=spec.artifact_uri.removesuffix(f"/{spec.run_id}/artifacts"),
        lifecycle=Lifecycle.ACTIVE,
        created_ms=now_ms,
        updated_ms=now_ms,
    )


def _order(metric: Metric) -> tuple[int, int, float]:
    value = metric.value
    return metric.step, metric.timestamp_ms, 0.0 if value != value else value


def _run_info(info: dict[str, Any]) -> RunInfo:
    return RunInfo(
        run_id=info["run_id"],
        experiment_id=int(info["experiment_id"]),
        name=info.get("run_name", ""),
        user_id=info.get("user_id", ""),
        status=RunStatus[info["status"]],
        start_ms=info.get("start_time"),
        end_ms=info.get("end_time"),
        artifact_uri=info.get("artifact_uri", ""),
        lifecycle=Lifecycle(info["lifecycle_stage"]),
    )
