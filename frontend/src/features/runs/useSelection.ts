import { useCallback, useState } from "react";

export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
  /** Selects everything between the last toggled row and this one, in the given order. */
  readonly extend: (id: string, order: readonly string[]) => void;
  readonly set: (ids: Iterable<string>) => void;
  readonly clear: () => void;
}

/** Selected run ids. They outlive refreshes, sorting and filtering. */
export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string | null>(null);
  const toggle = useCallback((id: string) => {
    setAnchor(id);
    setIds((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }, []);
  const extend = useCallback(
    (id: string, order: readonly string[]) => {
      const [from, to] = [order.indexOf(anchor ?? id), order.indexOf(id)].sort((a, b) => a - b) as [number, number];
      setAnchor(id);
      setIds((before) => new Set([...before, ...order.slice(Math.max(from, 0), to + 1)]));
    },
    [anchor],
  );
  const set = useCallback((next: Iterable<string>) => setIds(new Set(next)), []);
  const clear = useCallback(() => setIds(new Set()), []);
  return { ids, toggle, extend, set, clear };
}
