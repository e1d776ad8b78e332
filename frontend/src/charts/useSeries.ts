import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { post } from "../api/client";
import type { SeriesAnswer } from "../api/types";
import { createLoader } from "./loader";
import type { Range, SeriesData, XAxis } from "./series";

const LIVE_MS = 5_000;
/** A zoomed view asks a little beyond its edges, so that lines reach them. */
const MARGIN = 0.02;

const load = createLoader((body, signal) => post<SeriesAnswer>("series", body, signal));

interface Wanted {
  readonly runIds: readonly string[];
  readonly keys: readonly string[];
  readonly x: XAxis;
  readonly range: Range | null;
  readonly buckets: number;
  /** A run is still writing. */
  readonly live: boolean;
}

/** The series of one card. Cards mounted together share requests; leaving the screen aborts them. */
export function useSeries({ runIds, keys, x, range, buckets, live }: Wanted) {
  const whole = useRef<readonly SeriesData[]>([]);
  // Points that are all there already need no finer look.
  const enough = whole.current.length > 0 && whole.current.every((series) => series.exact);
  const margin = range ? (range[1] - range[0]) * MARGIN : 0;
  const [start, end] = range && !enough ? [range[0] - margin, range[1] + margin] : [null, null];
  const query = useQuery({
    queryKey: ["series", runIds, keys, x, start, end, buckets],
    queryFn: async ({ signal }) => {
      const parts = await Promise.all(keys.map((key) => load({ runIds, key, x, start, end, buckets }, signal)));
      return parts.flat();
    },
    enabled: buckets > 0 && runIds.length > 0 && keys.length > 0,
    placeholderData: keepPreviousData,
    staleTime: live ? LIVE_MS : Number.POSITIVE_INFINITY,
    // All cards wake at the same moment, so that their questions travel together.
    refetchInterval: live ? () => LIVE_MS - (Date.now() % LIVE_MS) || LIVE_MS : false,
  });
  if (start === null && query.data && !query.isPlaceholderData) whole.current = query.data;
  const { refetch } = query;
  const was = useRef(live);
  useEffect(() => {
    // The run just ended: fetch what it wrote after the last poll.
    if (was.current && !live) void refetch();
    was.current = live;
  }, [live, refetch]);
  return query;
}
