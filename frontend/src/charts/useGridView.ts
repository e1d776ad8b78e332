import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { readStored, writeStored } from "../lib/storage";
import { DEFAULT_GRID_VIEW, type GridView, readView, writeView } from "./view";

const MINE = "contrail.charts";

/**
 * The chart settings of the page, in its address. What the reader chooses is also kept as his default;
 * opening someone's link never changes it.
 */
export function useGridView(): [GridView, (change: Partial<GridView>) => void] {
  const [search, setSearch] = useSearchParams();
  const view = useMemo(() => readView(search, mine()), [search]);
  const change = useCallback(
    (part: Partial<GridView>) => {
      setSearch(
        (current) => {
          const next = { ...readView(current, mine()), ...part };
          // A filter belongs to this page's metrics, so it is not a habit.
          writeStored(MINE, writeView(new URLSearchParams(), { ...next, filter: "" }).toString());
          return writeView(current, next);
        },
        { replace: true },
      );
    },
    [setSearch],
  );
  return [view, change];
}

function mine(): GridView {
  return readView(new URLSearchParams(readStored(MINE) ?? ""), DEFAULT_GRID_VIEW);
}
