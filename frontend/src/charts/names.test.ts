import { expect, it } from "vitest";
import { distinctNames } from "./names";

const names = (runs: Parameters<typeof distinctNames>[0]) => distinctNames(runs).map((run) => run.name);

it("leaves names alone that differ", () => {
  const runs = [
    { id: "1", name: "a" },
    { id: "2", name: "b" },
  ];
  expect(distinctNames(runs)).toBe(runs);
});

it("tells runs of one name apart by what differs, else by their ID", () => {
  expect(
    names([
      { id: "aaaaaaaa", name: "a", detail: "Attempt 1" },
      { id: "bbbbbbbb", name: "a", detail: "Attempt 2" },
      { id: "cccccccc", name: "b" },
    ]),
  ).toEqual(["a · Attempt 1", "a · Attempt 2", "b"]);
  expect(
    names([
      { id: "aaaaaaaa", name: "a", detail: "Attempt 1" },
      { id: "bbbbbbbb", name: "a", detail: "Attempt 1" },
    ]),
  ).toEqual(["a · aaaaaa", "a · bbbbbb"]);
});
