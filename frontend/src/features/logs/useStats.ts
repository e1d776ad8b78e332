import { useQuery } from "@tanstack/react-query";
import { queryString, request } from "../../api/client";
import type { LogStats } from "../../api/types";
import { filterQuery, isFiltering, type LogFilter, NO_FILTER } from "./filter";

const LIVE_MS = 10_000;

export interface Stats {
  /** The whole attempt (of the chosen node): minimap and level counts. */
  readonly whole: LogStats | null;
  /** Of the lines that match the filter; null while unknown or nothing filters. */
  readonly matching: LogStats | null;
}

export function useStats(base: string, attempt: number | null, filter: LogFilter, live: boolean): Stats {
  const whole = useLogStats(base, attempt, { ...NO_FILTER, node: filter.node }, live, true);
  const matching = useLogStats(base, attempt, filter, live, isFiltering(filter));
  return { whole, matching };
}

function useLogStats(base: string, attempt: number | null, filter: LogFilter, live: boolean, enabled: boolean) {
  const query = { ...filterQuery(filter), attempt };
  const { data } = useQuery({
    queryKey: ["log-stats", base, query],
    queryFn: ({ signal }) => request<LogStats>(`${base}/logs/stats${queryString(query)}`, { signal }),
    refetchInterval: live ? LIVE_MS : false,
    enabled,
  });
  return enabled ? (data ?? null) : null;
}
