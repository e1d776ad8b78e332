import { useSyncExternalStore } from "react";

/** The run under the pointer, in a chart or a legend: every chart of the page thickens its line. */

const listeners = new Set<() => void>();
let current: string | null = null;

export function highlighted(): string | null {
  return current;
}

export function setHighlight(runId: string | null): void {
  if (runId === current) return;
  current = runId;
  for (const listener of listeners) listener();
}

export function onHighlight(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useHighlight(): string | null {
  return useSyncExternalStore(onHighlight, highlighted);
}
