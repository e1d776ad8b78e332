/** What the reader asked to see, in the page's address and in requests. Pure. */

import type { QueryValue } from "../../api/client";
import type { LogLevel } from "../../api/types";

export interface LogFilter {
  readonly q: string;
  readonly regex: boolean;
  readonly matchCase: boolean;
  readonly node: number | null;
  /** Empty: all levels. */
  readonly levels: readonly LogLevel[];
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

export const LEVELS: readonly LogLevel[] = ["info", "warning", "error"];
export const NO_FILTER: LogFilter = {
  q: "",
  regex: false,
  matchCase: false,
  node: null,
  levels: [],
  fromMs: null,
  toMs: null,
};

const PARAMETERS = ["q", "regex", "case", "node", "levels", "from", "to"] as const;

export function readFilter(search: URLSearchParams): LogFilter {
  const levels = (search.get("levels") ?? "").split(",");
  return {
    q: search.get("q") ?? "",
    regex: search.get("regex") === "1",
    matchCase: search.get("case") === "1",
    node: whole(search.get("node")),
    levels: LEVELS.filter((level) => levels.includes(level)),
    fromMs: whole(search.get("from")),
    toMs: whole(search.get("to")),
  };
}

export function writeFilter(search: URLSearchParams, filter: LogFilter): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const name of PARAMETERS) next.delete(name);
  if (filter.q !== "") next.set("q", filter.q);
  if (filter.regex) next.set("regex", "1");
  if (filter.matchCase) next.set("case", "1");
  if (filter.node !== null) next.set("node", String(filter.node));
  if (filter.levels.length > 0) next.set("levels", filter.levels.join(","));
  if (filter.fromMs !== null) next.set("from", String(filter.fromMs));
  if (filter.toMs !== null) next.set("to", String(filter.toMs));
  return next;
}

/** The same filter as the API's parameters. */
export function filterQuery(filter: LogFilter): Record<string, QueryValue> {
  return {
    q: filter.q === "" ? null : filter.q,
    regex: filter.q !== "" && filter.regex ? 1 : null,
    case: filter.q !== "" && filter.matchCase ? 1 : null,
    node: filter.node,
    levels: filter.levels.length > 0 ? filter.levels.join(",") : null,
    from_ms: filter.fromMs,
    to_ms: filter.toMs,
  };
}

export function isFiltering(filter: LogFilter): boolean {
  return Object.values(filterQuery(filter)).some((value) => value !== null);
}

/** What marks the hits inside a line; null when nothing is searched or the pattern is not valid here. */
export function matcherOf({ q, regex, matchCase }: LogFilter): RegExp | null {
  if (q === "") return null;
  try {
    return new RegExp(regex ? q : q.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), matchCase ? "g" : "gi");
  } catch {
    return null;
  }
}

const HITS_PER_LINE_MAX = 200;

/** Where the matcher hits in a text, as half-open ranges. */
export function hitsIn(text: string, matcher: RegExp | null): [number, number][] {
  if (!matcher) return [];
  const found: [number, number][] = [];
  for (const match of text.matchAll(matcher)) {
    if (match[0] !== "") found.push([match.index, match.index + match[0].length]);
    if (found.length >= HITS_PER_LINE_MAX) break;
  }
  return found;
}

/** A line's address in links: `node:seq`. */
export function readLineAddress(search: URLSearchParams): string | null {
  const line = search.get("line");
  if (line === null) return null;
  if (/^\d+:\d+$/.test(line)) return line;
  return /^\d+$/.test(line) ? `0:${line}` : null;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
