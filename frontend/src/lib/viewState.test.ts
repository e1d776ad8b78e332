import { describe, expect, it } from "vitest";
import { DEFAULT_VIEW, decodeView, encodeView, readView, sameView, type View } from "./viewState";

const VIEW: View = {
  ...DEFAULT_VIEW,
  columns: ["metric:last:손실", "param:lr", "metric:min:a:b"],
  widths: { "param:lr": 120 },
  pinned: ["param:lr"],
  sort: { id: "metric:last:손실", descending: true },
  lifecycle: "deleted",
};

describe("a view in the address", () => {
  it("comes back as it went, in any script", () => {
    expect(decodeView(encodeView(VIEW))).toEqual(VIEW);
  });

  it("needs no escaping", () => {
    expect(encodeView(VIEW)).toMatch(/^[\w-]+$/);
  });

  it("is nothing when nothing was changed, and short when little was", () => {
    expect(encodeView(DEFAULT_VIEW)).toBe("");
    expect(encodeView({ ...DEFAULT_VIEW, sort: { id: "name", descending: true } }).length).toBeLessThan(80);
  });

  it("leaves the filter to its own place", () => {
    expect(decodeView(encodeView({ ...VIEW, filter: "metrics.a > 1" }))?.filter).toBe("");
  });

  it("keeps keys that this build does not know", () => {
    const later = { ...VIEW, smoothing: 0.6, charts: [{ key: "loss" }] };
    expect(decodeView(encodeView(later))).toEqual(later);
  });

  it.each(["", "%%%", "bm90IGpzb24", btoa("[]"), btoa("{}"), btoa('{"version":"x"}')])("%j is no view", (text) => {
    expect(decodeView(text)).toBeNull();
  });
});

describe("readView", () => {
  it("replaces what is malformed, key by key", () => {
    const view = readView({ version: 1, columns: [1], widths: { a: "x", b: -1, c: 90 }, sort: { id: 3 }, filter: 7 });
    expect(view).toEqual({ ...DEFAULT_VIEW, widths: { c: 90 } });
  });
});

it("two views are the same whatever the order of their keys", () => {
  expect(sameView(VIEW, Object.fromEntries(Object.entries(VIEW).reverse()) as View)).toBe(true);
  expect(sameView(VIEW, { ...VIEW, filter: "x" })).toBe(false);
});
