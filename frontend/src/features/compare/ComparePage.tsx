import { useQueries } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { useLocation, useSearchParams } from "wouter";
import { isLive, runQuery } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { PageHeader } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { CompareTable } from "./CompareTable";
import "./compare.css";

const ChartGrid = lazy(() => import("../../charts/ChartGrid").then((module) => ({ default: module.ChartGrid })));

const TABS = ["values", "charts"] as const;
type Tab = (typeof TABS)[number];

/** `/compare?runs=a,b,c&base=a`: any number of runs side by side. */
export default function ComparePage() {
  const [search] = useSearchParams();
  const ids = useMemo(() => [...new Set((search.get("runs") ?? "").split(",").filter(Boolean))], [search]);
  const answers = useQueries({ queries: ids.map((id) => runQuery(id)) });
  const runs = answers.flatMap(({ data }) => data ?? []);
  const failed = answers.filter(({ isError, data }) => isError && !data);
  if (ids.length === 0) return <EmptyState title={t("compare.none")}>{t("compare.noneHint")}</EmptyState>;
  if (answers.some(({ isPending }) => isPending)) return <Loading />;
  if (runs.length === 0) return <ErrorState error={failed[0]?.error} />;
  return <Compare runs={runs} lost={failed.length} />;
}

function Compare({ runs, lost }: { readonly runs: readonly RunSummary[]; readonly lost: number }) {
  const [search] = useSearchParams();
  const [, navigate] = useLocation();
  const tab: Tab = search.get("tab") === "charts" ? "charts" : "values";
  const title = t("compare.title", { count: runs.length });
  return (
    <div className={tab === "values" ? "page-full" : "compare-page"}>
      <PageHeader
        title={title}
        documentTitle={title}
        crumbs={crumbs(runs)}
        facts={lost > 0 && <span role="alert">{t("compare.lost", { count: lost })}</span>}
      />
      <Tabs
        label={title}
        current={tab}
        navigate={navigate}
        items={TABS.map((id) => ({ id, label: t(`compare.${id}`), href: `/compare?${withTab(search, id)}` }))}
      />
      {tab === "values" ? <CompareTable runs={runs} /> : <CompareCharts runs={runs} />}
    </div>
  );
}

/** The experiment the runs come from, when it is one. */
function crumbs(runs: readonly RunSummary[]) {
  const experiments = { label: t("nav.experiments"), href: "/experiments" };
  const [first] = runs;
  if (!first || runs.some((run) => run.experiment_id !== first.experiment_id)) return [experiments];
  return [experiments, { label: first.experiment_name, href: `/experiments/${first.experiment_id}` }];
}

function withTab(search: URLSearchParams, tab: Tab): string {
  const next = new URLSearchParams(search);
  if (tab === "values") next.delete("tab");
  else next.set("tab", tab);
  return next.toString().replaceAll("%2C", ",");
}

function CompareCharts({ runs }: { readonly runs: readonly RunSummary[] }) {
  const facts = JSON.stringify(runs.map((run) => [run.run_id, run.name, isLive(run.status), run.attempt_number]));
  const names = [...new Set(runs.flatMap((run) => run.metrics.map((metric) => metric.key)))].join("\n");
  const lines = useMemo(
    () =>
      (JSON.parse(facts) as [string, string, boolean, number | null][]).map(([id, name, live, attempt]) => ({
        id,
        name,
        live,
        ...(attempt !== null && { detail: t("run.attempt", { n: attempt + 1 }) }),
      })),
    [facts],
  );
  const keys = useMemo(() => names.split("\n").filter(Boolean), [names]);
  return (
    <Suspense fallback={<Loading />}>
      <ChartGrid runs={lines} keys={keys} />
    </Suspense>
  );
}
