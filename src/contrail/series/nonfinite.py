"""Values that no line can show: the only place that parts NaN and infinities from the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contrail.series.numpy_later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


Mark = tuple[float, str, int]


def finite(y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values a line can show."""
    return np.isfinite(y)


def kinds(y: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """For each kind of non-finite value that occurs: its name and where."""
    for name, where in (("NaN", np.isnan(y)), ("Infinity", np.isposinf(y)), ("-Infinity", np.isneginf(y))):
        if bool(where.any()):
            yield name, where


def word(value: float) -> str:
    """The name of a non-finite value, as JSON strings spell it."""
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")
