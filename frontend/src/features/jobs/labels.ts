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

/** Causes whose message holds more than the cause itself says. */
const DETAILED = new Set(["could_not_start", "node_lost", "timed_out"]);

/** Why an attempt ended: its cause in the reader's language, or the server's own words where they say more. */
export function endReason(attempt: Attempt): string {
  const { cause, message, exit_code, signal, failed_node, num_nodes } = attempt;
  if (!cause || (message && DETAILED.has(cause))) return message;
  const key = `jobs.cause.${cause}`;
  const words = key in en ? t(key as keyof typeof en, { code: exit_code ?? "?", signal: signal ?? "?" }) : message;
  return failed_node !== null && num_nodes > 1 ? `${words} ${t("jobs.onNode", { node: failed_node })}` : words;
}
