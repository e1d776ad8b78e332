import { queryString, request } from "../../api/client";
import type { LogPage } from "../../api/types";
import { filterQuery, type LogFilter } from "./filter";
import type { FollowHandlers, LogSource, Start } from "./session";

const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 5_000;

/** Pages and events of one log under one filter. `base` is e.g. `…/api/contrail/v1/runs/<id>`. */
export function logSource(base: string, attempt: number | null, filter: LogFilter): LogSource {
  const query = { ...filterQuery(filter), attempt };
  return {
    page: (start, limit, signal) =>
      request<LogPage>(`${base}/logs${queryString({ ...query, ...startQuery(start), limit })}`, { signal }),
    follow: (after, handlers) =>
      follow((cursor) => `${base}/logs/follow${queryString({ ...query, after: cursor })}`, after, handlers),
  };
}

export function downloadUrl(base: string, attempt: number | null, filter: LogFilter): string {
  return `${base}/logs/download${queryString({ ...filterQuery(filter), attempt })}`;
}

export function rawUrl(base: string, attempt: number | null, node: number | null): string {
  return `${base}/logs/download${queryString({ raw: 1, attempt, node })}`;
}

function startQuery(start: Start): Record<string, string | number> {
  if ("atMs" in start) return { at_ms: start.atMs };
  return "head" in start ? {} : start;
}

/**
 * Server-sent events after a cursor. The browser reconnects after a lost connection and resumes by event id; only when the
 * server refuses does the stream close for good, and then it is opened anew after the last cursor seen.
 */
function follow(url: (after: string | null) => string, after: string | null, handlers: FollowHandlers): () => void {
  let cursor = after;
  let wait = RETRY_FIRST_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const open = () => {
    source = new EventSource(url(cursor));
    source.onopen = () => {
      wait = RETRY_FIRST_MS;
      handlers.onConnected(true);
    };
    source.onerror = () => {
      handlers.onConnected(false);
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, RETRY_LAST_MS);
    };
    source.addEventListener("lines", (event) => {
      const page = JSON.parse((event as MessageEvent<string>).data) as LogPage;
      cursor = page.next ?? cursor;
      handlers.onLines(page);
    });
    source.addEventListener("end", () => handlers.onEnd());
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
