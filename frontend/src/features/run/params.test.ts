import { expect, it } from "vitest";
import { paramTree, searchParams } from "./params";

const tree = paramTree({
  "optimizer.lr": "0.1",
  "optimizer.name": "adam",
  "model/d": "8",
  seed: "1",
  "a.b.c": "x",
  layer10: "",
  layer9: "",
});

it("puts keys with a common beginning on a branch, single ones on none", () => {
  expect(tree.map((branch) => [branch.prefix, branch.params.map((param) => param.label)])).toEqual([
    ["", ["a.b.c", "layer9", "layer10", "model/d", "seed"]],
    ["optimizer.", ["lr", "name"]],
  ]);
});

it("searches keys and values, whatever the case", () => {
  expect(searchParams(tree, "ADAM").map((branch) => branch.params.map((param) => param.key))).toEqual([
    ["optimizer.name"],
  ]);
  expect(searchParams(tree, "optimizer").flatMap((branch) => branch.params)).toHaveLength(2);
  expect(searchParams(tree, "nothing")).toEqual([]);
  expect(searchParams(tree, " ")).toBe(tree);
});

it("has no branches without params", () => {
  expect(paramTree({})).toEqual([]);
});
