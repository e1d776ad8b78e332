import { Fragment, type ReactNode } from "react";
import { Link } from "wouter";
import { isLive } from "../../api/queries";
import type { Attempt, JobNode, JobRunDetail } from "../../api/types";
import { useNow } from "../../lib/clock";
import { formatBytes, formatRelative } from "../../lib/format";
import { currentLanguage, t } from "../../messages";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, ExactTime, Time } from "../../ui/Time";
import { accelerators, attemptStatus, endReason, jobMessage, nodeStatus } from "./labels";

export function JobOverview({ job }: { readonly job: JobRunDetail }) {
  return (
    <>
      <JobMessage job={job} />
      <Attempts job={job} />
      <section className="section job-columns">
        <div>
          <h2 className="section-header">{t("jobs.details")}</h2>
          <Facts facts={jobFacts(job)} />
        </div>
        <Provenance provenance={job.provenance} />
      </section>
    </>
  );
}

/** Why it waits, or how it ended. */
function JobMessage({ job }: { readonly job: JobRunDetail }) {
  const message = jobMessage(job);
  if (!message) return null;
  const failed = ["FAILED", "INTERNAL_ERROR", "TIMEDOUT"].includes(job.status);
  return (
    <div className={`job-message ${failed ? "job-message-error" : ""}`} role={failed ? "alert" : "status"}>
      {message}
      {job.retry_at_ms !== null && isLive(job.state) && (
        <>
          . {t("jobs.retryAt")}{" "}
          <span aria-live="off">
            <Countdown ms={job.retry_at_ms} />
          </span>
        </>
      )}
    </div>
  );
}

/** `in 4 sec.`, second by second. */
function Countdown({ ms }: { readonly ms: number }) {
  const now = useNow();
  return <time dateTime={new Date(ms).toISOString()}>{formatRelative(Math.max(ms, now), now, currentLanguage())}</time>;
}

function Attempts({ job }: { readonly job: JobRunDetail }) {
  const runs = job.attempts.flatMap(({ run_id }) => run_id ?? []);
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("jobs.attempts")}</h2>
        {runs.length > 1 && <Link href={`/compare?runs=${runs.join(",")}`}>{t("jobs.compareAttempts")}</Link>}
      </div>
      {job.attempts.length === 0 ? (
        <p className="muted">{t("jobs.notStarted")}</p>
      ) : (
        <div className="table-scroll">
          <table className="table attempts">
            <thead>
              <tr>
                <th scope="col">{t("jobs.attempt")}</th>
                <th scope="col">{t("jobs.status")}</th>
                <th scope="col">{t("jobs.started")}</th>
                <th scope="col" className="end">
                  {t("jobs.duration")}
                </th>
                <th scope="col">{t("jobs.run")}</th>
                <th scope="col">{t("jobs.how")}</th>
                <th scope="col">{t("jobs.tab.logs")}</th>
              </tr>
            </thead>
            {[...job.attempts].reverse().map((attempt) => (
              <AttemptRows key={attempt.attempt_id} job={job} attempt={attempt} />
            ))}
          </table>
        </div>
      )}
    </section>
  );
}

function AttemptRows({ job, attempt }: { readonly job: JobRunDetail; readonly attempt: Attempt }) {
  // A row for the only node would repeat the attempt's.
  const only = attempt.nodes.length === 1 ? attempt.nodes[0] : undefined;
  return (
    <tbody>
      <tr>
        <td>{attempt.number + 1}</td>
        <td>
          <StatusBadge status={attemptStatus(attempt)} />
        </td>
        <td>
          <Time ms={attempt.started_ms ?? attempt.created_ms} />
        </td>
        <td className="end">
          <Duration start_ms={attempt.started_ms} end_ms={attempt.ended_ms} live />
        </td>
        <td>{attempt.run_id && <Link href={`/runs/${attempt.run_id}`}>{attempt.run_name || attempt.run_id}</Link>}</td>
        <td className="attempt-reason">
          {endReason(attempt)}
          {only && <NodeFacts node={only} after={endReason(attempt) !== ""} />}
        </td>
        <td>
          <Link href={`/jobs/${job.job_run_id}/logs?attempt=${attempt.number}`}>{t("jobs.tab.logs")}</Link>{" "}
          <span className="muted">{only && only.log_bytes > 0 && formatBytes(only.log_bytes)}</span>
        </td>
      </tr>
      {!only && attempt.nodes.map((node) => <NodeRow key={node.node} attempt={attempt} node={node} />)}
    </tbody>
  );
}

function NodeRow({ attempt, node }: { readonly attempt: Attempt; readonly node: JobNode }) {
  return (
    <tr className="node-row">
      <td />
      <td>
        <span className="node-name">
          {t("jobs.node", { node: node.node })} <StatusBadge status={nodeStatus(node, attempt)} />
        </span>
      </td>
      <td>
        <Time ms={node.started_ms} />
      </td>
      <td className="end">
        <Duration start_ms={node.started_ms} end_ms={node.ended_ms} live />
      </td>
      <td />
      <td className="attempt-reason">
        <NodeFacts node={node} after={false} />
      </td>
      <td className="muted">{node.log_bytes > 0 && formatBytes(node.log_bytes)}</td>
    </tr>
  );
}

interface NodeFactsProps {
  readonly node: JobNode;
  /** Whether the attempt's own reason stands before it. */
  readonly after: boolean;
}

/** Where it ran, how its own command ended, and when it was last heard of. */
function NodeFacts({ node, after }: NodeFactsProps) {
  // One's own exit code, unless the status or the attempt's reason says it.
  const exit = !after && node.exit_code ? t("jobs.exit", { code: node.exit_code }) : null;
  const facts = [
    exit,
    node.host,
    node.gpu_ids.length > 0 ? t("jobs.gpus", { ids: node.gpu_ids.join(", ") }) : null,
    node.status_message,
  ].filter(Boolean);
  const live = isLive(node.state) && node.heartbeat_ms !== null;
  if (facts.length === 0 && !live) return null;
  return (
    <span className="muted">
      {after && " · "}
      {facts.join(" · ")}
      {live && (
        <>
          {facts.length > 0 && " · "}
          {t("jobs.heartbeat")} <Time ms={node.heartbeat_ms} />
        </>
      )}
    </span>
  );
}

type Fact = readonly [term: string, value: ReactNode];

function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts-list">
      {facts.map(([term, value]) => (
        <Fragment key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function jobFacts(job: JobRunDetail): Fact[] {
  const experiment = job.experiment_id ? (
    <Link href={`/experiments/${job.experiment_id}`}>{job.experiment_name}</Link>
  ) : (
    job.experiment_name
  );
  const facts: (Fact | false)[] = [
    [t("jobs.experiment"), experiment],
    [t("jobs.accelerators"), accelerators(job)],
    [t("jobs.engine"), job.engine],
    [t("jobs.user"), job.user],
    [t("jobs.retries"), t("jobs.retriesOf", { count: job.attempt_number, max: job.max_retries })],
    [t("jobs.submitted"), <ExactTime key="created" ms={job.created_ms} />],
    job.started_ms !== null && [t("jobs.started"), <ExactTime key="started" ms={job.started_ms} />],
    job.ended_ms !== null && [t("jobs.ended"), <ExactTime key="ended" ms={job.ended_ms} />],
    job.logs_removed_ms !== null && [t("jobs.logsRemoved"), <ExactTime key="removed" ms={job.logs_removed_ms} />],
    job.logs_removed_ms === null &&
      job.logs_expire_ms !== null && [t("jobs.logsExpire"), <ExactTime key="expire" ms={job.logs_expire_ms} />],
  ];
  return facts.filter((fact): fact is Fact => fact !== false);
}

/** Where the code came from. The keys are the submitter's own, so they are shown as they are. */
function Provenance({ provenance }: { readonly provenance: Readonly<Record<string, unknown>> }) {
  const facts = Object.entries(provenance)
    .filter(([, value]) => value !== null && value !== "")
    .map(
      ([key, value]): Fact => [
        key,
        <span key={key} className="mono">
          {provenanceText(value)}
        </span>,
      ],
    );
  if (facts.length === 0) return null;
  return (
    <div>
      <h2 className="section-header">{t("jobs.code")}</h2>
      <Facts facts={facts} />
    </div>
  );
}

function provenanceText(value: unknown): string {
  if (typeof value === "number") return new Intl.NumberFormat(currentLanguage()).format(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
