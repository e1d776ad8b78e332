/**
 * One reading of a log: what was asked, the window that is held, following, and why there is nothing to see.
 *
 * Knows no React and no DOM. `LogSource` is the seam: pages come from it, and so do the events of a live log.
 */

import type { LogEmptyReason, LogPage } from "../../api/types";
import { append, EMPTY, firstCursor, type LogWindow, lastCursor, PAGE_LINES, prepend, startWith } from "./window";

/** Where a page starts; exactly one of them. */
export type Start =
  | { readonly tail: number }
  | { readonly head: true }
  | { readonly after: string }
  | { readonly before: string }
  | { readonly around: string }
  | { readonly atMs: number };

export interface FollowHandlers {
  readonly onLines: (page: LogPage) => void;
  readonly onEnd: () => void;
  readonly onConnected: (connected: boolean) => void;
}

export interface LogSource {
  readonly page: (start: Start, limit: number, signal: AbortSignal) => Promise<LogPage>;
  /** Opens the live stream after a cursor; returns what closes it. */
  readonly follow: (after: string | null, handlers: FollowHandlers) => () => void;
}

export interface LogState {
  readonly phase: "loading" | "ready" | "failed";
  readonly window: LogWindow;
  readonly ended: boolean;
  /** The view stays at the end and new lines are shown as they come. */
  readonly following: boolean;
  /** Lines that came while not following. */
  readonly pending: number;
  readonly connected: boolean;
  readonly busy: "before" | "after" | null;
  readonly emptyReason: LogEmptyReason | null;
  readonly message: string | null;
  readonly scannedToNs: number | null;
  readonly attempt: number | null;
  readonly nodes: number;
  readonly error: unknown;
  /** Grows each time the window was replaced; the view then goes to `target`. */
  readonly jumps: number;
  readonly target: Target;
}

export type Target = "start" | "end" | { readonly line: string };

const INITIAL: LogState = {
  phase: "loading",
  window: EMPTY,
  ended: false,
  following: false,
  pending: 0,
  connected: false,
  busy: null,
  emptyReason: null,
  message: null,
  scannedToNs: null,
  attempt: null,
  nodes: 1,
  error: null,
  jumps: 0,
  target: "end",
};

/** Followed lines are shown in gulps: a chatty log must not render a thousand times a second. */
const GULP_MS = 80;
/** How often to look whether something has been written at all. */
const WAIT_MS = 3_000;

export class LogSession {
  private state: LogState = INITIAL;
  private readonly listeners = new Set<() => void>();
  private controller = new AbortController();
  private closeFollow: (() => void) | null = null;
  private gulp: LogPage[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly source: LogSource) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly current = (): LogState => this.state;

  /** Reads from the end (and follows), from the start, around a line or from a time. Replaces the window. */
  async jump(to: "start" | "end" | { readonly line: string } | { readonly atMs: number }): Promise<void> {
    this.stop();
    const { signal } = this.controller;
    const start: Start =
      to === "end"
        ? { tail: PAGE_LINES }
        : to === "start"
          ? { head: true }
          : "line" in to
            ? { around: to.line }
            : { atMs: to.atMs };
    this.set({ busy: null, pending: 0, following: to === "end" });
    try {
      const page = await this.source.page(start, PAGE_LINES, signal);
      if (signal.aborted) return;
      this.show(page, typeof to === "object" && "atMs" in to ? "start" : to);
    } catch (error) {
      if (!signal.aborted) this.set({ phase: "failed", error, window: EMPTY });
    }
  }

  async loadBefore(): Promise<void> {
    const before = firstCursor(this.state.window);
    if (before === null || this.state.busy) return;
    await this.load("before", { before }, prepend);
  }

  async loadAfter(): Promise<void> {
    const after = lastCursor(this.state.window);
    if (after === null || this.state.busy || this.state.window.eof) return;
    await this.load("after", { after }, append);
    if (this.state.window.eof) {
      this.set({ pending: 0 });
      this.openFollow();
    }
  }

  /** Off: new lines are only counted. On: back to the end, where they appear. */
  setFollowing(following: boolean): void {
    if (following === this.state.following) return;
    if (following && (this.state.pending > 0 || !this.state.window.eof)) void this.jump("end");
    else this.set({ following });
  }

  close(): void {
    this.stop();
    this.state = INITIAL;
  }

  private async load(
    busy: "before" | "after",
    start: Start,
    join: (window: LogWindow, page: LogPage) => LogWindow,
  ): Promise<void> {
    const { signal } = this.controller;
    this.set({ busy });
    try {
      const page = await this.source.page(start, PAGE_LINES, signal);
      if (signal.aborted) return;
      const scannedToNs = busy === "after" ? (page.scanned_to_ns ?? null) : this.state.scannedToNs;
      const following = this.state.following && busy === "after";
      this.set({ busy: null, window: join(this.state.window, page), ended: page.ended, scannedToNs, following });
    } catch (error) {
      if (!signal.aborted) this.set({ busy: null, error });
    }
  }

  private show(page: LogPage, target: Target): void {
    const nothing = page.lines.length === 0;
    this.set({
      phase: "ready",
      window: startWith(page),
      ended: page.ended,
      emptyReason: nothing ? (page.empty_reason ?? null) : null,
      message: page.message ?? null,
      scannedToNs: page.scanned_to_ns ?? null,
      attempt: page.attempt,
      nodes: page.num_nodes,
      error: null,
      jumps: this.state.jumps + 1,
      target,
    });
    const unwritten = nothing && (page.empty_reason === "not_started" || page.empty_reason === "no_output");
    if (unwritten && !page.ended) this.waiting = setTimeout(() => void this.jump("end"), WAIT_MS);
    else this.openFollow();
  }

  private openFollow(): void {
    if (this.closeFollow || this.state.ended || !this.state.window.eof) return;
    this.closeFollow = this.source.follow(lastCursor(this.state.window), {
      onLines: (page) => this.swallow(page),
      onEnd: () => {
        this.flush();
        this.set({ ended: true });
        this.stopFollow();
      },
      onConnected: (connected) => this.set({ connected }),
    });
  }

  private swallow(page: LogPage): void {
    this.gulp.push(page);
    this.timer ??= setTimeout(() => this.flush(), GULP_MS);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const [first, ...rest] = this.gulp;
    this.gulp = [];
    if (!first) return;
    if (!this.state.following) {
      const lines = [first, ...rest].reduce((sum, page) => sum + page.lines.length, 0);
      this.set({ pending: this.state.pending + lines, window: { ...this.state.window, eof: false } });
      return;
    }
    const window = rest.reduce(append, append(this.state.window, first));
    this.set({ window: { ...window, eof: true }, emptyReason: null });
  }

  private stop(): void {
    this.controller.abort();
    this.controller = new AbortController();
    clearTimeout(this.waiting);
    this.stopFollow();
  }

  private stopFollow(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.gulp = [];
    this.closeFollow?.();
    this.closeFollow = null;
    if (this.state.connected) this.set({ connected: false });
  }

  private set(change: Partial<LogState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}
