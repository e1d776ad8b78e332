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

it("puts a single deeper key on the branch above it", () => {
  const branches = paramTree({ "data.path": "p", "data.size": "1", "data.tok.vocab": "9" });
  expect(branches.map((branch) => [branch.prefix, branch.params.map((param) => param.label)])).toEqual([
    ["data.", ["path", "size", "tok.vocab"]],
  ]);
});
