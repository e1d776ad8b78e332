/**
 * The view of a runs table as one versioned document, and its compact form in the address (`view=` and `q=`).
 * Keys that this build does not know survive a round trip, so that a link passes unharmed through an older page.
 */

export interface ViewSort {
  readonly id: string;
  readonly descending: boolean;
}

export interface View {
  readonly version: 1;
  /** Column ids in order, without the name column, which is always first. Empty: those suggested by the data. */
  readonly columns: readonly string[];
  readonly widths: Readonly<Record<string, number>>;
  /** Columns beside the name that stay while the rest scrolls. */
  readonly pinned: readonly string[];
  readonly filter: string;
  readonly sort: ViewSort | null;
  readonly lifecycle: "active" | "deleted";
  readonly [unknown: string]: unknown;
}

export const DEFAULT_VIEW: View = {
  version: 1,
  columns: [],
  widths: {},
  pinned: [],
  filter: "",
  sort: null,
  lifecycle: "active",
};

/** Addresses longer than this are cut by some proxies and chats. */
export const VIEW_CHARS_MAX = 6_000;

/**
 * Everything that differs from the default, in base64url; "" when nothing does. The filter is left out, it has its
 * own readable place.
 */
export function encodeView(view: View): string {
  const changed = Object.entries(view).filter(
    ([key, value]) => key !== "filter" && key !== "version" && canonical(value) !== canonical(DEFAULT_VIEW[key]),
  );
  if (changed.length === 0) return "";
  const bytes = new TextEncoder().encode(JSON.stringify({ version: view.version, ...Object.fromEntries(changed) }));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** The inverse of `encodeView`; null for anything that is not a view. */
export function decodeView(text: string): View | null {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return readView(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

/** A view from stored or linked data: what is malformed falls back to the default, key by key. */
export function readView(data: unknown): View | null {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const given = data as Record<string, unknown>;
  if (typeof given.version !== "number" || given.version < 1) return null;
  return {
    ...given,
    version: 1,
    columns: texts(given.columns) ?? [],
    pinned: texts(given.pinned) ?? [],
    widths: widths(given.widths),
    filter: typeof given.filter === "string" ? given.filter : "",
    sort: sort(given.sort),
    lifecycle: given.lifecycle === "deleted" ? "deleted" : "active",
  };
}

function texts(value: unknown): string[] | null {
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : null;
}

function widths(value: unknown): Record<string, number> {
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value).filter(([, width]) => Number.isFinite(width) && (width as number) > 0);
  return Object.fromEntries(entries) as Record<string, number>;
}

function sort(value: unknown): ViewSort | null {
  if (typeof value !== "object" || value === null) return null;
  const { id, descending } = value as Record<string, unknown>;
  return typeof id === "string" ? { id, descending: descending === true } : null;
}

/** Whether two views show the same; the order of keys does not matter. */
export function sameView(a: View, b: View): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
