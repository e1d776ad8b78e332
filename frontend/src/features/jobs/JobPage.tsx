import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { apiUrl } from "../../api/client";
import { isLive, jobQuery } from "../../api/queries";
import type { JobRunDetail } from "../../api/types";
import { t } from "../../messages";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { CopyButton } from "../../ui/CopyButton";
import { ErrorState, Loading } from "../../ui/EmptyState";
import { PageHeader } from "../../ui/Page";
import { StatusBadge } from "../../ui/StatusBadge";
import { Tabs } from "../../ui/Tabs";
import { Duration } from "../../ui/Time";
import { JobOverview } from "./JobOverview";
import "./jobs.css";
import { jobMessage, jobName } from "./labels";
import { useCancelJob } from "./queries";

const LogView = lazy(() => import("../logs/LogView").then((module) => ({ default: module.LogView })));

const TABS = ["overview", "logs", "yaml"] as const;
type Tab = (typeof TABS)[number];

/** Addresses that older links use for parts of the overview. */
const OVERVIEW_PARTS = ["attempts", "nodes"];

export default function JobPage() {
  const { id = "", "*": rest = "" } = useParams<{ id: string; "*": string }>();
  const job = useQuery(jobQuery(id));
  if (job.isError && !job.data) return <ErrorState error={job.error} retry={() => void job.refetch()} />;
  if (!job.data) return <Loading />;
  const first = rest.split("/")[0] ?? "";
  const tab = OVERVIEW_PARTS.includes(first) ? "overview" : (TABS.find((each) => each === first) ?? "overview");
  return <JobView job={job.data} tab={tab} />;
}

function JobView({ job, tab }: { readonly job: JobRunDetail; readonly tab: Tab }) {
  const [, navigate] = useLocation();
  const name = jobName(job);
  return (
    <div className={tab === "logs" ? "page-full" : "page-wide"}>
      <PageHeader
        title={name}
        documentTitle={name}
        crumbs={[{ label: t("nav.jobs"), href: "/jobs" }]}
        facts={<JobFacts job={job} />}
        actions={<JobActions job={job} />}
      />
      <Tabs
        label={name}
        current={tab}
        navigate={navigate}
        items={TABS.map((id) => ({
          id,
          label: t(`jobs.tab.${id}`),
          href: `/jobs/${job.job_run_id}${id === "overview" ? "" : `/${id}`}`,
        }))}
      />
      {tab === "overview" && <JobOverview job={job} />}
      {tab === "logs" && <JobLogs job={job} />}
      {tab === "yaml" && <WorkloadYaml yaml={job.workload_yaml} />}
    </div>
  );
}

function JobFacts({ job }: { readonly job: JobRunDetail }) {
  return (
    <>
      <StatusBadge status={job.status} />
      <span className="fact-id">
        <span>{t("jobs.id", { id: String(job.job_run_id) })}</span>
        <CopyButton text={String(job.job_run_id)} what={t("jobs.idName")} />
      </span>
      {job.started_ms !== null && (
        <span>
          <Duration start_ms={job.started_ms} end_ms={job.ended_ms} live />
        </span>
      )}
      <span>{job.user}</span>
    </>
  );
}

function JobActions({ job }: { readonly job: JobRunDetail }) {
  const [asking, setAsking] = useState(false);
  const cancel = useCancelJob();
  return (
    <>
      {job.run_id && (
        <Link href={`/runs/${job.run_id}`} className="button button-normal">
          {t("jobs.openRun")}
        </Link>
      )}
      {isLive(job.state) && (
        <Button
          kind="danger"
          icon="stop"
          disabled={cancel.isPending || job.cancel_requested_by !== null}
          onClick={() => setAsking(true)}
        >
          {job.cancel_requested_by === null ? t("jobs.cancel") : t("jobs.cancelling")}
        </Button>
      )}
      {asking && (
        <Confirm
          title={t("jobs.cancelTitle", { name: jobName(job) })}
          action={t("jobs.cancel")}
          keep={t("jobs.keep")}
          danger
          onConfirm={() => cancel.mutate(job.job_run_id)}
          onClose={() => setAsking(false)}
        >
          {t("jobs.cancelHint")}
        </Confirm>
      )}
    </>
  );
}

/** Output of the newest attempt unless another is chosen. */
function JobLogs({ job }: { readonly job: JobRunDetail }) {
  if (job.attempts.length === 0) return <p className="muted job-wait">{jobMessage(job) || t("jobs.notStarted")}</p>;
  return (
    <Suspense fallback={<Loading />}>
      <LogView
        base={apiUrl(`job-runs/${job.job_run_id}`)}
        attempts={job.attempts.map(({ number }) => number)}
        nodes={job.attempts.at(-1)?.num_nodes ?? 1}
      />
    </Suspense>
  );
}

function WorkloadYaml({ yaml }: { readonly yaml: string }) {
  return (
    <div className="code-block job-yaml">
      <pre>{yaml}</pre>
      <CopyButton text={yaml} what="YAML" />
    </div>
  );
}
