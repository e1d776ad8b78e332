import { expect, it } from "vitest";
import { DEFAULT_GRID_VIEW, type GridView, readView, writeView } from "./view";

it("survives the way into the address and back", () => {
  const view: GridView = {
    x: "relative",
    xLog: true,
    y: "symlog",
    smoothing: "gaussian",
    weight: 0.42,
    ignoreOutliers: true,
    filter: "^(train|val)/",
  };
  expect(readView(writeView(new URLSearchParams(), view))).toEqual(view);
  expect(readView(writeView(new URLSearchParams(), DEFAULT_GRID_VIEW), view).weight).toBe(0);
});

it("leaves other parameters of the page alone", () => {
  const search = writeView(new URLSearchParams("runs=a,b&q=x"), DEFAULT_GRID_VIEW);
  expect(search.get("runs")).toBe("a,b");
  expect(search.get("q")).toBe("x");
});

it("takes the reader's own choice where the address says nothing or nonsense", () => {
  const mine: GridView = { ...DEFAULT_GRID_VIEW, x: "time", weight: 0.6 };
  expect(readView(new URLSearchParams("x=banana&smooth=lots"), mine)).toEqual(mine);
  expect(readView(new URLSearchParams("smooth=ema:7"), mine).weight).toBe(0.999);
});
