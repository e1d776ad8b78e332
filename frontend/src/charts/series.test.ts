import { describe, expect, it } from "vitest";
import {
  axisRange,
  type ChartView,
  countNonFinite,
  DEFAULT_VIEW,
  nearestIndex,
  prepare,
  type SeriesData,
  xExtent,
  yExtent,
} from "./series";

const view = (change: Partial<ChartView> = {}): ChartView => ({ ...DEFAULT_VIEW, ...change });

function series(change: Partial<SeriesData> = {}): SeriesData {
  return {
    run_id: "r",
    key: "loss",
    exact: true,
    points: 3,
    x: [0, 1, 2],
    y: [3, 2, 1],
    y_min: [],
    y_max: [],
    nonfinite: [],
    ...change,
  };
}

describe("gaps and markers", () => {
  it("cuts an exact line where a value was not finite and marks the place", () => {
    const line = prepare(series({ x: [0, 2], y: [3, 1], nonfinite: [[1, "NaN", 1]] }), view());
    expect(line.x).toEqual([0, 1, 2]);
    expect(line.y).toEqual([3, null, 1]);
    expect(line.marks).toEqual([{ x: 1, kind: "NaN", count: 1, y: 3 }]);
  });

  it("stands a NaN before the first finite value at that value", () => {
    const line = prepare(series({ x: [5], y: [2], nonfinite: [[0, "NaN", 4]] }), view());
    expect(line.marks[0]).toMatchObject({ x: 0, y: 2 });
  });

  it("gives infinities no y: they stand on the edges", () => {
    const line = prepare(
      series({
        nonfinite: [
          [1, "Infinity", 1],
          [1, "-Infinity", 1],
        ],
      }),
      view(),
    );
    expect(line.marks.map((m) => m.y)).toEqual([null, null]);
  });

  it("draws a series of nothing but NaN as markers alone", () => {
    const line = prepare(series({ x: [], y: [], nonfinite: [[0, "NaN", 9]] }), view());
    expect(line.y).toEqual([null]);
    expect(line.marks[0]?.y).toBeNull();
  });

  it("does not cut a bucketed line whose bucket also holds finite values", () => {
    const x = Array.from({ length: 100 }, (_, i) => i * 10);
    const y = x.map(() => 1);
    const line = prepare(series({ exact: false, x, y, y_min: y, y_max: y, nonfinite: [[55, "NaN", 3]] }), view());
    expect(line.y).not.toContain(null);
    expect(line.marks).toHaveLength(1);
  });

  it("cuts a bucketed line across buckets without finite values", () => {
    const x = Array.from({ length: 100 }, (_, i) => (i < 50 ? i : i + 50));
    const y = x.map(() => 1);
    const line = prepare(series({ exact: false, x, y, y_min: y, y_max: y, nonfinite: [[70, "NaN", 30]] }), view());
    expect(line.y.filter((v) => v === null)).toHaveLength(1);
  });

  it("sums up what a badge says", () => {
    const line = prepare(
      series({
        nonfinite: [
          [7, "NaN", 2],
          [4, "NaN", 1],
          [9, "Infinity", 1],
        ],
      }),
      view(),
    );
    expect(countNonFinite([line])).toEqual([
      { kind: "NaN", count: 3, firstX: 4 },
      { kind: "Infinity", count: 1, firstX: 9 },
    ]);
  });
});

describe("log axes", () => {
  it("hides values at or below zero and counts them", () => {
    const line = prepare(series({ y: [0, -1, 5] }), view({ y: "log" }));
    expect(line.y).toEqual([null, null, 5]);
    expect(line.hidden).toBe(2);
  });

  it("hides step 0 on a log x axis", () => {
    const line = prepare(series(), view({ xLog: true }));
    expect(line.y).toEqual([null, 2, 1]);
    expect(line.hidden).toBe(1);
    expect(xExtent([line], true)).toEqual([1, 2]);
  });

  it("keeps the shade above zero", () => {
    const line = prepare(series({ exact: false, y_min: [-1, 1, 1], y_max: [4, 4, 4] }), view({ y: "log" }));
    expect(line.low).toEqual([3, 1, 1]);
  });

  it("never lets a log range touch zero", () => {
    const [low, high] = axisRange([1e-9, 1], "log", 0.05);
    expect(low).toBeGreaterThan(0);
    expect(high).toBeGreaterThan(1);
  });
});

describe("smoothing", () => {
  it("keeps the raw line beside the smoothed one", () => {
    const line = prepare(series({ y: [0, 10, 0] }), view({ weight: 0.9 }));
    expect(line.raw).toEqual([0, 10, 0]);
    expect(line.y[1]).toBeLessThan(10);
    expect(line.smoothed).toBe(true);
  });

  it("is off at weight 0", () => {
    const line = prepare(series(), view());
    expect(line.smoothed).toBe(false);
    expect(line.y).toEqual(line.raw);
  });
});

describe("ranges", () => {
  it("looks at visible points only", () => {
    const line = prepare(series({ y: [100, 2, 1] }), view());
    expect(yExtent([line], [1, 2], false)).toEqual([1, 2]);
    expect(yExtent([line], [5, 6], false)).toBeNull();
  });

  it("clips outliers when asked", () => {
    const x = Array.from({ length: 200 }, (_, i) => i);
    const y = x.map((i) => (i === 0 ? 1e9 : 1 + (i % 2)));
    const line = prepare(series({ x, y, points: 200 }), view());
    expect((yExtent([line], [0, 199], true) as readonly number[])[1]).toBe(2);
  });

  it("opens a range around a constant and shows no room below zero for what is never negative", () => {
    expect(axisRange([5, 5], "linear", 0.05)).toEqual([4.5, 5.5]);
    expect(axisRange([0, 0], "linear", 0.05)).toEqual([-1, 1]);
    expect(axisRange([0.01, 1], "linear", 0.05)[0]).toBe(0);
  });

  it("has no extent without points", () => {
    expect(xExtent([], false)).toBeNull();
  });
});

it("finds the nearest drawn value and skips gaps", () => {
  const line = prepare(series({ x: [0, 10], y: [1, 2], nonfinite: [[6, "NaN", 1]] }), view());
  expect(line.x[nearestIndex(line, 4)]).toBe(0);
  expect(line.x[nearestIndex(line, 6)]).toBe(10);
  expect(nearestIndex(prepare(series({ x: [], y: [] }), view()), 1)).toBe(-1);
});
