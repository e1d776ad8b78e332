import { expect, it } from "vitest";
import { treeRows } from "./tree";
import type { TableRow } from "./useRuns";

function row(run_id: string, parent_run_id: string | null = null): TableRow {
  return { run_id, parent_run_id, name: run_id, cells: {} } as unknown as TableRow;
}

const NONE: ReadonlySet<string> = new Set();
const shape = (rows: ReturnType<typeof treeRows>) => rows.map((each) => `${"-".repeat(each.depth)}${each.run_id}`);

it("puts children under their parent, where the family's first member stands", () => {
  const rows = [row("new"), row("c2", "p"), row("other"), row("p"), row("c1", "p")];
  const tree = treeRows(rows, NONE);
  expect(shape(tree)).toEqual(["new", "p", "-c2", "-c1", "other"]);
  expect(tree[1]?.children).toBe(2);
});

it("goes as deep as runs do", () => {
  expect(shape(treeRows([row("a"), row("c", "b"), row("b", "a")], NONE))).toEqual(["a", "-b", "--c"]);
});

it("leaves a child whose parent is not loaded where it is", () => {
  expect(shape(treeRows([row("c", "gone"), row("x")], NONE))).toEqual(["c", "x"]);
});

it("hides everything below a folded run", () => {
  const rows = [row("a"), row("b", "a"), row("c", "b"), row("x")];
  expect(shape(treeRows(rows, new Set(["a"])))).toEqual(["a", "x"]);
  expect(shape(treeRows(rows, new Set(["b"])))).toEqual(["a", "-b", "x"]);
});

it("keeps every run when parents form a ring", () => {
  const rows = [row("a", "b"), row("b", "a"), row("c", "c")];
  expect(treeRows(rows, NONE).map((each) => each.run_id)).toHaveLength(3);
});

it("leaves a ranking alone", () => {
  const rows = [row("c", "p"), row("x"), row("p")];
  expect(shape(treeRows(rows, NONE, false))).toEqual(["c", "x", "p"]);
});
