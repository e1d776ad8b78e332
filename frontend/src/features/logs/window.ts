/**
 * The window of lines that the browser holds: a few pages in a row of what the server has.
 *
 * Pages are added at either end and dropped at the other, whole, because only their edges carry cursors. So memory stays
 * bounded however long the log is.
 */

import type { LogLine, LogPage } from "../../api/types";

export interface LogWindow {
  readonly pages: readonly Piece[];
  /** Nothing is stored after the last line right now. */
  readonly eof: boolean;
}

interface Piece {
  readonly lines: readonly LogLine[];
  readonly prev: string | null;
  readonly next: string | null;
}

export const PAGE_LINES = 1000;
export const WINDOW_LINES = 5000;

export const EMPTY: LogWindow = { pages: [], eof: true };

export function startWith(page: LogPage): LogWindow {
  return { pages: [piece(page)], eof: page.eof };
}

/** Lines that follow the window; a line that was open before is replaced by what it has become. */
export function append(window: LogWindow, page: LogPage): LogWindow {
  const last = window.pages.at(-1);
  if (!last) return startWith(page);
  const known = new Set(page.lines.map(lineKey));
  const kept = last.lines.some((line) => line.open && known.has(lineKey(line)))
    ? last.lines.filter((line) => !known.has(lineKey(line)))
    : last.lines;
  const joined: Piece = { lines: kept, prev: last.prev, next: last.next };
  const next = page.next ?? last.next;
  const pages =
    kept.length + page.lines.length <= PAGE_LINES
      ? [...window.pages.slice(0, -1), { ...joined, lines: [...kept, ...page.lines], next }]
      : [...window.pages.slice(0, -1), joined, { ...piece(page), next }];
  return { pages: trimmed(pages, "front"), eof: page.eof };
}

/** Lines that come before the window. */
export function prepend(window: LogWindow, page: LogPage): LogWindow {
  if (window.pages.length === 0) return startWith(page);
  const pages = trimmed([piece(page), ...window.pages], "back");
  return { pages, eof: window.eof && pages.at(-1) === window.pages.at(-1) };
}

export function linesOf(window: LogWindow): readonly LogLine[] {
  return window.pages.flatMap((page) => page.lines);
}

/** The cursor for `before=`, null when the window begins with the first line. */
export function firstCursor(window: LogWindow): string | null {
  return window.pages[0]?.prev ?? null;
}

/** The cursor for `after=`. */
export function lastCursor(window: LogWindow): string | null {
  return window.pages.at(-1)?.next ?? null;
}

export function lineKey(line: Pick<LogLine, "node" | "seq">): string {
  return `${line.node}:${line.seq}`;
}

function piece({ lines, prev, next }: LogPage): Piece {
  return { lines, prev, next };
}

function trimmed(pages: readonly Piece[], end: "front" | "back"): readonly Piece[] {
  const kept = [...pages];
  let lines = kept.reduce((sum, page) => sum + page.lines.length, 0);
  while (kept.length > 1) {
    const victim = end === "front" ? kept[0] : kept.at(-1);
    if (lines - (victim?.lines.length ?? 0) < WINDOW_LINES) break;
    lines -= victim?.lines.length ?? 0;
    if (end === "front") kept.shift();
    else kept.pop();
  }
  return kept;
}
