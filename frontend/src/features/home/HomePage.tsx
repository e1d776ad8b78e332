import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get, post } from "../../api/client";
import { infoQuery } from "../../api/queries";
import type { ExperimentsPage, JobRunList, RunsPage } from "../../api/types";
import { runColour } from "../../lib/colours";
import { t } from "../../messages";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { PageHeader } from "../../ui/Page";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, Time } from "../../ui/Time";
import "./home.css";

const LIVE_MS = 5_000;
const RUNS_SHOWN = 20;
/** Recent runs are looked for in this many experiments, those with the latest activity. */
const EXPERIMENTS_MAX = 50;

export default function HomePage() {
  const user = useQuery(infoQuery()).data?.user;
  const jobs = useQuery({
    queryKey: ["jobs", "home", user],
    queryFn: ({ signal }) => get<JobRunList>("job-runs", { state: "active", user, limit: 20 }, signal),
    enabled: user !== undefined,
    refetchInterval: LIVE_MS,
  });
  const runs = useQuery({
    queryKey: ["runs", "home"],
    queryFn: ({ signal }) => recentRuns(signal),
    refetchInterval: LIVE_MS,
  });
  const nothing = runs.data?.rows.length === 0 && (jobs.data?.job_runs.length ?? 0) === 0;
  return (
    <div className="page">
      <PageHeader title={t("nav.home")} documentTitle={t("nav.home")} />
      {runs.isPending && <Loading />}
      {runs.isError && <ErrorState error={runs.error} retry={() => void runs.refetch()} />}
      {nothing && <FirstSteps />}
      {jobs.data && jobs.data.job_runs.length > 0 && <RunningJobs list={jobs.data} />}
      {runs.data && runs.data.rows.length > 0 && <RecentRuns {...runs.data} />}
    </div>
  );
}

interface Recent {
  readonly rows: RunsPage["rows"];
  readonly names: Readonly<Record<string, string>>;
}

async function recentRuns(signal: AbortSignal): Promise<Recent> {
  const { experiments } = await get<ExperimentsPage>("experiments", { limit: EXPERIMENTS_MAX }, signal);
  const names = Object.fromEntries(experiments.map(({ experiment_id, name }) => [experiment_id, name]));
  if (experiments.length === 0) return { rows: [], names };
  const query = {
    experiment_ids: Object.keys(names),
    order_by: ["attributes.start_time DESC"],
    limit: RUNS_SHOWN,
    with_total: false,
  };
  const { rows } = await post<RunsPage>("runs/query", query, signal);
  return { rows, names };
}

function RunningJobs({ list }: { readonly list: JobRunList }) {
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("home.jobs")}</h2>
        <Link href="/jobs">{t("home.allJobs")}</Link>
      </div>
      <ul className="lines">
        {list.job_runs.map((job) => (
          <li key={job.job_run_id} className="line home-line">
            <StatusBadge status={job.status} />
            <Link href={`/jobs/${job.job_run_id}`} className="plain strong ellipsis">
              {job.name || job.job_run_id}
            </Link>
            <span className="muted ellipsis">{job.message || job.experiment_name}</span>
            <span className="muted line-end">
              <Duration start_ms={job.started_ms} end_ms={job.ended_ms} live />
            </span>
            <span className="muted line-end">
              <Time ms={job.created_ms} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RecentRuns({ rows, names }: Recent) {
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("home.runs")}</h2>
        <Link href="/experiments">{t("home.allExperiments")}</Link>
      </div>
      <ul className="lines">
        {rows.map((run) => (
          <li key={run.run_id} className="line home-line">
            <StatusBadge status={run.status} />
            <span className="name-cell">
              <i className="run-dot" style={{ background: runColour(run.run_id) }} />
              <Link href={`/runs/${run.run_id}`} className="plain strong ellipsis">
                {run.name || run.run_id}
              </Link>
            </span>
            <Link href={`/experiments/${run.experiment_id}`} className="muted ellipsis">
              {names[run.experiment_id] ?? run.experiment_id}
            </Link>
            <span className="muted line-end">
              <Duration start_ms={run.start_ms} end_ms={run.end_ms} live={run.status === "RUNNING"} />
            </span>
            <span className="muted line-end">
              <Time ms={run.start_ms} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Nothing here yet: the two ways to begin. */
function FirstSteps() {
  const address = new URL(document.baseURI).href.replace(/\/$/, "");
  const python = [
    "import mlflow",
    `mlflow.set_tracking_uri("${address}")`,
    'mlflow.set_experiment("first")',
    "with mlflow.start_run():",
    '    mlflow.log_metric("loss", 0.5, step=1)',
  ].join("\n");
  return (
    <div className="home-first">
      <EmptyState title={t("home.submit")} code="contrail run -f train.yaml --watch">
        {t("home.submitHint")}
      </EmptyState>
      <EmptyState title={t("home.log")} code={python}>
        {t("home.logHint")}
      </EmptyState>
    </div>
  );
}
