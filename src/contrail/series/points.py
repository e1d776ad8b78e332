"""The columns of a series: joining, ordering, removing doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from contrail.series.numpy_later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


Order = Literal["timestamp", "step"]
Select: TypeAlias = "NDArray[np.bool_] | NDArray[np.int64] | NDArray[np.intp] | slice"


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one series as columns of equal length. `values` may hold NaN and infinities."""

    steps: NDArray[np.int64]
    timestamps_ms: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, which: Select) -> Points:
        return Points(self.steps[which], self.timestamps_ms[which], self.values[which])

    def major(self, order: Order) -> NDArray[np.int64]:
        """The column that `order` sorts by first."""
        return self.timestamps_ms if order == "timestamp" else self.steps


def empty() -> Points:
    """No points."""
    return Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))


def concatenate(parts: Sequence[Points]) -> Points:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty()
    return Points(
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.timestamps_ms for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def ordered(points: Points, order: Order = "timestamp") -> Points:
    """In order of (timestamp, step, value) or (step, timestamp, value), each point once.

    NaN comes after numbers and equals itself, so two NaN points of one step and time are one point.
    """
    first = points.major(order)
    second = points.steps if order == "timestamp" else points.timestamps_ms
    rises = first[1:] > first[:-1]
    if bool(rises.all()) or bool((rises | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))).all()):
        return points
    points = points[np.lexsort((points.values, second, first))]
    return points[_first_of_equals(points)]


def _first_of_equals(points: Points) -> NDArray[np.bool_]:
    steps, times, values = points.steps, points.timestamps_ms, points.values
    same_value = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    keep = np.ones(len(points), np.bool_)
    keep[1:] = ~(same_value & (steps[1:] == steps[:-1]) & (times[1:] == times[:-1]))
    return keep
