import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { get, post } from "../../api/client";
import type { JobRunList } from "../../api/types";
import { t } from "../../messages";
import { toast, toastError } from "../../ui/Toast";

const PAGE_ROWS = 100;
const LIVE_MS = 5_000;

export interface JobsFilter {
  readonly state: "active" | "all";
  readonly user?: string | undefined;
  readonly experiment?: string | undefined;
  readonly limit?: number;
}

/** Job runs, newest first, refreshed while the page is looked at. */
export function useJobs(filter: JobsFilter) {
  const result = useInfiniteQuery({
    queryKey: ["jobs", filter],
    queryFn: ({ pageParam, signal }) =>
      get<JobRunList>("job-runs", { limit: PAGE_ROWS, ...filter, page_token: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_token,
    placeholderData: keepPreviousData,
    refetchInterval: LIVE_MS,
  });
  const pages = result.data?.pages;
  const rows = useMemo(() => pages?.flatMap((page) => page.job_runs) ?? [], [pages]);
  return { ...result, rows };
}

/** Asks the server to stop a job run; its state follows in its own time. */
export function useCancelJob() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (jobRunId: number) => post(`job-runs/${jobRunId}/cancel`, {}),
    onSuccess: (_, jobRunId) => toast({ message: t("jobs.cancelAsked", { id: String(jobRunId) }) }),
    onError: toastError,
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("job") }),
  });
}
