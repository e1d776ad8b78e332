import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type Ref, type RefObject, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import type { LogLine as Line } from "../../api/types";
import { currentLanguage, t } from "../../messages";
import { Button } from "../../ui/Button";
import { LogLine } from "./LogLine";
import type { LogSession, LogState } from "./session";
import { firstCursor, lineKey } from "./window";

export interface LogLinesHandle {
  /** Goes to the next (1) or previous (-1) line that holds what is searched. */
  readonly moveHit: (by: 1 | -1) => void;
}

interface LogLinesProps {
  readonly ref: Ref<LogLinesHandle>;
  readonly session: LogSession;
  readonly state: LogState;
  readonly lines: readonly Line[];
  readonly matcher: RegExp | null;
  readonly wrap: boolean;
  readonly times: boolean;
  readonly gutter: boolean;
  /** `node:seq` of the line that the address points at. */
  readonly marked: string | null;
}

const LINE_PX = 19;
/** Loads the next page when this close to an edge. */
const EDGE_PX = 1_500;
/** Still counts as being at the end. */
const END_PX = 24;

type Rows = Virtualizer<HTMLDivElement, Element>;

export function LogLines(props: LogLinesProps) {
  const { ref, session, state, lines, matcher, wrap, times, gutter, marked } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => lineKey(lines[index] as Line),
    overscan: 30,
    paddingStart: 28,
    paddingEnd: 36,
  });
  const [hit, setHit] = useState<string | null>(null);
  usePlace(rows, scroller, props);
  const scrolling = useScrolling(rows, session, state);

  useImperativeHandle(ref, () => ({
    moveHit: (by) => {
      if (!matcher || lines.length === 0) return;
      const shown = rows.getVirtualIndexes();
      const at = lines.findIndex((line) => lineKey(line) === hit);
      const from = at >= 0 ? at + by : by > 0 ? (shown[0] ?? 0) : (shown.at(-1) ?? lines.length - 1);
      const next = Math.min(lines.length - 1, Math.max(0, from));
      session.setFollowing(false);
      setHit(lineKey(lines[next] as Line));
      rows.scrollToIndex(next, { align: "center" });
    },
  }));

  return (
    <div className="logs-body">
      <div
        ref={scroller}
        className={wrap ? "logs-scroll wrap" : "logs-scroll"}
        {...scrolling}
        role="log"
        aria-live="off"
        aria-label={t("logs.label")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard.
        tabIndex={0}
      >
        <div className="logs-canvas" style={{ height: rows.getTotalSize() }}>
          <Edge state={state} at="start" />
          {rows.getVirtualItems().map((item) => {
            const line = lines[item.index] as Line;
            const key = lineKey(line);
            return (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={item.index}
                className="logs-row"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogLine
                  line={line}
                  matcher={matcher}
                  times={times}
                  gutter={gutter}
                  marked={key === marked}
                  current={key === hit}
                />
              </div>
            );
          })}
          <Edge state={state} at="end" session={session} />
        </div>
      </div>
      {state.pending > 0 && (
        <Button className="logs-new" kind="primary" icon="arrowDown" onClick={() => session.setFollowing(true)}>
          {t("logs.newLines", { count: state.pending })}
        </Button>
      )}
    </div>
  );
}

/** What the first and the last row say about the log's ends. */
function Edge({ state, at, session }: { state: LogState; at: "start" | "end"; session?: LogSession }) {
  const { window, scannedToNs, ended, busy } = state;
  const className = `logs-edge logs-edge-${at}`;
  if (at === "start") {
    const first = window.pages.length > 0 && firstCursor(window) === null;
    return (
      <div className={className}>{first ? t("logs.beginning") : busy === "before" ? t("common.loading") : ""}</div>
    );
  }
  if (scannedToNs !== null && !window.eof) {
    return (
      <div className={className}>
        {t("logs.partly", { time: clockTime(scannedToNs) })}{" "}
        <Button kind="quiet" onClick={() => void session?.loadAfter()}>
          {t("logs.goOn")}
        </Button>
      </div>
    );
  }
  return (
    <div className={className}>
      {window.eof && ended ? t("logs.ended") : busy === "after" ? t("common.loading") : ""}
    </div>
  );
}

function clockTime(ns: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), { timeStyle: "medium" }).format(ns / 1e6);
}

/**
 * Keeps the reader's place. After a jump the view goes to the target; while following it stays at the end; when lines are
 * added above, the line that was on top stays where it was.
 */
function usePlace(rows: Rows, scroller: RefObject<HTMLElement | null>, { state, lines, marked }: LogLinesProps) {
  const top = useRef<{ key: string; offset: number } | null>(null);
  const jumps = useRef(-1);
  const firstKey = lines[0] ? lineKey(lines[0]) : null;
  const was = useRef(firstKey);

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the lines change, not when the view scrolls.
  useLayoutEffect(() => {
    if (lines.length === 0) return;
    if (jumps.current !== state.jumps) {
      jumps.current = state.jumps;
      goTo(rows, state, lines);
    } else if (state.following) rows.scrollToOffset(rows.getTotalSize());
    else if (was.current !== firstKey && top.current) {
      const index = lines.findIndex((line) => lineKey(line) === top.current?.key);
      const start = index < 0 ? undefined : rows.getOffsetForIndex(index, "start")?.[0];
      if (start !== undefined) rows.scrollToOffset(start - top.current.offset);
    }
    was.current = firstKey;
  }, [lines, state.jumps, state.following, marked]);

  // Remember what is on top, for the next time.
  useEffect(() => {
    const offset = rows.scrollOffset ?? 0;
    const item = rows.getVirtualItems().find((one) => one.end > offset);
    top.current = item ? { key: String(item.key), offset: item.start - offset } : null;
  });

  // Rows that turn out taller than estimated must not push the end out of sight.
  const size = rows.getTotalSize();
  useLayoutEffect(() => {
    if (state.following && scroller.current) scroller.current.scrollTop = size;
  }, [size, state.following, scroller]);
}

function goTo(rows: Rows, { target }: LogState, lines: readonly Line[]) {
  if (target === "start") rows.scrollToOffset(0);
  else if (target === "end") rows.scrollToOffset(rows.getTotalSize());
  else {
    const index = lines.findIndex((line) => lineKey(line) === target.line);
    if (index >= 0) rows.scrollToIndex(index, { align: "center" });
  }
}

/** A scroll this soon after the reader's hand moved is his. */
const HAND_MS = 500;

/** Loads near the edges; when the reader scrolls up following stops, when he reaches the end it starts. */
function useScrolling(rows: Rows, session: LogSession, state: LogState) {
  const last = useRef(0);
  const hand = useRef({ at: 0, down: false });
  const moved = () => {
    hand.current.at = Date.now();
  };
  const onScroll = (event: { currentTarget: HTMLElement }) => {
    const { scrollTop, clientHeight } = event.currentTarget;
    const below = rows.getTotalSize() - scrollTop - clientHeight;
    const up = scrollTop < last.current - 1;
    last.current = scrollTop;
    // Rows that are measured anew move the view too; only the reader changes what he wants.
    const meant = hand.current.down || Date.now() - hand.current.at < HAND_MS;
    if (meant && up && below > END_PX && state.following) session.setFollowing(false);
    else if (meant && !up && below <= END_PX && state.window.eof && !state.ended) session.setFollowing(true);
    if (scrollTop < EDGE_PX && up) void session.loadBefore();
    if (below < EDGE_PX && !up) void session.loadAfter();
  };
  return {
    onScroll,
    onWheel: moved,
    onKeyDown: moved,
    onTouchMove: moved,
    onPointerDown: () => {
      hand.current.down = true;
    },
    onPointerUp: () => {
      moved();
      hand.current.down = false;
    },
  };
}
