/** Where the marks of an axis stand and what they say. Pure; locale is passed in. */

import type { Range, XAxis } from "./series";

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

const DURATION_STEPS_S = [
  1,
  2,
  5,
  10,
  15,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  5 * DAY,
  10 * DAY,
  30 * DAY,
  100 * DAY,
  365 * DAY,
];

/** At most `most` evenly spaced round numbers inside the range. */
export function linearTicks([low, high]: Range, most: number): number[] {
  const step = niceStep((high - low) / Math.max(most, 1));
  return multiples(low, high, step);
}

/** Decades, with 2 and 5 between while there is room; round numbers when the range is within one decade. */
export function logTicks([low, high]: Range, most: number): number[] {
  if (!(low > 0) || high / low < 10) return linearTicks([low, high], most).filter((v) => v > 0);
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const decades = last - first;
  const factors = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / most));
  const out: number[] = [];
  for (let e = first; e <= last; e++) {
    if (e % every !== 0) continue;
    for (const f of factors) {
      const v = f * 10 ** e;
      if (v >= low && v <= high) out.push(v);
    }
  }
  return out;
}

/** Below this distance from zero a symlog axis is straight: three decades under the largest value. */
export function symlogThreshold([low, high]: Range): number {
  const reach = Math.max(Math.abs(low), Math.abs(high));
  return reach > 0 ? 10 ** (Math.ceil(Math.log10(reach) - 1e-9) - 3) : 1;
}

/** Zero, and powers of ten on both sides of it from the threshold on. */
export function symlogTicks([low, high]: Range, most: number): number[] {
  const first = Math.round(Math.log10(symlogThreshold([low, high])));
  const every = most >= 9 ? 1 : most >= 5 ? 2 : 3;
  const out = [0];
  for (let e = first + 3; e >= first; e -= every) out.push(10 ** e, -(10 ** e));
  return out.filter((v) => v >= low && v <= high).sort((a, b) => a - b);
}

/** Durations in seconds at 1, 2, 5, 10, 15, 30 of a unit. */
export function durationTicks([low, high]: Range, most: number): number[] {
  const wanted = (high - low) / Math.max(most, 1);
  if (wanted < SECOND) return linearTicks([low, high], most);
  const step = DURATION_STEPS_S.find((s) => s >= wanted) ?? niceStep(wanted / DAY) * DAY;
  return multiples(low, high, step);
}

/** Moments (Unix ms) at round local times. */
export function timeTicks([low, high]: Range, most: number, offsetMinutes: number): number[] {
  const shift = offsetMinutes * MINUTE;
  const ticks = durationTicks([low / 1000 - shift, high / 1000 - shift], most);
  return ticks.map((s) => Math.round((s + shift) * 1000));
}

function multiples(low: number, high: number, step: number): number[] {
  const out: number[] = [];
  if (!(step > 0)) return out;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // `* step` makes 0.30000000000000004; the tenth significant digit is far below a pixel.
  for (let i = first; i <= last && out.length < 100; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

function niceStep(wanted: number): number {
  if (!(wanted > 0) || !Number.isFinite(wanted)) return 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [1, 2, 5, 10].find((f) => f * power >= wanted * (1 - 1e-9)) ?? 10;
  return factor * power;
}

// ---------------------------------------------------------------------------- labels

const UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** Numbers as short as an axis needs them: 12,000 → 12k, 0.00001 → 1e-5. One axis speaks one way. */
export function numberLabels(values: readonly number[]): string[] {
  // 5k beside 10k, and 1e-4 beside 5e-5.
  const [largest, smallest] = [Math.max(...values.map(Math.abs)), smallestOf(values)];
  if (smallest < 1e-4 && largest < 1e-2) return values.map((v) => (v === 0 ? "0" : exponent(v)));
  const short = values.map((v) => withUnit(v, largest >= 1e4 && smallest >= 100 ? 1e3 : 1e4));
  // 83048 beside 83050 is easier to read than 83.048k.
  return short.some((text) => /\.\d{3,}[kMGT]$/.test(text)) ? values.map(plain) : short;
}

function smallestOf(values: readonly number[]): number {
  return Math.min(...values.filter((v) => v !== 0).map(Math.abs));
}

function withUnit(v: number, from: number): string {
  const found = UNITS.find(([unit]) => Math.abs(v) >= Math.max(unit, from));
  return found && Math.abs(v) < 1e15 ? `${trim(v / found[0])}${found[1]}` : plain(v);
}

function plain(v: number): string {
  const size = Math.abs(v);
  return v !== 0 && (size >= 1e15 || size < 1e-4) ? exponent(v) : trim(v);
}

function exponent(v: number): string {
  return v
    .toExponential(2)
    .replace(/\.?0+e/, "e")
    .replace("e+", "e");
}

function trim(v: number): string {
  return String(Number(v.toPrecision(7)));
}

/** 75 → 1m 15s; the two largest units only. */
export function durationLabel(s: number): string {
  const sign = s < 0 ? "-" : "";
  const size = Math.abs(s);
  if (size < MINUTE) return `${sign}${trim(size)}s`;
  const units: [number, string][] = [
    [DAY, "d"],
    [HOUR, "h"],
    [MINUTE, "m"],
    [SECOND, "s"],
  ];
  const first = units.findIndex(([unit]) => size >= unit);
  const [big, bigName] = units[first] as [number, string];
  const [small, smallName] = units[first + 1] as [number, string];
  const whole = Math.floor(size / big);
  const rest = Math.round((size - whole * big) / small);
  return rest === 0 ? `${sign}${whole}${bigName}` : `${sign}${whole}${bigName} ${rest}${smallName}`;
}

/** Labels of moments: the time, and the day wherever it changes. */
export function timeLabels(ticks: readonly number[], locale: string): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 0;
  const day = new Intl.DateTimeFormat(locale, { month: "numeric", day: "numeric" });
  const clock = new Intl.DateTimeFormat(locale, {
    hour: "2-digit",
    minute: "2-digit",
    ...(step < MINUTE * 1000 ? { second: "2-digit" } : {}),
    hourCycle: "h23",
  });
  let last = "";
  return ticks.map((ms) => {
    const today = day.format(ms);
    const changed = last !== "" && today !== last;
    last = today;
    if (step >= DAY * 1000) return today;
    return changed ? `${today} ${clock.format(ms)}` : clock.format(ms);
  });
}

export function xTicks(x: XAxis, range: Range, log: boolean, most: number): number[] {
  if (log) return logTicks(range, most);
  if (x === "time") return timeTicks(range, most, new Date(range[0]).getTimezoneOffset());
  return x === "relative" ? durationTicks(range, most) : linearTicks(range, most);
}

export function xLabels(x: XAxis, ticks: readonly number[], locale: string): string[] {
  if (x === "time") return timeLabels(ticks, locale);
  return x === "relative" ? ticks.map(durationLabel) : numberLabels(ticks);
}
