import { useSyncExternalStore } from "react";

/** One timer for every relative time and running duration on the page; stops when nobody looks. */

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The current time rounded down to `step_ms`, so that a component renders no more often than it changes. */
export function useNow(step_ms = 1000): number {
  return useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return Math.floor(now / step_ms) * step_ms;
  });
}
