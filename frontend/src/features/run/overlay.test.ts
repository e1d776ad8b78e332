import { expect, it } from "vitest";
import { nameFilter, OVERLAID_MAX, readWith, withRuns } from "./overlay";

it("reads runs from the address: each once, never the page's own, not more than can be told apart", () => {
  expect(readWith("a,b,a,own,,<x>", "own")).toEqual(["a", "b"]);
  expect(readWith(Array.from({ length: 50 }, (_, i) => `r${i}`).join(","), "own")).toHaveLength(OVERLAID_MAX);
  expect(readWith("", "own")).toEqual([]);
});

it("writes them without touching the rest of the address", () => {
  expect(withRuns(new URLSearchParams("x=time"), ["a", "b"]).toString()).toBe("x=time&with=a%2Cb");
  expect(withRuns(new URLSearchParams("x=time&with=a"), []).toString()).toBe("x=time");
});

it("looks for a part of a name as it is written", () => {
  expect(nameFilter(" it's 50% ")).toBe("attributes.run_name ILIKE '%it''s 50\\%%'");
  expect(nameFilter(" ")).toBe("");
});
