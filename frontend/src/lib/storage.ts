/** Small settings of this browser. Storage may be full or forbidden: then a setting lasts as long as the page. */

/** `local` lasts, `session` lasts as long as the tab. */
export type StorageArea = "local" | "session";

const memory = new Map<string, string>();

export function readStored(key: string, area: StorageArea = "local"): string | null {
  try {
    return storage(area).getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

export function writeStored(key: string, value: string | null, area: StorageArea = "local"): void {
  if (value === null) memory.delete(key);
  else memory.set(key, value);
  try {
    if (value === null) storage(area).removeItem(key);
    else storage(area).setItem(key, value);
  } catch {
    // Kept in memory above.
  }
}

/** Even naming a forbidden storage throws, so it is named inside the caller's `try`. */
function storage(area: StorageArea): Storage {
  return area === "local" ? localStorage : sessionStorage;
}
