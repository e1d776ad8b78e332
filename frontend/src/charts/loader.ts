/**
 * Gathers what the cards of a page ask for into few requests.
 *
 * Cards that ask within the same tick for the same runs, axis and range share a request of at most `KEYS_PER_REQUEST`
 * keys, so that the first cards need not wait for the last. A request is aborted once every card in it has left.
 */

import type { SeriesData, XAxis } from "./series";

export interface SeriesAsk {
  readonly runIds: readonly string[];
  readonly key: string;
  readonly x: XAxis;
  readonly start: number | null;
  readonly end: number | null;
  readonly buckets: number;
}

export interface SeriesRequest {
  readonly run_ids: readonly string[];
  readonly keys: readonly string[];
  readonly x: XAxis;
  readonly start: number | null;
  readonly end: number | null;
  readonly buckets: number;
}

export type Send = (body: SeriesRequest, signal: AbortSignal) => Promise<{ series: SeriesData[] }>;
export type LoadSeries = (ask: SeriesAsk, signal?: AbortSignal) => Promise<SeriesData[]>;

export const KEYS_PER_REQUEST = 6;
export const BUCKETS_MAX = 2000;

interface Waiting {
  readonly ask: SeriesAsk;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (series: SeriesData[]) => void;
  readonly reject: (reason: unknown) => void;
}

/** `schedule` runs the gathered batch a moment later; tests pass their own. */
export function createLoader(
  send: Send,
  schedule: (run: () => void) => void = (run) => setTimeout(run, 8),
): LoadSeries {
  const waiting = new Map<string, Waiting[]>();

  function flush(group: string) {
    const all = (waiting.get(group) ?? []).filter((one) => !one.signal?.aborted);
    waiting.delete(group);
    const keys = [...new Set(all.map((one) => one.ask.key))];
    for (let i = 0; i < keys.length; i += KEYS_PER_REQUEST) {
      const part = new Set(keys.slice(i, i + KEYS_PER_REQUEST));
      void sendBatch(
        send,
        all.filter((one) => part.has(one.ask.key)),
      );
    }
  }

  return (ask, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      const group = groupOf(ask);
      const one = { ask, signal, resolve, reject };
      const before = waiting.get(group);
      if (before) before.push(one);
      else {
        waiting.set(group, [one]);
        schedule(() => flush(group));
      }
    });
}

function groupOf({ runIds, x, start, end, buckets }: SeriesAsk): string {
  return JSON.stringify([runIds, x, start, end, buckets]);
}

async function sendBatch(send: Send, members: readonly Waiting[]): Promise<void> {
  const first = members[0];
  if (!first) return;
  const { runIds, x, start, end, buckets } = first.ask;
  const abort = abortWhenAllLeft(members);
  const keys = [...new Set(members.map((one) => one.ask.key))];
  try {
    const answer = await send({ run_ids: runIds, keys, x, start, end, buckets }, abort);
    for (const one of members) one.resolve(answer.series.filter((series) => series.key === one.ask.key));
  } catch (reason) {
    for (const one of members) one.reject(reason);
  }
}

function abortWhenAllLeft(members: readonly Waiting[]): AbortSignal {
  const controller = new AbortController();
  const left = () => {
    if (members.every((one) => one.signal?.aborted)) controller.abort();
  };
  for (const one of members) one.signal?.addEventListener("abort", left, { once: true });
  return controller.signal;
}

/** Chart width to buckets, in steps, so that a small resize does not fetch anew. */
export function bucketsFor(width: number): number {
  return Math.min(BUCKETS_MAX, Math.max(200, Math.ceil(width / 100) * 100));
}
