import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogPage } from "../../api/types";
import { type FollowHandlers, LogSession, type LogSource, type Start } from "./session";
import { linesOf } from "./window";

const TOTAL = 10_000;

/** A log of numbered lines that answers like the server; cursors are line numbers. */
class FakeLog {
  total = TOTAL;
  ended = false;
  handlers: FollowHandlers | null = null;
  followedAfter: string | null = null;
  asked: Start[] = [];

  readonly source: LogSource = {
    page: async (start, limit) => {
      this.asked.push(start);
      const [from, to] = this.range(start, limit);
      return this.slice(from, to);
    },
    follow: (after, handlers) => {
      this.followedAfter = after;
      this.handlers = handlers;
      return () => {
        this.handlers = null;
      };
    },
  };

  write(count: number): void {
    const from = this.total;
    this.total += count;
    this.handlers?.onLines(this.slice(from, this.total));
  }

  slice(from: number, to: number): LogPage {
    const lines = Array.from({ length: to - from }, (_, i) => ({
      node: 0,
      seq: from + i,
      time_ns: from + i,
      level: "info" as const,
      text: "x",
    }));
    return {
      lines,
      prev: from === 0 ? null : String(from),
      next: String(to),
      eof: to === this.total,
      ended: this.ended,
      attempt: 1,
      num_nodes: 1,
      empty_reason: lines.length === 0 ? "no_output" : null,
    };
  }

  private range(start: Start, limit: number): [number, number] {
    if ("tail" in start) return [Math.max(0, this.total - start.tail), this.total];
    if ("after" in start) return [Number(start.after), Math.min(this.total, Number(start.after) + limit)];
    if ("before" in start) return [Math.max(0, Number(start.before) - limit), Number(start.before)];
    if ("around" in start) {
      const middle = Number(start.around.split(":")[1]);
      return [Math.max(0, middle - limit / 2), Math.min(this.total, middle + limit / 2)];
    }
    return [0, Math.min(limit, this.total)];
  }
}

function open() {
  const log = new FakeLog();
  const session = new LogSession(log.source);
  const seqs = () => linesOf(session.current().window).map((line) => line.seq);
  return { log, session, seqs };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a session", () => {
  it("starts at the end and shows new lines while it follows", async () => {
    const { log, session, seqs } = open();
    await session.jump("end");
    expect(log.followedAfter).toBe(String(TOTAL));
    log.write(5);
    log.write(5);
    vi.advanceTimersByTime(100);
    expect(seqs().at(-1)).toBe(TOTAL + 9);
    expect(session.current().pending).toBe(0);
  });

  it("only counts new lines while paused, and resuming shows all of them", async () => {
    const { log, session, seqs } = open();
    await session.jump("end");
    session.setFollowing(false);
    const before = seqs();
    log.write(7);
    vi.advanceTimersByTime(100);
    expect(session.current().pending).toBe(7);
    expect(seqs()).toEqual(before);
    session.setFollowing(true);
    await vi.waitFor(() => expect(seqs().at(-1)).toBe(TOTAL + 6));
    expect(session.current()).toMatchObject({ pending: 0, following: true });
  });

  it("does not follow while it looks at the middle, and does once it reaches the end", async () => {
    const { log, session, seqs } = open();
    await session.jump({ line: `0:${TOTAL - 1500}` });
    expect(log.handlers).toBeNull();
    expect(session.current().target).toEqual({ line: `0:${TOTAL - 1500}` });
    await session.loadAfter();
    expect(seqs().at(-1)).toBe(TOTAL - 1);
    expect(log.handlers).not.toBeNull();
  });

  it("walks back to the first line without a hole", async () => {
    const { session, seqs } = open();
    await session.jump("end");
    for (let i = 0; i < 20; i++) await session.loadBefore();
    expect(seqs()[0]).toBe(0);
    seqs().forEach((seq, i) => {
      expect(seq).toBe(i);
    });
  });

  it("waits for the first output and then shows it", async () => {
    const { log, session, seqs } = open();
    log.total = 0;
    await session.jump("end");
    expect(session.current().emptyReason).toBe("no_output");
    log.total = 3;
    await vi.advanceTimersByTimeAsync(3_100);
    expect(seqs()).toEqual([0, 1, 2]);
  });

  it("stops for good when the attempt ended", async () => {
    const { log, session } = open();
    await session.jump("end");
    log.handlers?.onEnd();
    expect(session.current().ended).toBe(true);
    expect(log.handlers).toBeNull();
  });

  it("opens no stream for a log that is over", async () => {
    const { log, session } = open();
    log.ended = true;
    await session.jump("end");
    expect(log.handlers).toBeNull();
  });

  it("says what went wrong", async () => {
    const session = new LogSession({ page: () => Promise.reject(new Error("no")), follow: () => () => {} });
    await session.jump("end");
    expect(session.current()).toMatchObject({ phase: "failed", error: new Error("no") });
  });

  it("lets only the last jump win", async () => {
    const { session, seqs } = open();
    const slow = session.jump("start");
    await session.jump("end");
    await slow;
    expect(seqs().at(-1)).toBe(TOTAL - 1);
    expect(session.current().jumps).toBe(1);
  });
});
