import { useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import type { JobRunSummary } from "../../api/types";
import { t } from "../../messages";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { PageHeader } from "../../ui/Page";
import { SearchField } from "../../ui/SearchField";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, Time } from "../../ui/Time";
import { type TableColumn, VirtualTable } from "../../ui/VirtualTable";
import "./jobs.css";
import { accelerators, jobName } from "./labels";
import { useJobs } from "./queries";

export default function JobsPage() {
  const [search, setSearch] = useSearchParams();
  const state = search.get("state") === "active" ? "active" : "all";
  const user = search.get("user") ?? "";
  const experiment = search.get("experiment") ?? "";
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
  const jobs = useJobs({ state, user: user || undefined, experiment: experiment || undefined });
  const columns = useMemo(() => jobColumns(), []);
  const loadMore = () => {
    if (jobs.hasNextPage && !jobs.isFetching) void jobs.fetchNextPage();
  };
  const filtered = state === "active" || user !== "" || experiment !== "";
  return (
    <div className="page-full">
      <PageHeader title={t("nav.jobs")} documentTitle={t("nav.jobs")} />
      <div className="toolbar">
        <select
          className="field"
          aria-label={t("jobs.which")}
          value={state}
          onChange={(event) => set("state", event.target.value === "active" ? "active" : "")}
        >
          <option value="all">{t("jobs.all")}</option>
          <option value="active">{t("jobs.active")}</option>
        </select>
        <SearchField label={t("jobs.experiment")} value={experiment} onChange={(text) => set("experiment", text)} />
        <SearchField label={t("jobs.user")} value={user} onChange={(text) => set("user", text)} />
      </div>
      {jobs.isPending && <Loading />}
      {jobs.isError && jobs.rows.length === 0 ? (
        <ErrorState error={jobs.error} retry={() => void jobs.refetch()} />
      ) : (
        <VirtualTable
          label={t("nav.jobs")}
          columns={columns}
          rows={jobs.rows}
          rowKey={(row) => String(row.job_run_id)}
          onEndReached={loadMore}
          empty={jobs.isSuccess && <NoJobs filtered={filtered} />}
        />
      )}
    </div>
  );
}

function NoJobs({ filtered }: { readonly filtered: boolean }) {
  if (filtered) return <EmptyState title={t("jobs.noneMatch")} />;
  return (
    <EmptyState title={t("jobs.none")} code="contrail run -f train.yaml --watch">
      {t("jobs.noneHint")}
    </EmptyState>
  );
}

function jobColumns(): TableColumn<JobRunSummary>[] {
  return [
    {
      id: "id",
      label: t("jobs.idShort"),
      width_px: 60,
      pinned: true,
      cell: (row) => <span className="muted">{row.job_run_id}</span>,
    },
    {
      id: "name",
      label: t("jobs.job"),
      width_px: 236,
      pinned: true,
      cell: (row) => (
        <Link href={`/jobs/${row.job_run_id}`} className="plain strong" title={jobName(row)}>
          {jobName(row)}
        </Link>
      ),
    },
    {
      id: "status",
      label: t("jobs.status"),
      width_px: 140,
      cell: (row) => <StatusBadge status={row.status} />,
    },
    {
      id: "experiment",
      label: t("jobs.experiment"),
      width_px: 160,
      cell: (row) =>
        row.experiment_id ? (
          <Link href={`/experiments/${row.experiment_id}`} className="plain">
            {row.experiment_name}
          </Link>
        ) : (
          row.experiment_name
        ),
    },
    { id: "accelerators", label: t("jobs.accelerators"), width_px: 116, cell: accelerators },
    { id: "user", label: t("jobs.user"), width_px: 96, cell: (row) => row.user },
    {
      id: "attempt",
      label: t("jobs.retries"),
      width_px: 80,
      cell: (row) => `${row.attempt_number} / ${row.max_retries}`,
    },
    { id: "created", label: t("jobs.submitted"), width_px: 120, cell: (row) => <Time ms={row.created_ms} /> },
    {
      id: "duration",
      label: t("jobs.duration"),
      width_px: 96,
      align: "end",
      cell: (row) => <Duration start_ms={row.started_ms} end_ms={row.ended_ms} live />,
    },
    {
      id: "message",
      label: t("jobs.message"),
      width_px: 300,
      // How a success ended is no news.
      cell: (row) =>
        row.status !== "SUCCESS" && (
          <span className="muted job-note" title={row.message}>
            {row.message}
          </span>
        ),
    },
  ];
}
