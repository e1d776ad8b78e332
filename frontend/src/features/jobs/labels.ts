import { isLive } from "../../api/queries";
import type { Attempt, JobNode, JobRunSummary } from "../../api/types";
import { t } from "../../messages";
import { en } from "../../messages/en";

/** What the job is called; a workload need not have a name. */
export function jobName(job: Pick<JobRunSummary, "name" | "job_run_id">): string {
  return job.name || t("jobs.unnamed", { id: String(job.job_run_id) });
}

/** `2 × CPU`, `16 × H100`: what was asked for. */
export function accelerators(job: JobRunSummary): string {
  return `${job.num_accelerators} × ${job.accelerator_type}`;
}

/** Result where there is one, else state. */
export function attemptStatus(attempt: Pick<Attempt, "state" | "result">): string {
  return attempt.result ?? attempt.state;
}

/** A node's state, or how its command ended. */
export function nodeStatus({ state, exit_code }: Pick<JobNode, "state" | "exit_code">): string {
  if (isLive(state) || exit_code === null) return state;
  return exit_code === 0 ? "SUCCESS" : "FAILED";
}

/** Why an attempt ended, in words: cause, exit code, signal, which node. */
export function endReason(attempt: Attempt): string {
  const parts: string[] = [];
  const cause = `jobs.cause.${attempt.cause}`;
  if (attempt.cause && cause in en) {
    parts.push(t(cause as keyof typeof en, { code: attempt.exit_code ?? "?", signal: attempt.signal ?? "?" }));
  } else if (attempt.exit_code !== null) {
    parts.push(t("jobs.cause.exit_code", { code: attempt.exit_code }));
  }
  if (attempt.failed_node !== null && attempt.num_nodes > 1)
    parts.push(t("jobs.onNode", { node: attempt.failed_node }));
  return parts.join(" ");
}
