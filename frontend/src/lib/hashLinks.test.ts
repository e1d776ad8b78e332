import { expect, it } from "vitest";
import { pageOfHash } from "./hashLinks";

it.each([
  ["#/experiments/12", "/experiments/12"],
  ["#/experiments/12/runs/abc", "/runs/abc"],
  ["#/experiments/12/runs/abc/artifacts", "/runs/abc"],
  ["#/experiments/12?o=1", "/experiments/12"],
  ["#/", "/experiments"],
  ["#L20", null],
  ["", null],
])("%s opens %s", (hash, page) => {
  expect(pageOfHash(hash)).toBe(page);
});
