import { useCallback, useMemo, useState } from "react";
import { readStored, writeStored } from "../../lib/storage";

const KEY = "contrail.folded";
/** The oldest are forgotten first. */
const REMEMBERED_MAX = 500;

export interface Folding {
  /** Runs whose child runs are hidden. */
  readonly ids: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
}

/** Which parents are folded, for as long as the tab lives: opening a run and coming back changes nothing. */
export function useFolding(): Folding {
  const [ids, setIds] = useState<ReadonlySet<string>>(
    () => new Set((readStored(KEY, "session") ?? "").split(",").filter(Boolean)),
  );
  const toggle = useCallback(
    (id: string) =>
      setIds((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        writeStored(KEY, [...next].slice(-REMEMBERED_MAX).join(",") || null, "session");
        return next;
      }),
    [],
  );
  return useMemo(() => ({ ids, toggle }), [ids, toggle]);
}
