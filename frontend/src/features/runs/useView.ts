import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import type { ColumnInfo } from "../../api/types";
import { readStored, writeStored } from "../../lib/storage";
import {
  DEFAULT_VIEW,
  decodeView,
  encodeView,
  readView,
  sameView,
  VIEW_CHARS_MAX,
  type View,
} from "../../lib/viewState";
import { suggestedColumns } from "./columns";

/** Dragging a width changes the view many times a second; addresses may be replaced about 200 times in 30 s. */
const ADDRESS_DELAY_MS = 300;

export interface ViewControl {
  readonly view: View;
  readonly change: (edit: Partial<View>) => void;
  /** Opened from a link that differs from my own view: edits stay in the address until kept. */
  readonly shared: boolean;
  readonly keep: () => void;
  readonly reset: () => void;
}

function storageKey(experimentId: string): string {
  return `contrail.view.${experimentId}`;
}

function filterKey(experimentId: string): string {
  return `contrail.filter.${experimentId}`;
}

function storedView(experimentId: string): View | null {
  const filter = readStored(filterKey(experimentId), "session") ?? "";
  const view = parseView(readStored(storageKey(experimentId)));
  return view || filter ? { ...(view ?? DEFAULT_VIEW), filter } : null;
}

function parseView(text: string | null): View | null {
  try {
    return readView(JSON.parse(text ?? "null"));
  } catch {
    return null;
  }
}

/** A forgotten filter would hide runs, so it lasts only as long as the tab; the rest of the view lasts. */
function storeView(experimentId: string, view: View | null): void {
  writeStored(filterKey(experimentId), view?.filter || null, "session");
  writeStored(storageKey(experimentId), view && JSON.stringify({ ...view, filter: "" }));
}

/**
 * The view of an experiment's table: from the address, else as I left it, else suggested from its columns.
 * Edits go to the address and are remembered, except that a shared link never overwrites my own view.
 */
export function useView(experimentId: string, known: readonly ColumnInfo[] | undefined): ViewControl {
  const [search, setSearch] = useSearchParams();
  const [edited, setEdited] = useState<View | null>(() => {
    const linked = decodeView(search.get("view") ?? "");
    const filter = search.get("q");
    if (linked) return { ...linked, filter: filter ?? "" };
    const stored = storedView(experimentId);
    return filter === null ? stored : { ...(stored ?? DEFAULT_VIEW), filter };
  });
  const [shared, setShared] = useState(() => {
    const linked = decodeView(search.get("view") ?? "");
    const stored = storedView(experimentId);
    return linked !== null && stored !== null && !sameView({ ...linked, filter: "" }, { ...stored, filter: "" });
  });
  const suggested = useMemo(() => suggestedColumns(known ?? []), [known]);
  const view = useMemo<View>(() => {
    const base = edited ?? DEFAULT_VIEW;
    return base.columns.length > 0 ? base : { ...base, columns: suggested };
  }, [edited, suggested]);

  const change = useCallback(
    (edit: Partial<View>) => setEdited((before) => ({ ...(before ?? DEFAULT_VIEW), ...edit }) as View),
    [],
  );

  const touched = useRef(false);
  useEffect(() => {
    // The first render only read the view; nothing to save.
    if (!touched.current) {
      touched.current = true;
      return;
    }
    if (!shared) storeView(experimentId, edited);
    const timer = setTimeout(
      () => setSearch((before) => withView(before, edited), { replace: true }),
      ADDRESS_DELAY_MS,
    );
    return () => clearTimeout(timer);
  }, [edited, shared, experimentId, setSearch]);

  const keep = useCallback(() => setShared(false), []);
  const reset = useCallback(() => {
    setEdited(shared ? storedView(experimentId) : null);
    setShared(false);
  }, [shared, experimentId]);
  return { view, change, shared, keep, reset };
}

function withView(before: URLSearchParams, view: View | null): URLSearchParams {
  const after = new URLSearchParams(before);
  after.delete("view");
  after.delete("q");
  if (!view) return after;
  if (view.filter) after.set("q", view.filter);
  const encoded = encodeView(view);
  if (encoded && encoded.length <= VIEW_CHARS_MAX) after.set("view", encoded);
  return after;
}
