import { queryOptions } from "@tanstack/react-query";
import { get } from "./client";
import type { Columns, Info, JobRunDetail, RunSummary } from "./types";

/** Reads that more than one page needs. The first word of each key names the noun, so that writes can refresh it. */

const LIVE_MS = 5_000;

/** States after which nothing changes by itself. */
const ENDED = new Set([
  ...["FINISHED", "FAILED", "KILLED"],
  ...["SUCCESS", "FAILED", "TIMEDOUT", "CANCELED", "TERMINATED", "INTERNAL_ERROR"],
]);

/** Whether a run or job in this status may still change by itself. */
export function isLive(status: string): boolean {
  return !ENDED.has(status.toUpperCase());
}

export function runQuery(runId: string) {
  return queryOptions({
    queryKey: ["run", runId],
    queryFn: ({ signal }) => get<RunSummary>(`runs/${encodeURIComponent(runId)}`, {}, signal),
    refetchInterval: (query) => (query.state.data && !isLive(query.state.data.status) ? false : LIVE_MS),
  });
}

export function jobQuery(jobRunId: number | string) {
  return queryOptions({
    queryKey: ["job", String(jobRunId)],
    queryFn: ({ signal }) => get<JobRunDetail>(`job-runs/${jobRunId}`, {}, signal),
    refetchInterval: (query) => (query.state.data && !isLive(query.state.data.state) ? false : LIVE_MS),
  });
}

export function columnsQuery(experimentIds: readonly string[]) {
  return queryOptions({
    queryKey: ["columns", ...experimentIds],
    queryFn: ({ signal }) => get<Columns>("columns", { experiment_id: experimentIds }, signal),
    staleTime: 10_000,
  });
}

export function infoQuery() {
  return queryOptions({
    queryKey: ["info"],
    queryFn: ({ signal }) => get<Info>("info", {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
