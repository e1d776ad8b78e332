import { describe, expect, it } from "vitest";
import {
  filterQuery,
  hitsIn,
  isFiltering,
  type LogFilter,
  matcherOf,
  NO_FILTER,
  readFilter,
  readLineAddress,
  writeFilter,
} from "./filter";

const full: LogFilter = {
  q: "loss=",
  regex: true,
  matchCase: true,
  node: 3,
  levels: ["warning", "error"],
  fromMs: 1000,
  toMs: 2000,
};

describe("filter", () => {
  it("survives the way into the address and back, and keeps what is not its own", () => {
    const search = writeFilter(new URLSearchParams("attempt=2"), full);
    expect(readFilter(search)).toEqual(full);
    expect(search.get("attempt")).toBe("2");
    expect(readFilter(writeFilter(search, NO_FILTER))).toEqual(NO_FILTER);
  });

  it("ignores nonsense in the address", () => {
    expect(readFilter(new URLSearchParams("node=x&levels=loud&from=-1"))).toEqual(NO_FILTER);
  });

  it("sends only what filters", () => {
    expect(Object.values(filterQuery(NO_FILTER)).every((v) => v === null)).toBe(true);
    expect(filterQuery({ ...NO_FILTER, regex: true }).regex).toBeNull();
    expect(isFiltering({ ...NO_FILTER, node: 0 })).toBe(true);
    expect(isFiltering(NO_FILTER)).toBe(false);
  });
});

describe("hits", () => {
  it("takes text literally unless told otherwise", () => {
    expect(hitsIn("a.b axb", matcherOf({ ...NO_FILTER, q: "a.b" }))).toEqual([[0, 3]]);
    expect(hitsIn("a.b axb", matcherOf({ ...NO_FILTER, q: "a.b", regex: true }))).toEqual([
      [0, 3],
      [4, 7],
    ]);
  });

  it("respects case only when asked", () => {
    expect(hitsIn("Loss loss", matcherOf({ ...NO_FILTER, q: "loss" }))).toHaveLength(2);
    expect(hitsIn("Loss loss", matcherOf({ ...NO_FILTER, q: "loss", matchCase: true }))).toHaveLength(1);
  });

  it("marks nothing for a broken pattern or an empty match", () => {
    expect(matcherOf({ ...NO_FILTER, q: "(", regex: true })).toBeNull();
    expect(hitsIn("aaa", matcherOf({ ...NO_FILTER, q: "b*", regex: true }))).toEqual([]);
  });
});

it("reads a line's address with and without a node", () => {
  expect(readLineAddress(new URLSearchParams("line=2:48213"))).toBe("2:48213");
  expect(readLineAddress(new URLSearchParams("line=48213"))).toBe("0:48213");
  expect(readLineAddress(new URLSearchParams("line=abc"))).toBeNull();
});
