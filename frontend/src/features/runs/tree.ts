import type { TableRow } from "./useRuns";

/** Child runs under their parents. Pure. */

/** A row with its place in its family. */
export interface TreeRow extends TableRow {
  /** 0 for a run without a parent, or whose parent is not loaded. */
  readonly depth: number;
  /** Loaded runs that name this one as their parent. */
  readonly children: number;
}

/**
 * The same rows, every child below its parent as far as both are loaded. A family stands where its first member
 * stands, so that a parent on a later page joins its children and nothing above moves. Without `grouped` the order
 * stays: a ranking by a metric is not torn apart.
 */
export function treeRows(rows: readonly TableRow[], folded: ReadonlySet<string>, grouped = true): TreeRow[] {
  if (!grouped) return rows.map((row) => ({ ...row, depth: 0, children: 0 }));
  const byId = new Map(rows.map((row) => [row.run_id, row]));
  const children = new Map<string, TableRow[]>();
  for (const row of rows) {
    const parent = parentOf(row, byId);
    if (!parent) continue;
    const siblings = children.get(parent.run_id);
    if (siblings) siblings.push(row);
    else children.set(parent.run_id, [row]);
  }
  const out: TreeRow[] = [];
  const done = new Set<string>();
  const emit = (row: TableRow, depth: number, shown: boolean) => {
    if (done.has(row.run_id)) return;
    done.add(row.run_id);
    const below = children.get(row.run_id) ?? [];
    if (shown) out.push({ ...row, depth, children: below.length });
    for (const child of below) emit(child, depth + 1, shown && !folded.has(row.run_id));
  };
  for (const row of rows) emit(rootOf(row, byId), 0, true);
  return out;
}

function parentOf(row: TableRow, byId: ReadonlyMap<string, TableRow>): TableRow | undefined {
  return row.parent_run_id === null || row.parent_run_id === row.run_id ? undefined : byId.get(row.parent_run_id);
}

/** The topmost loaded ancestor. Parents are tags that anyone may write, so they may form a ring. */
function rootOf(row: TableRow, byId: ReadonlyMap<string, TableRow>): TableRow {
  const seen = new Set([row.run_id]);
  let root = row;
  for (let next = parentOf(root, byId); next && !seen.has(next.run_id); next = parentOf(root, byId)) {
    seen.add(next.run_id);
    root = next;
  }
  return root;
}
