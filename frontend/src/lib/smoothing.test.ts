import { describe, expect, it } from "vitest";
import { halfWindow, segments, smooth, WEIGHT_MAX } from "./smoothing";

/** TensorBoard's own loop, word for word, as the yardstick. */
function tensorboard(values: number[], weight: number): number[] {
  let last = 0;
  let accumulated = 0;
  return values.map((value) => {
    last = last * weight + (1 - weight) * value;
    accumulated++;
    return last / (1 - weight ** accumulated);
  });
}

const steps = (n: number, by = 1) => Array.from({ length: n }, (_, i) => i * by);
const wave = (n: number) => steps(n).map((i) => Math.sin(i / 3) + (i % 5));

describe("time-weighted average", () => {
  it.each([0.1, 0.6, 0.9, 0.999])("equals TensorBoard's on evenly spaced points (weight %s)", (weight) => {
    const y = wave(50);
    const expected = tensorboard(y, weight);
    for (const by of [1, 10, 0.25]) {
      smooth(steps(50, by), y, "ema", weight).forEach((v, i) => {
        expect(v).toBeCloseTo(expected[i] as number, 10);
      });
    }
  });

  it("lets the past fade faster over a longer gap in x", () => {
    const near = smooth([0, 1, 2, 3, 4], [0, 0, 0, 0, 1], "ema", 0.9).at(-1) as number;
    const far = smooth([0, 1, 2, 3, 30], [0, 0, 0, 0, 1], "ema", 0.9).at(-1) as number;
    expect(far).toBeGreaterThan(near);
    expect(far).toBeGreaterThan(0.5);
  });

  it("counts points at the same x as equals", () => {
    expect(smooth([5, 5, 5], [1, 2, 3], "ema", 0.9).at(-1)).toBeGreaterThan(1.9);
  });
});

describe("every method", () => {
  const methods = ["ema", "mean", "gaussian"] as const;

  it.each(methods)("keeps a constant constant (%s)", (method) => {
    for (const v of smooth(
      steps(40),
      steps(40).map(() => 7),
      method,
      0.9,
    ))
      expect(v).toBeCloseTo(7, 12);
  });

  it.each(methods)("never mixes values across a gap, and keeps the gap (%s)", (method) => {
    const y = [1, 1, 1, null, 9, 9, 9];
    const out = smooth(steps(7), y, method, 0.9);
    expect(out[3]).toBeNull();
    out.slice(0, 3).forEach((v) => {
      expect(v).toBeCloseTo(1, 12);
    });
    out.slice(4).forEach((v) => {
      expect(v).toBeCloseTo(9, 12);
    });
  });

  it.each(methods)("changes nothing at weight 0 (%s)", (method) => {
    expect(smooth([0, 1], [3, 4], method, 0)).toEqual([3, 4]);
  });

  it.each(methods)("stays inside the range of the data (%s)", (method) => {
    const y = wave(60);
    for (const v of smooth(steps(60), y, method, WEIGHT_MAX)) {
      expect(v).toBeGreaterThanOrEqual(Math.min(...y));
      expect(v).toBeLessThanOrEqual(Math.max(...y));
    }
  });

  it("survives no points and one point", () => {
    for (const method of methods) {
      expect(smooth([], [], method, 0.9)).toEqual([]);
      expect(smooth([3], [5], method, 0.9)).toEqual([5]);
      expect(smooth([3], [null], method, 0.9)).toEqual([null]);
    }
  });

  it("clamps a weight of one or more below one", () => {
    expect(smooth([0, 1], [0, 1], "ema", 1).every(Number.isFinite)).toBe(true);
  });
});

describe("running mean", () => {
  it("is centred: a straight line stays that line", () => {
    smooth(steps(30), steps(30), "mean", 0.8).forEach((v, i) => {
      expect(v).toBeCloseTo(i, 10);
    });
  });
});

it("finds the stretches between gaps", () => {
  expect(segments([null, 1, 2, null, null, 3])).toEqual([
    [1, 3],
    [5, 6],
  ]);
  expect(segments([])).toEqual([]);
});

it("maps a weight to a window that grows with it", () => {
  expect(halfWindow(0.5)).toBe(1);
  expect(halfWindow(0.9)).toBe(9);
  expect(halfWindow(0.99)).toBe(99);
});
