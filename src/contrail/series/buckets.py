"""Thinning a series for a chart without hiding a spike.

The axis is cut into equal parts; each keeps its last finite point and its lowest and highest value. Non-finite
values are counted per part. A series that has no more points than parts stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from contrail.series import nonfinite
from contrail.series.numpy_later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True)
class Thinned:
    """Columns of a chart line; `y_min` and `y_max` are empty when `exact`. `points` counts non-finite ones too."""

    exact: bool
    points: int
    x: list[float]
    y: list[float]
    y_min: list[float]
    y_max: list[float]
    nonfinite: list[nonfinite.Mark]


def thin(parts: Iterable[tuple[Floats, Floats]], start: float, end: float, buckets: int) -> Thinned:
    """Thin the (x, y) columns of `parts`, which are in order of x and within `start`…`end`, to `buckets` parts.

    Memory is bounded by one part and the buckets.
    """
    thinning = _Thinning(start, end, buckets)
    for x, y in parts:
        thinning.add(x, y)
    return thinning.result()


class _Thinning:
    def __init__(self, start: float, end: float, buckets: int):
        self._start = start
        self._scale = buckets / (end - start) if end > start else 0.0
        self._buckets = buckets
        self._points = 0
        self._few: list[tuple[Floats, Floats]] = []
        self._x = np.full(buckets, np.nan)
        self._y = np.full(buckets, np.nan)
        self._lowest = np.full(buckets, np.inf)
        self._highest = np.full(buckets, -np.inf)
        self._marks: dict[tuple[int, str], tuple[float, int]] = {}

    def add(self, x: Floats, y: Floats) -> None:
        if len(x) == 0:
            return
        self._points += len(x)
        if self._points <= self._buckets:
            self._few.append((x, y))
        else:
            self._few.clear()
        finite = nonfinite.finite(y)
        if not bool(finite.all()):
            self._mark(x, y)
            x, y = x[finite], y[finite]
        if len(x):
            self._fold(x, y)

    def _fold(self, x: Floats, y: Floats) -> None:
        bucket = self._bucket(x)
        starts = np.concatenate(([0], np.flatnonzero(bucket[1:] != bucket[:-1]) + 1))
        ends = np.append(starts[1:], len(x)) - 1
        which = bucket[starts]
        self._x[which] = x[ends]
        self._y[which] = y[ends]
        self._lowest[which] = np.minimum(self._lowest[which], np.minimum.reduceat(y, starts))
        self._highest[which] = np.maximum(self._highest[which], np.maximum.reduceat(y, starts))

    def _mark(self, x: Floats, y: Floats) -> None:
        for name, where in nonfinite.kinds(y):
            at = x[where]
            which, first, counts = np.unique(self._bucket(at), return_index=True, return_counts=True)
            for bucket, x_first, count in zip(
                which.tolist(), at[first].tolist(), counts.tolist(), strict=True
            ):
                known_x, known = self._marks.get((bucket, name), (x_first, 0))
                self._marks[bucket, name] = (known_x, known + count)

    def _bucket(self, x: Floats) -> NDArray[np.int64]:
        return np.clip(((x - self._start) * self._scale).astype(np.int64), 0, self._buckets - 1)

    def result(self) -> Thinned:
        if self._points <= self._buckets:
            return self._exact()
        filled = np.isfinite(self._x)
        marks = sorted((x, name, count) for (_, name), (x, count) in self._marks.items())
        x, y, lowest, highest = (
            column[filled].tolist() for column in (self._x, self._y, self._lowest, self._highest)
        )
        return Thinned(False, self._points, x, y, lowest, highest, marks)

    def _exact(self) -> Thinned:
        x = np.concatenate([part for part, _ in self._few]) if self._few else np.empty(0)
        y = np.concatenate([part for _, part in self._few]) if self._few else np.empty(0)
        finite = nonfinite.finite(y)
        marks = [
            (at, nonfinite.word(value), 1)
            for at, value in zip(x[~finite].tolist(), y[~finite].tolist(), strict=True)
        ]
        return Thinned(True, self._points, x[finite].tolist(), y[finite].tolist(), [], [], marks)
