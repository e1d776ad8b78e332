/**
 * Smoothing of a drawn line. It is a view: it runs in the browser, after bucketing, and never changes what is stored.
 *
 * Every method takes `x` ascending and `y` with `null` for a gap (a NaN, say). A gap ends the window: values on its two
 * sides never mix, and a gap stays a gap.
 */

export type Smoothing = "ema" | "mean" | "gaussian" | "none";

export const SMOOTHINGS: readonly Smoothing[] = ["ema", "mean", "gaussian", "none"];

/** The slider ends here: at 1 a line would never leave its first value. */
export const WEIGHT_MAX = 0.999;

export type Values = readonly (number | null)[];

/** Smooth by the named method; `weight` is 0 (no change) … 0.999 whatever the method. */
export function smooth(x: readonly number[], y: Values, method: Smoothing, weight: number): (number | null)[] {
  const w = Math.min(Math.max(weight, 0), WEIGHT_MAX);
  if (method === "none" || w === 0) return y.slice();
  const out: (number | null)[] = y.slice();
  for (const [from, to] of segments(y)) {
    if (method === "ema") timeWeightedEma(x, y, from, to, w, out);
    else if (method === "mean") runningMean(y, from, to, halfWindow(w), out);
    else gaussian(y, from, to, halfWindow(w) / 2, out);
  }
  return out;
}

/** Half the width, in points, that a weight stands for: the mean age of an exponential average of that weight. */
export function halfWindow(weight: number): number {
  return Math.max(1, Math.round(weight / (1 - weight)));
}

/** The runs of values between gaps, as half-open index ranges. */
export function segments(y: Values): [number, number][] {
  const found: [number, number][] = [];
  let from = -1;
  for (let i = 0; i <= y.length; i++) {
    const gap = i === y.length || y[i] === null;
    if (gap && from >= 0) found.push([from, i]);
    if (gap) from = -1;
    else if (from < 0) from = i;
  }
  return found;
}

/**
 * TensorBoard's exponential average with its debiasing, where the weight of the past fades with the distance in x.
 * On evenly spaced points it equals TensorBoard's to the last digit: the gap is counted in typical (median) gaps.
 */
function timeWeightedEma(x: readonly number[], y: Values, from: number, to: number, w: number, out: (number | null)[]) {
  const typical = medianGap(x, from, to);
  let sum = 0;
  let mass = 0;
  for (let i = from; i < to; i++) {
    const gap = i === from || typical === 0 ? 1 : ((x[i] as number) - (x[i - 1] as number)) / typical;
    const fade = w ** gap;
    sum = sum * fade + (y[i] as number);
    mass = mass * fade + 1;
    out[i] = sum / mass;
  }
}

function runningMean(y: Values, from: number, to: number, half: number, out: (number | null)[]) {
  const before = new Float64Array(to - from + 1);
  for (let i = from; i < to; i++) before[i - from + 1] = (before[i - from] as number) + (y[i] as number);
  for (let i = from; i < to; i++) {
    // The window shrinks evenly at the ends; a lopsided one would bend the curve there.
    const reach = Math.min(half, i - from, to - 1 - i);
    const sum = (before[i - from + reach + 1] as number) - (before[i - from - reach] as number);
    out[i] = sum / (2 * reach + 1);
  }
}

function gaussian(y: Values, from: number, to: number, sigma: number, out: (number | null)[]) {
  const reach = Math.ceil(sigma * 3);
  const kernel = Array.from({ length: reach + 1 }, (_, d) => Math.exp(-0.5 * (d / sigma) ** 2));
  for (let i = from; i < to; i++) {
    let sum = 0;
    let mass = 0;
    for (let j = Math.max(from, i - reach); j <= Math.min(to - 1, i + reach); j++) {
      const k = kernel[Math.abs(i - j)] as number;
      sum += k * (y[j] as number);
      mass += k;
    }
    out[i] = sum / mass;
  }
}

function medianGap(x: readonly number[], from: number, to: number): number {
  const gaps: number[] = [];
  for (let i = from + 1; i < to; i++) gaps.push((x[i] as number) - (x[i - 1] as number));
  gaps.sort((a, b) => a - b);
  return gaps[gaps.length >> 1] ?? 0;
}
