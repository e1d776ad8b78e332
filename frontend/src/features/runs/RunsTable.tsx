import { useCallback, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { exactNumber, formatNumber } from "../../lib/format";
import { useShortcuts } from "../../lib/keys";
import type { View } from "../../lib/viewState";
import { t } from "../../messages";
import { type TableColumn, VirtualTable } from "../../ui/VirtualTable";
import { isAttribute, orderClause, parseColumnId } from "./columns";
import { columnLabel } from "./labels";
import { AttributeCell, RunName, ValueCell } from "./RunCells";
import { type TreeRow, treeRows } from "./tree";
import { type Folding, useFolding } from "./useFolding";
import type { TableRow } from "./useRuns";
import type { Selection } from "./useSelection";

interface RunsTableProps {
  readonly rows: readonly TableRow[];
  readonly total: number | null;
  readonly view: View;
  readonly change: (edit: Partial<View>) => void;
  readonly selection: Selection;
  readonly onEndReached: () => void;
  readonly empty: React.ReactNode;
}

const WIDTHS: Readonly<Record<string, number>> = {
  name: 260,
  status: 116,
  started: 112,
  ended: 112,
  duration: 92,
  user: 110,
  job: 120,
  run_id: 270,
};
const METRIC_PX = 104;
const TEXT_PX = 128;
const MARK_PX = 42;

export function RunsTable({ rows: loaded, total, view, change, selection, onEndReached, empty }: RunsTableProps) {
  const folding = useFolding();
  const rows = useMemo(
    () => treeRows(loaded, folding.ids, view.sort === null || view.sort.id === "name" || isAttribute(view.sort.id)),
    [loaded, folding.ids, view.sort],
  );
  const columns = useColumns(view, rows, selection, folding);
  const sort = useCallback((id: string) => change({ sort: nextSort(view.sort, id) }), [change, view.sort]);
  const resize = useCallback(
    (id: string, width_px: number) => change({ widths: { ...view.widths, [id]: width_px } }),
    [change, view.widths],
  );
  const cursor = useCursor(rows, selection);
  return (
    <VirtualTable
      label={t("runs.table")}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.run_id}
      total={total}
      sort={view.sort}
      onSort={sort}
      onResize={resize}
      selected={selection.ids}
      cursor={cursor}
      onEndReached={onEndReached}
      scrollKey={JSON.stringify([view.sort, view.filter, view.lifecycle])}
      empty={empty}
    />
  );
}

/** Descending first, since the newest and the best are looked for; then ascending, then the server's own order. */
function nextSort(sort: View["sort"], id: string): View["sort"] {
  if (sort?.id !== id) return { id, descending: true };
  return sort.descending ? { id, descending: false } : null;
}

function useColumns(
  view: View,
  rows: readonly TreeRow[],
  selection: Selection,
  folding: Folding,
): TableColumn<TreeRow>[] {
  const families = rows.some((row) => row.children > 0);
  const order = useMemo(() => rows.map((row) => row.run_id), [rows]);
  return useMemo(() => {
    const width = (id: string, fallback: number) => view.widths[id] ?? WIDTHS[id] ?? fallback;
    const ids = [...view.columns].sort((a, b) => Number(view.pinned.includes(b)) - Number(view.pinned.includes(a)));
    return [
      markColumn(order, selection),
      {
        id: "name",
        label: columnLabel("name"),
        width_px: width("name", TEXT_PX),
        pinned: true,
        sortable: true,
        resizable: true,
        text: (row) => `${"    ".repeat(row.depth + (families ? 1 : 0))}${row.name}     `,
        cell: (row) => <RunName row={row} families={families} folding={folding} />,
      },
      ...ids.map((id) => valueColumn(id, width, view.pinned.includes(id))),
    ];
  }, [view.columns, view.pinned, view.widths, order, selection, families, folding]);
}

function markColumn(order: readonly string[], selection: Selection): TableColumn<TreeRow> {
  const all = order.length > 0 && order.every((id) => selection.ids.has(id));
  return {
    id: "mark",
    label: t("runs.selectAll"),
    width_px: MARK_PX,
    pinned: true,
    header: (
      <input
        type="checkbox"
        aria-label={t("runs.selectAll")}
        checked={all}
        onChange={() => (all ? selection.clear() : selection.set(order))}
      />
    ),
    cell: (row) => (
      <input
        type="checkbox"
        aria-label={t("runs.select", { name: row.name || row.run_id })}
        checked={selection.ids.has(row.run_id)}
        onChange={(event) =>
          (event.nativeEvent as MouseEvent).shiftKey
            ? selection.extend(row.run_id, order)
            : selection.toggle(row.run_id)
        }
      />
    ),
  };
}

function valueColumn(
  id: string,
  width: (id: string, fallback: number) => number,
  pinned: boolean,
): TableColumn<TreeRow> {
  const metric = parseColumnId(id)?.kind === "metric";
  return {
    id,
    label: columnLabel(id),
    width_px: width(id, metric ? METRIC_PX : TEXT_PX),
    align: metric || id === "duration" ? "end" : "start",
    pinned,
    sortable: orderClause(id, true) !== null,
    resizable: true,
    text: (row) => {
      const value = row.cells[id];
      return metric ? formatNumber(value) : exactNumber(value);
    },
    cell: (row) =>
      isAttribute(id) ? (
        <AttributeCell row={row} attribute={id} />
      ) : (
        <ValueCell value={row.cells[id] ?? null} id={id} />
      ),
  };
}

/** The row that single keys act on. It follows its run when a refresh moves it. */
function useCursor(rows: readonly TableRow[], selection: Selection): number | null {
  const [, navigate] = useLocation();
  const [runId, setRunId] = useState<string | null>(null);
  const found = runId === null ? -1 : rows.findIndex((row) => row.run_id === runId);
  const cursor = found < 0 ? null : found;
  const move = (step: number) => {
    const next = cursor === null ? 0 : Math.max(0, Math.min(rows.length - 1, cursor + step));
    setRunId(rows[next]?.run_id ?? null);
  };
  const onRow = (act: (row: TableRow) => void) => () => {
    const row = cursor === null ? undefined : rows[cursor];
    if (row) act(row);
  };
  useShortcuts([
    { keys: "j", label: t("runs.key.next"), run: () => move(1) },
    { keys: "k", label: t("runs.key.previous"), run: () => move(-1) },
    { keys: "o", label: t("runs.key.open"), run: onRow((row) => navigate(`/runs/${row.run_id}`)) },
    { keys: "x", label: t("runs.key.select"), run: onRow((row) => selection.toggle(row.run_id)) },
    {
      keys: "shift+x",
      label: t("runs.key.range"),
      run: onRow((row) =>
        selection.extend(
          row.run_id,
          rows.map((each) => each.run_id),
        ),
      ),
    },
  ]);
  return cursor;
}
