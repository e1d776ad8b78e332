"""The columns of a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Points:
    """Points of one series as columns of equal length. `values` may hold NaN and infinities."""

    steps: NDArray[np.int64]
    timestamps_ms: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.steps)
