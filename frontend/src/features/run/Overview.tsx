import type { ReactNode } from "react";
import { Link } from "wouter";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { CopyButton } from "../../ui/CopyButton";
import { ExactTime } from "../../ui/Time";
import { MetricTable } from "./MetricTable";
import { Notes } from "./Notes";
import { Params } from "./Params";
import { Tags } from "./Tags";

/** Everything about a run but its curves. */
export function Overview({ run }: { readonly run: RunSummary }) {
  return (
    <div className="overview">
      <div className="overview-main">
        <Notes run={run} />
        <MetricTable metrics={run.metrics} />
        <Params params={run.params} />
      </div>
      <div className="overview-side">
        <Details run={run} />
        <Tags run={run} />
      </div>
    </div>
  );
}

function Details({ run }: { readonly run: RunSummary }) {
  const { tags } = run;
  const facts: [label: string, value: ReactNode][] = [
    [t("run.id"), <Copied key="id" text={run.run_id} what={t("run.id")} mono />],
    [
      t("run.experiment"),
      <Link key="experiment" href={`/experiments/${run.experiment_id}`}>
        {run.experiment_name}
      </Link>,
    ],
    [t("run.user"), run.user],
    [t("run.started"), run.start_ms !== null && <ExactTime key="start" ms={run.start_ms} />],
    [t("run.ended"), run.end_ms !== null && <ExactTime key="end" ms={run.end_ms} />],
    [
      t("run.jobRow"),
      run.job_run_id !== null && (
        <Link key="job" href={`/jobs/${run.job_run_id}`}>
          {run.job_run_id}
        </Link>
      ),
    ],
    [t("run.parent"), parentLink(tags["mlflow.parentRunId"])],
    [
      t("run.source"),
      tags["mlflow.source.name"] && <Copied text={tags["mlflow.source.name"]} what={t("run.source")} mono />,
    ],
    [
      t("run.commit"),
      tags["mlflow.source.git.commit"] && (
        <Copied text={tags["mlflow.source.git.commit"]} what={t("run.commit")} mono />
      ),
    ],
    [t("run.branch"), tags["mlflow.source.git.branch"]],
    [t("run.repository"), tags["mlflow.source.git.repoURL"]],
    [
      t("run.artifactLocation"),
      <Copied key="location" text={run.artifact_uri} what={t("run.artifactLocation")} mono />,
    ],
  ];
  return (
    <section>
      <h2 className="section-header">{t("run.details")}</h2>
      <dl className="facts-list">
        {facts
          .filter(([, value]) => value)
          .map(([label, value]) => (
            <div key={label} className="fact">
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

function parentLink(parent: string | undefined): ReactNode {
  return parent && <Link href={`/runs/${parent}`}>{parent}</Link>;
}

function Copied({
  text,
  what,
  mono = false,
}: {
  readonly text: string;
  readonly what: string;
  readonly mono?: boolean;
}) {
  return (
    <span className="copied">
      <span className={mono ? "mono" : undefined}>{text}</span>
      <CopyButton text={text} what={what} />
    </span>
  );
}
