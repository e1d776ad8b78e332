import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { post } from "../../api/client";
import type { Num, RunRow, RunsPage, RunsQuery } from "../../api/types";
import type { View } from "../../lib/viewState";
import { filterOf, orderClause, parseColumnId } from "./columns";

const FIRST_PAGE_ROWS = 50;
const PAGE_ROWS = 200;
const LIVE_MS = 5_000;
/** A refresh asks for every loaded page, so the more there are the rarer it is. */
const LIVE_PER_PAGE_MS = 2_000;

/** A row whose values are found by column id, whichever columns were asked for. */
export interface TableRow extends Omit<RunRow, "values"> {
  readonly cells: Readonly<Record<string, Num | null>>;
}

interface TablePage {
  readonly rows: TableRow[];
  readonly total: number | null;
  readonly next: string | null;
}

/** The query behind a view, without paging; also what the CSV export sends. */
export function runsQuery(experimentIds: readonly string[], view: View): RunsQuery {
  const order = view.sort && orderClause(view.sort.id, view.sort.descending);
  return {
    experiment_ids: [...experimentIds],
    filter: filterOf(view.filter),
    view: view.lifecycle,
    order_by: order ? [order] : [],
    columns: view.columns.map(parseColumnId).filter((column) => column !== null),
  };
}

async function fetchPage(query: RunsQuery, ids: readonly string[], token: string | null, signal: AbortSignal) {
  const page = await post<RunsPage>(
    "runs/query",
    { ...query, limit: token ? PAGE_ROWS : FIRST_PAGE_ROWS, page_token: token, with_total: token === null },
    signal,
  );
  const rows = page.rows.map(({ values, ...row }) => ({
    ...row,
    cells: Object.fromEntries(ids.map((id, index) => [id, values[index] ?? null])),
  }));
  return { rows, total: page.total, next: page.next_page_token ?? null } satisfies TablePage;
}

/** The rows of a view, page after page, refreshed while the page is looked at. */
export function useRuns(experimentIds: readonly string[], view: View, enabled = true) {
  const query = useMemo(() => runsQuery(experimentIds, view), [experimentIds, view]);
  const ids = view.columns.filter((id) => parseColumnId(id));
  const result = useInfiniteQuery({
    queryKey: ["runs", query],
    queryFn: ({ pageParam, signal }) => fetchPage(query, ids, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: ({ state }) => Math.max(LIVE_MS, (state.data?.pages.length ?? 1) * LIVE_PER_PAGE_MS),
  });
  // A filter that is wrong, perhaps half typed, must not empty the table.
  const last = useRef(result.data?.pages);
  if (result.data) last.current = result.data.pages;
  const pages = last.current;
  const rows = useMemo(() => uniqueRows(pages ?? []), [pages]);
  return { ...result, rows, total: pages?.[0]?.total ?? null };
}

/** A run that moved between two pages while they were loaded is shown once. */
function uniqueRows(pages: readonly TablePage[]): TableRow[] {
  const seen = new Map<string, TableRow>();
  for (const page of pages) for (const row of page.rows) if (!seen.has(row.run_id)) seen.set(row.run_id, row);
  return [...seen.values()];
}

/** How many runs there are without the filter. */
export function useUnfilteredTotal(experimentIds: readonly string[], view: View) {
  return useQuery({
    queryKey: ["runs-total", experimentIds, view.lifecycle],
    queryFn: ({ signal }) =>
      post<RunsPage>("runs/query", { experiment_ids: experimentIds, view: view.lifecycle, limit: 1 }, signal),
    enabled: filterOf(view.filter) !== "",
    select: (page) => page.total,
    staleTime: 30_000,
  }).data;
}
