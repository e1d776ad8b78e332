import { isLive } from "../../api/queries";
import type { Attempt, JobNode, JobRunDetail, JobRunSummary } from "../../api/types";
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

/** A node's state, or how its command ended. A command that was stopped on request did not fail. */
export function nodeStatus({ state, exit_code }: Pick<JobNode, "state" | "exit_code">, attempt?: Attempt): string {
  if (isLive(state) || exit_code === null) return state;
  if (exit_code !== 0 && attempt?.cause === "cancelled") return "CANCELED";
  return exit_code === 0 ? "SUCCESS" : "FAILED";
}

/** Causes whose message holds more than the cause itself says. */
const DETAILED = new Set(["could_not_start", "node_lost", "timed_out"]);

/** Why an attempt ended: its cause in the reader's language, or the server's own words where they say more. */
export function endReason(attempt: Attempt): string {
  if (isLive(attempt.state)) return attempt.cause ? "" : attempt.message;
  const { cause, message, exit_code, signal, failed_node, num_nodes } = attempt;
  // The status says it already.
  if (cause === "cancelled") return "";
  if (!cause || (message && DETAILED.has(cause))) return message;
  const key = `jobs.cause.${cause}`;
  const words = key in en ? t(key as keyof typeof en, { code: exit_code ?? "?", signal: signal ?? "?" }) : message;
  return failed_node !== null && num_nodes > 1 ? `${words} ${t("jobs.onNode", { node: failed_node })}` : words;
}

/** Why a job run waits, or how it ended, in the reader's language where its facts say it; else the server's words. */
export function jobMessage(job: JobRunDetail): string {
  if (job.status === "SUCCESS") return "";
  const user = job.cancel_requested_by;
  if (user !== null && isLive(job.state)) return t("jobs.cancellingBy", { user });
  if (user !== null && job.status === "CANCELED") return t("jobs.cancelledBy", { user });
  const last = job.attempts.at(-1);
  const failed = job.state === "WAITING_FOR_RETRY" || (!isLive(job.state) && job.status === "FAILED");
  const reason = last && failed ? inSentence(endReason(last)) : "";
  if (!last || !reason) return job.message.charAt(0).toUpperCase() + job.message.slice(1);
  const count = job.max_retries + 1;
  return count > 1 ? t("jobs.failedAfter", { n: last.number + 1, count, reason }) : t("jobs.failedOnce", { reason });
}

/** `Exit code 1` after a colon; names and abbreviations keep their capitals. */
function inSentence(text: string): string {
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
