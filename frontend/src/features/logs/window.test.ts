import { describe, expect, it } from "vitest";
import type { LogLine, LogPage } from "../../api/types";
import {
  append,
  EMPTY,
  firstCursor,
  lastCursor,
  linesOf,
  PAGE_LINES,
  prepend,
  startWith,
  WINDOW_LINES,
} from "./window";

const line = (seq: number, change: Partial<LogLine> = {}): LogLine => ({
  node: 0,
  seq,
  time_ns: seq,
  level: "info",
  text: `line ${seq}`,
  ...change,
});

function page(from: number, to: number, change: Partial<LogPage> = {}): LogPage {
  return {
    lines: Array.from({ length: to - from }, (_, i) => line(from + i)),
    prev: from === 0 ? null : `p${from}`,
    next: `n${to}`,
    eof: false,
    ended: false,
    attempt: 1,
    num_nodes: 1,
    ...change,
  };
}

const seqs = (window: ReturnType<typeof startWith>) => linesOf(window).map((l) => l.seq);

describe("the window", () => {
  it("joins pages in order and keeps the cursors of its two ends", () => {
    const window = prepend(append(startWith(page(100, 200)), page(200, 300)), page(50, 100));
    expect(seqs(window)).toEqual(Array.from({ length: 250 }, (_, i) => 50 + i));
    expect(firstCursor(window)).toBe("p50");
    expect(lastCursor(window)).toBe("n300");
  });

  it("stays bounded and without holes while it moves forwards", () => {
    let window = startWith(page(0, PAGE_LINES));
    for (let i = 1; i < 30; i++) window = append(window, page(i * PAGE_LINES, (i + 1) * PAGE_LINES));
    const all = seqs(window);
    expect(all.length).toBeLessThan(WINDOW_LINES + PAGE_LINES);
    expect(all.at(-1)).toBe(30 * PAGE_LINES - 1);
    expect(firstCursor(window)).toBe(`p${all[0]}`);
    all.forEach((seq, i) => {
      expect(seq).toBe((all[0] as number) + i);
    });
  });

  it("knows that it left the end when it moves back far enough", () => {
    let window = startWith(page(20_000, 21_000, { eof: true }));
    for (let i = 19; i >= 10; i--) window = prepend(window, page(i * 1000, (i + 1) * 1000));
    expect(window.eof).toBe(false);
    expect(lastCursor(window)).toBe(`n${(seqs(window).at(-1) as number) + 1}`);
  });

  it("gathers single followed lines into pages", () => {
    let window = startWith(page(0, 10));
    for (let i = 10; i < 60; i++) window = append(window, page(i, i + 1));
    expect(window.pages).toHaveLength(1);
    expect(seqs(window)).toHaveLength(60);
  });

  it("replaces an open line by what it became", () => {
    const open = { ...page(0, 0), lines: [line(0), line(1, { text: "50%", open: true })] };
    const window = append(startWith(open), { ...page(1, 1), lines: [line(1, { text: "100%" }), line(2)] });
    expect(linesOf(window).map((l) => l.text)).toEqual(["line 0", "100%", "line 2"]);
  });

  it("starts from nothing", () => {
    expect(seqs(append(EMPTY, page(0, 3)))).toEqual([0, 1, 2]);
    expect(seqs(prepend(EMPTY, page(0, 3)))).toEqual([0, 1, 2]);
    expect(firstCursor(EMPTY)).toBeNull();
  });
});
