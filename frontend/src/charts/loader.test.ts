import { describe, expect, it, vi } from "vitest";
import { bucketsFor, createLoader, KEYS_PER_REQUEST, type SeriesAsk, type SeriesRequest } from "./loader";
import type { SeriesData } from "./series";

const ask = (key: string, change: Partial<SeriesAsk> = {}): SeriesAsk => ({
  runIds: ["r"],
  key,
  x: "step",
  start: null,
  end: null,
  buckets: 500,
  ...change,
});

const series = (key: string) => ({ run_id: "r", key }) as SeriesData;
const answering = () => vi.fn(async (body: SeriesRequest) => ({ series: body.keys.map(series) }));
const soon = (run: () => void) => void Promise.resolve().then(run);

describe("loader", () => {
  it("sends one request for cards that ask together and gives each its own key", async () => {
    const send = answering();
    const load = createLoader(send, soon);
    const [a, b] = await Promise.all([load(ask("a")), load(ask("b"))]);
    expect(send).toHaveBeenCalledTimes(1);
    expect(a?.map((s) => s.key)).toEqual(["a"]);
    expect(b?.map((s) => s.key)).toEqual(["b"]);
  });

  it("splits a large batch so that the first cards do not wait for the last", async () => {
    const send = answering();
    const load = createLoader(send, soon);
    await Promise.all(Array.from({ length: KEYS_PER_REQUEST * 2 + 1 }, (_, i) => load(ask(`k${i}`))));
    expect(send).toHaveBeenCalledTimes(3);
  });

  it("never mixes ranges, axes or runs", async () => {
    const send = answering();
    const load = createLoader(send, soon);
    await Promise.all([load(ask("a")), load(ask("a", { start: 5 })), load(ask("a", { x: "time" }))]);
    expect(send).toHaveBeenCalledTimes(3);
  });

  it("aborts a request only when the last card in it has left", async () => {
    let given: AbortSignal | undefined;
    const send = vi.fn((_: SeriesRequest, signal: AbortSignal) => {
      given = signal;
      return new Promise<{ series: SeriesData[] }>(() => {});
    });
    const load = createLoader(send, soon);
    const [one, two] = [new AbortController(), new AbortController()];
    const asked = [load(ask("a"), one.signal), load(ask("b"), two.signal)].map((p) => p.catch(() => "left"));
    await vi.waitFor(() => expect(send).toHaveBeenCalled());
    one.abort();
    expect(given?.aborted).toBe(false);
    two.abort();
    expect(given?.aborted).toBe(true);
    expect(await Promise.all(asked)).toEqual(["left", "left"]);
  });

  it("does not send for a card that left before the batch went out", async () => {
    const send = answering();
    const load = createLoader(send, soon);
    const gone = new AbortController();
    const asked = load(ask("a"), gone.signal).catch(() => "left");
    gone.abort();
    expect(await asked).toBe("left");
    expect(send).not.toHaveBeenCalled();
  });

  it("hands an error to every card of the batch", async () => {
    const load = createLoader(() => Promise.reject(new Error("no")), soon);
    const outcomes = await Promise.allSettled([load(ask("a")), load(ask("b"))]);
    expect(outcomes.map((o) => o.status)).toEqual(["rejected", "rejected"]);
  });
});

it("asks for as many buckets as there are pixels, in steps, within limits", () => {
  expect([10, 431, 449, 5000].map(bucketsFor)).toEqual([200, 500, 500, 2000]);
});
