import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { get } from "../../api/client";
import type { ExperimentRow, ExperimentsPage as Page } from "../../api/types";
import { formatCount } from "../../lib/format";
import { useShortcuts } from "../../lib/keys";
import { currentLanguage, t } from "../../messages";
import { Button } from "../../ui/Button";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { NameDialog } from "../../ui/NameDialog";
import { PageHeader } from "../../ui/Page";
import { SearchField } from "../../ui/SearchField";
import { StatusBadge } from "../../ui/StatusBadge";
import { Time } from "../../ui/Time";
import { type TableColumn, VirtualTable } from "../../ui/VirtualTable";
import { useExperimentActions } from "./actions";

const PAGE_ROWS = 100;
const LIVE_MS = 10_000;

export default function ExperimentsPage() {
  const [search, setSearch] = useSearchParams();
  const q = search.get("q") ?? "";
  const trash = search.get("view") === "deleted";
  const input = useRef<HTMLInputElement>(null);
  useShortcuts([{ keys: "/", label: t("experiments.search"), run: () => input.current?.focus() }]);
  const set = (name: string, value: string) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        if (value) after.set(name, value);
        else after.delete(name);
        return after;
      },
      { replace: true },
    );
  const list = useExperiments(q, trash);
  return (
    <div className="page-full">
      <PageHeader title={t("nav.experiments")} documentTitle={t("nav.experiments")} actions={<NewExperiment />} />
      <div className="toolbar">
        <SearchField label={t("experiments.search")} value={q} onChange={(text) => set("q", text)} input={input} />
        <div className="toolbar-end">
          <select
            className="field"
            aria-label={t("experiments.which")}
            value={trash ? "deleted" : "active"}
            onChange={(event) => set("view", event.target.value === "deleted" ? "deleted" : "")}
          >
            <option value="active">{t("runs.active")}</option>
            <option value="deleted">{t("runs.trash")}</option>
          </select>
        </div>
      </div>
      {list.isPending && <Loading />}
      {list.isError && list.rows.length === 0 ? (
        <ErrorState error={list.error} retry={() => void list.refetch()} />
      ) : (
        <ExperimentsTable list={list} empty={list.isSuccess && <NoExperiments q={q} trash={trash} />} />
      )}
    </div>
  );
}

function useExperiments(q: string, trash: boolean) {
  const result = useInfiniteQuery({
    queryKey: ["experiments", q, trash],
    queryFn: ({ pageParam, signal }) =>
      get<Page>(
        "experiments",
        { q: q || null, view: trash ? "deleted" : "active", limit: PAGE_ROWS, page_token: pageParam },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_token,
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });
  const pages = result.data?.pages;
  const rows = useMemo(() => pages?.flatMap((page) => page.experiments) ?? [], [pages]);
  return { ...result, rows };
}

interface ExperimentsTableProps {
  readonly list: ReturnType<typeof useExperiments>;
  readonly empty: React.ReactNode;
}

function ExperimentsTable({ list, empty }: ExperimentsTableProps) {
  const columns = useMemo(() => experimentColumns(), []);
  const loadMore = () => {
    if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
  };
  return (
    <VirtualTable
      label={t("nav.experiments")}
      columns={columns}
      rows={list.rows}
      rowKey={(row) => row.experiment_id}
      onEndReached={loadMore}
      empty={empty}
    />
  );
}

function experimentColumns(): TableColumn<ExperimentRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      width_px: 420,
      pinned: true,
      cell: (row) => <NameCell row={row} />,
    },
    {
      id: "runs",
      label: t("experiments.runs"),
      width_px: 90,
      align: "end",
      cell: (row) => formatCount(row.runs, currentLanguage()),
    },
    {
      id: "active",
      label: t("experiments.running"),
      width_px: 120,
      align: "start",
      cell: (row) => row.active_runs > 0 && <ActiveRuns count={row.active_runs} />,
    },
    { id: "last", label: t("experiments.lastRun"), width_px: 140, cell: (row) => <Time ms={row.last_run_ms} /> },
    { id: "created", label: t("experiments.created"), width_px: 140, cell: (row) => <Time ms={row.created_ms} /> },
    {
      id: "id",
      label: t("experiments.idName"),
      width_px: 170,
      cell: (row) => <span className="mono muted">{row.experiment_id}</span>,
    },
  ];
}

function NameCell({ row }: { readonly row: ExperimentRow }) {
  const actions = useExperimentActions();
  return (
    <span className="name-cell">
      <Link href={`/experiments/${row.experiment_id}`} className="plain strong ellipsis" title={row.name}>
        {row.name}
      </Link>
      {row.lifecycle === "deleted" && (
        <Button kind="quiet" className="small" onClick={() => void actions.restore(row.experiment_id)}>
          {t("common.restore")}
        </Button>
      )}
    </span>
  );
}

function ActiveRuns({ count }: { readonly count: number }) {
  return (
    <span className="name-cell">
      <StatusBadge status="RUNNING" compact /> {formatCount(count, currentLanguage())}
    </span>
  );
}

function NewExperiment() {
  const [open, setOpen] = useState(false);
  const [, navigate] = useLocation();
  const { create } = useExperimentActions();
  const [created, setCreated] = useState<string | null>(null);
  useEffect(() => {
    if (created) navigate(`/experiments/${created}`);
  }, [created, navigate]);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t("experiments.new")}</Button>
      {open && (
        <NameDialog
          title={t("experiments.new")}
          label={t("common.name")}
          name=""
          onName={(name) => void create(name).then(setCreated)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function NoExperiments({ q, trash }: { readonly q: string; readonly trash: boolean }) {
  if (q) return <EmptyState title={t("experiments.noneMatch", { q })} />;
  if (trash) return <EmptyState title={t("runs.noneTrash")} />;
  return (
    <EmptyState title={t("experiments.none")} code="contrail run -f train.yaml --watch">
      {t("experiments.noneHint")}
    </EmptyState>
  );
}
