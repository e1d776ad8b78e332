import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatNumber, formatRelative } from "./format";

describe("formatNumber", () => {
  it.each([
    [0, "0"],
    [1, "1"],
    [123456789, "123456789"],
    [0.1 + 0.2, "0.3"],
    [0.123456789, "0.123457"],
    [-1.5, "−1.5"],
    [0.000012345678, "1.23457e-5"],
    [1e12, "1e12"],
    ["NaN", "NaN"],
    ["Infinity", "∞"],
    ["-Infinity", "−∞"],
    [null, ""],
  ])("%s is shown as %s", (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [12_400, "12.4 s"],
    [59_960, "1m 00s"],
    [185_000, "3m 05s"],
    [7_620_000, "2h 07m"],
    [356_400_000, "4d 03h"],
  ])("%d ms is %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe("formatBytes", () => {
  it("uses binary units with three digits", () => {
    expect([0, 1023, 1240, 36_175_872].map(formatBytes)).toEqual(["0 B", "1023 B", "1.21 KiB", "34.5 MiB"]);
  });
});

describe("formatRelative", () => {
  it("speaks the reader's language and gives the date after a week", () => {
    const now = Date.UTC(2026, 0, 20);
    expect(formatRelative(now - 180_000, now)).toBe("3 min. ago");
    expect(formatRelative(now - 180_000, now, "ko")).toBe("3분 전");
    expect(formatRelative(now - 59_900, now)).toBe("59 sec. ago");
    expect(formatRelative(now - 3_599_000, now)).toBe("59 min. ago");
    expect(formatRelative(now - 10 * 86_400_000, now)).toBe("Jan 10, 2026");
  });
});
