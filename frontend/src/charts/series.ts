/** From the series of the API to lines that can be drawn: gaps, markers, hidden values, smoothing, ranges. Pure. */

import { type Smoothing, smooth } from "../lib/smoothing";

export type XAxis = "step" | "time" | "relative";
export type Scale = "linear" | "log" | "symlog";
export type NonFinite = "NaN" | "Infinity" | "-Infinity";

/** One (run, key) as `POST series` gives it. */
export interface SeriesData {
  readonly run_id: string;
  readonly key: string;
  readonly exact: boolean;
  readonly points: number;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly y_min: readonly number[];
  readonly y_max: readonly number[];
  readonly nonfinite: readonly (readonly [number, string, number])[];
}

/** How a chart is drawn; the page keeps it in its view state. */
export interface ChartView {
  readonly x: XAxis;
  readonly xLog: boolean;
  readonly y: Scale;
  readonly smoothing: Smoothing;
  readonly weight: number;
  readonly ignoreOutliers: boolean;
}

export const DEFAULT_VIEW: ChartView = {
  x: "step",
  xLog: false,
  y: "linear",
  smoothing: "ema",
  weight: 0,
  ignoreOutliers: false,
};

/** A value that cannot be drawn on the line: `count` of them from `x` on; `y` is where the triangle stands. */
export interface Mark {
  readonly x: number;
  readonly kind: NonFinite;
  readonly count: number;
  readonly y: number | null;
}

/** One line ready to draw. `y` is what is drawn (smoothed), `raw` what was logged; `null` is a gap. */
export interface Line {
  readonly id: string;
  readonly runId: string;
  readonly key: string;
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  readonly raw: readonly (number | null)[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly smoothed: boolean;
  readonly banded: boolean;
  readonly exact: boolean;
  readonly marks: readonly Mark[];
  readonly points: number;
  readonly drawn: number;
  /** Points that a log axis cannot show. */
  readonly hidden: number;
}

export function prepare(series: SeriesData, view: ChartView): Line {
  const bands = series.exact || series.y_min.length !== series.x.length ? null : series;
  const gapped = withGaps(series, bands);
  const visible = (v: number | null, x: number) =>
    v !== null && !(view.y === "log" && v <= 0) && !(view.xLog && x <= 0) ? v : null;
  const raw = gapped.y.map((v, i) => visible(v, gapped.x[i] as number));
  const smoothed = view.smoothing !== "none" && view.weight > 0;
  return {
    id: `${series.run_id}\u0000${series.key}`,
    runId: series.run_id,
    key: series.key,
    x: gapped.x,
    y: smoothed ? smooth(gapped.x, raw, view.smoothing, view.weight) : raw,
    raw,
    low: bands ? gapped.low.map((v, i) => clampedLow(v, raw[i] ?? null, view.y)) : [],
    high: bands ? gapped.high.map((v, i) => (raw[i] === null ? null : v)) : [],
    smoothed,
    banded: bands !== null,
    exact: series.exact,
    marks: marks(series),
    points: series.points,
    drawn: series.x.length,
    hidden: gapped.y.filter((v, i) => v !== null && raw[i] === null).length,
  };
}

/** A log axis has no place for a bucket's non-positive minimum: the shade then starts at the line. */
function clampedLow(low: number | null, line: number | null, scale: Scale): number | null {
  if (line === null || low === null) return null;
  return scale === "log" && low <= 0 ? line : low;
}

interface Gapped {
  x: number[];
  y: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

/** Weave a `null` into the line at each non-finite x that has no finite value of its own bucket beside it. */
function withGaps(series: SeriesData, bands: SeriesData | null): Gapped {
  const out: Gapped = { x: [], y: [], low: [], high: [] };
  const gaps = gapPositions(series);
  let next = 0;
  const push = (x: number, y: number | null, low: number | null, high: number | null) => {
    out.x.push(x);
    out.y.push(y);
    out.low.push(low);
    out.high.push(high);
  };
  for (let i = 0; i < series.x.length; i++) {
    const x = series.x[i] as number;
    while (next < gaps.length && (gaps[next] as number) < x) push(gaps[next++] as number, null, null, null);
    push(x, series.y[i] as number, bands?.y_min[i] ?? null, bands?.y_max[i] ?? null);
  }
  while (next < gaps.length) push(gaps[next++] as number, null, null, null);
  return out;
}

function gapPositions(series: SeriesData): number[] {
  const all = [...new Set(series.nonfinite.map(([x]) => x))].sort((a, b) => a - b);
  if (series.exact) return all;
  // In buckets most non-finite values share a bucket with finite ones, whose line must not be cut.
  const width = typicalGap(series.x) * 1.5;
  return all.filter((x) => {
    const after = lowerBound(series.x, x);
    const left = series.x[after - 1] ?? Number.NEGATIVE_INFINITY;
    const right = series.x[after] ?? Number.POSITIVE_INFINITY;
    return right - left > width;
  });
}

function typicalGap(x: readonly number[]): number {
  if (x.length < 2) return 0;
  return ((x[x.length - 1] as number) - (x[0] as number)) / (x.length - 1);
}

function marks(series: SeriesData): Mark[] {
  return series.nonfinite.map(([x, kind, count]) => {
    const at = upperBound(series.x, x) - 1;
    const y = kind === "NaN" ? (series.y[Math.max(at, 0)] ?? null) : null;
    return { x, kind: kind as NonFinite, count, y };
  });
}

/** What the badge of a card says: how many of each kind, and where the first one is. */
export interface NonFiniteCount {
  readonly kind: NonFinite;
  readonly count: number;
  readonly firstX: number;
}

export function countNonFinite(lines: readonly Line[]): NonFiniteCount[] {
  return (["NaN", "Infinity", "-Infinity"] as const).flatMap((kind) => {
    const found = lines.flatMap((line) => line.marks.filter((mark) => mark.kind === kind));
    if (found.length === 0) return [];
    const count = found.reduce((sum, mark) => sum + mark.count, 0);
    return [{ kind, count, firstX: Math.min(...found.map((mark) => mark.x)) }];
  });
}

// ---------------------------------------------------------------------------- ranges

export type Range = readonly [number, number];

/** The x of all lines together, or null when nothing can be drawn. */
export function xExtent(lines: readonly Line[], log: boolean): Range | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const line of lines) {
    const from = log ? upperBound(line.x, 0) : 0;
    if (from >= line.x.length) continue;
    low = Math.min(low, line.x[from] as number);
    high = Math.max(high, line.x[line.x.length - 1] as number);
  }
  return low <= high ? [low, high] : null;
}

/** A range that can be an axis: never empty, never touching zero on a log axis. */
export function axisRange([low, high]: Range, scale: Scale, pad: number): Range {
  if (scale === "log") {
    if (low === high) return [low / 2, high * 2];
    const room = (high / low) ** pad;
    return [low / room, high * room];
  }
  if (low === high) {
    const room = Math.abs(low) * 0.1 || 1;
    return [low - room, high + room];
  }
  const room = (high - low) * pad;
  // A curve that is never negative (a loss, say) should not show room below zero.
  const floor = low >= 0 && low - room < 0 ? 0 : low - room;
  const ceiling = high <= 0 && high + room > 0 ? 0 : high + room;
  return [floor, ceiling];
}

/** The y of what is visible between two x, shade and raw values included; null when there is nothing. */
export function yExtent(lines: readonly Line[], [from, to]: Range, ignoreOutliers: boolean): Range | null {
  const values: number[] = [];
  for (const line of lines) {
    const first = Math.max(0, lowerBound(line.x, from));
    const last = upperBound(line.x, to);
    for (let i = first; i < last; i++) {
      for (const v of [line.y[i], line.raw[i], line.low[i], line.high[i]]) {
        if (v !== null && v !== undefined) values.push(v);
      }
    }
  }
  if (values.length === 0) return null;
  if (ignoreOutliers && values.length >= 20) return quantileRange(values);
  let low = values[0] as number;
  let high = low;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return [low, high];
}

function quantileRange(values: number[]): Range {
  const sorted = Float64Array.from(values).sort();
  const at = (q: number) => sorted[Math.round(q * (sorted.length - 1))] as number;
  return [at(0.02), at(0.98)];
}

// ---------------------------------------------------------------------------- looking up

/** First index whose x is ≥ `x`. */
export function lowerBound(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** First index whose x is > `x`. */
export function upperBound(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the drawn value nearest to `x`, or -1 where the line has none. */
export function nearestIndex(line: Line, x: number): number {
  const right = lowerBound(line.x, x);
  const before = seek(line.y, right - 1, -1);
  const after = seek(line.y, right, 1);
  if (before < 0) return after;
  if (after < 0) return before;
  return x - (line.x[before] as number) <= (line.x[after] as number) - x ? before : after;
}

function seek(y: readonly (number | null)[], from: number, by: 1 | -1): number {
  for (let i = from; i >= 0 && i < y.length; i += by) if (y[i] !== null) return i;
  return -1;
}
