import { expect, it } from "vitest";
import {
  durationLabel,
  durationTicks,
  linearTicks,
  logTicks,
  numberLabels,
  symlogThreshold,
  symlogTicks,
  timeLabels,
  timeTicks,
} from "./ticks";

it("puts linear ticks on round numbers", () => {
  expect(linearTicks([0, 1], 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(linearTicks([3, 97], 4)).toEqual([50]);
  expect(linearTicks([5, 5], 4)).toEqual([5]);
});

it("puts log ticks on decades, with 2 and 5 where there is room", () => {
  expect(logTicks([0.001, 1000], 7)).toEqual([0.001, 0.01, 0.1, 1, 10, 100, 1000].map((v) => expect.closeTo(v, 9)));
  expect(logTicks([1, 100], 8)).toEqual([1, 2, 5, 10, 20, 50, 100]);
});

it("still marks a log axis that spans less than a decade", () => {
  expect(logTicks([0.31, 0.36], 5).length).toBeGreaterThanOrEqual(3);
  expect(logTicks([0.31, 0.36], 5).every((v) => v >= 0.31 && v <= 0.36)).toBe(true);
});

it("marks both sides of zero on a symlog axis", () => {
  expect(symlogTicks([-1000, 1000], 9)).toEqual([-1000, -100, -10, -1, 0, 1, 10, 100, 1000]);
  expect(symlogTicks([0, 0.001], 4)).toEqual([0, 0.000001, 0.001].map((v) => expect.closeTo(v, 12)));
  expect(symlogThreshold([0, 0])).toBe(1);
});

it("puts durations on minutes and hours", () => {
  expect(durationTicks([0, 3600], 4)).toEqual([0, 900, 1800, 2700, 3600]);
});

it("puts moments on round local times", () => {
  const start = Date.UTC(2026, 0, 5, 9, 50);
  expect(timeTicks([start, start + 30 * 60_000], 4, 0)).toEqual([0, 10, 20, 30].map((m) => start + m * 60_000));
  // Seoul is nine hours ahead, so its midnight is 15:00 UTC.
  const ticks = timeTicks([start, start + 86_400_000], 2, -540);
  expect(ticks[0]).toBe(Date.UTC(2026, 0, 5, 15, 0));
});

it("never runs away on an absurd range", () => {
  expect(linearTicks([0, Number.MAX_VALUE], 5).length).toBeLessThan(101);
  expect(linearTicks([-1e-300, 1e-300], 5).length).toBeLessThan(101);
});

it("shortens numbers without lying", () => {
  expect(numberLabels([0, 1, 0.25, 1234, 12_000, 2_500_000, 1e-5, -3e20])).toEqual([
    "0",
    "1",
    "0.25",
    "1234",
    "12k",
    "2.5M",
    "1e-5",
    "-3e20",
  ]);
});

it("writes numbers out where a unit would need more digits", () => {
  expect(numberLabels([83_048, 83_050])).toEqual(["83048", "83050"]);
});

it("says durations in their two largest units", () => {
  expect([0.5, 59, 75, 3600, 5400, 90_000].map(durationLabel)).toEqual([
    "0.5s",
    "59s",
    "1m 15s",
    "1h",
    "1h 30m",
    "1d 1h",
  ]);
});

it("names the day where it changes", () => {
  const midnight = new Date(2026, 0, 6).getTime();
  const labels = timeLabels([midnight - 3_600_000, midnight], "en");
  expect(labels[0]).toBe("23:00");
  expect(labels[1]).toContain("1/6");
});
