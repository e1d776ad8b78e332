import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link, useLocation, useParams } from "wouter";
import { apiUrl } from "../../api/client";
import { isLive, jobQuery, runQuery } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { PageHeader } from "../../ui/Page";
import { StatusBadge } from "../../ui/StatusBadge";
import { Tabs } from "../../ui/Tabs";
import { Duration, Time } from "../../ui/Time";
import { Overview } from "./Overview";
import { RunMenu } from "./RunMenu";
import { RunTitle } from "./RunTitle";
import "./run.css";
import { isSystemKey } from "./systemCards";

const MetricsTab = lazy(() => import("./MetricsTab"));
const SystemTab = lazy(() => import("./SystemTab"));
const LogView = lazy(() => import("../logs/LogView").then((module) => ({ default: module.LogView })));
const ArtifactsView = lazy(() =>
  import("../artifacts/ArtifactsView").then((module) => ({ default: module.ArtifactsView })),
);

const TABS = ["overview", "metrics", "system", "logs", "artifacts"] as const;
type Tab = (typeof TABS)[number];
/** These fill the window; the others scroll. */
const FULL: readonly Tab[] = ["logs", "artifacts"];

export default function RunPage() {
  const { id = "", "*": rest = "" } = useParams<{ id: string; "*": string }>();
  const run = useQuery(runQuery(id));
  if (run.isError && !run.data) return <ErrorState error={run.error} retry={() => void run.refetch()} />;
  if (!run.data) return <Loading />;
  const [first = "", ...path] = rest.split("/");
  const tab = TABS.find((each) => each === first) ?? "overview";
  return <RunView run={run.data} tab={tab} path={path.map(decode).join("/")} />;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function RunView({ run, tab, path }: { readonly run: RunSummary; readonly tab: Tab; readonly path: string }) {
  const [, navigate] = useLocation();
  const system = run.metrics.filter((metric) => isSystemKey(metric.key)).length;
  const counts: Partial<Record<Tab, number>> = { metrics: run.metrics.length - system };
  return (
    <div className={FULL.includes(tab) ? "page-full" : "run-page"}>
      <PageHeader
        title={<RunTitle run={run} />}
        documentTitle={run.name}
        crumbs={[
          { label: t("nav.experiments"), href: "/experiments" },
          { label: run.experiment_name, href: `/experiments/${run.experiment_id}` },
        ]}
        facts={<RunFacts run={run} />}
        actions={<RunMenu run={run} />}
      />
      <Tabs
        label={run.name}
        current={tab}
        navigate={navigate}
        items={TABS.map((id) => ({
          id,
          label: t(`run.tab.${id}`),
          href: tabHref(run.run_id, id),
          count: counts[id] ?? null,
        }))}
      />
      <Suspense fallback={<Loading />}>
        <TabBody run={run} tab={tab} path={path} />
      </Suspense>
    </div>
  );
}

function tabHref(runId: string, tab: Tab): string {
  return tab === "overview" ? `/runs/${runId}` : `/runs/${runId}/${tab}`;
}

function TabBody({ run, tab, path }: { readonly run: RunSummary; readonly tab: Tab; readonly path: string }) {
  switch (tab) {
    case "overview":
      return <Overview run={run} />;
    case "metrics":
      return <MetricsTab run={run} />;
    case "system":
      return <SystemTab run={run} />;
    case "logs":
      return run.job_run_id === null ? <NoJob /> : <LogView base={apiUrl(`runs/${run.run_id}`)} />;
    case "artifacts":
      return (
        <ArtifactsView
          runId={run.run_id}
          path={path}
          hrefOf={(to) => `/runs/${run.run_id}/artifacts/${to.split("/").map(encodeURIComponent).join("/")}`}
        />
      );
  }
}

function NoJob() {
  return (
    <EmptyState title={t("logs.noJob")} code="contrail run -f train.yaml --watch">
      {t("logs.noJobHint")}
    </EmptyState>
  );
}

function RunFacts({ run }: { readonly run: RunSummary }) {
  return (
    <>
      <StatusBadge status={run.status} />
      {run.lifecycle === "deleted" && <span className="run-trash">{t("run.deleted")}</span>}
      <Duration start_ms={run.start_ms} end_ms={run.end_ms} live={isLive(run.status)} />
      <Time ms={run.start_ms} />
      <span>{run.user}</span>
      {run.job_run_id !== null && <JobFacts jobRunId={run.job_run_id} attempt={run.attempt_number} />}
    </>
  );
}

/** Which attempt of which job this run is; the others are one click away. */
function JobFacts({ jobRunId, attempt }: { readonly jobRunId: number; readonly attempt: number | null }) {
  const job = useQuery(jobQuery(jobRunId));
  const runs = job.data?.attempts.flatMap(({ run_id }) => run_id ?? []) ?? [];
  return (
    <>
      <Link href={`/jobs/${jobRunId}`}>{t("run.job", { id: String(jobRunId) })}</Link>
      {attempt !== null && (
        <span>
          {runs.length > 1
            ? t("run.attemptOf", { n: attempt + 1, count: runs.length })
            : t("run.attempt", { n: attempt + 1 })}
        </span>
      )}
      {runs.length > 1 && <Link href={`/compare?runs=${runs.join(",")}`}>{t("run.compareAttempts")}</Link>}
    </>
  );
}
