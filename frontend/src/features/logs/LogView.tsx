import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useSearchParams } from "wouter";
import { useShortcuts } from "../../lib/keys";
import { readStored, writeStored } from "../../lib/storage";
import { t } from "../../messages";
import { LogEmpty } from "./LogEmpty";
import { LogLines, type LogLinesHandle } from "./LogLines";
import { LogToolbar } from "./LogToolbar";
import "./logs.css";
import { isFiltering, type LogFilter, matcherOf, NO_FILTER, readFilter, readLineAddress, writeFilter } from "./filter";
import { Minimap } from "./Minimap";
import { LogSession } from "./session";
import { logSource } from "./source";
import { useStats } from "./useStats";
import { linesOf } from "./window";

export interface LogViewProps {
  /** Address that owns the logs, e.g. `apiUrl("runs/abc")` or `apiUrl("job-runs/12")`. */
  readonly base: string;
  /** Numbers of the attempts to choose from, oldest first; leave out where there is one only (a run's page). */
  readonly attempts?: readonly number[];
  /** How many nodes the job asked for, where known; the log itself says it too. */
  readonly nodes?: number;
}

/** The output of a job run or of one attempt. Filters, place and attempt live in the page's address. */
export function LogView({ base, attempts, nodes }: LogViewProps) {
  const [search, setSearch] = useSearchParams();
  const filter = useStable(readFilter(search));
  const attempt = readAttempt(search, attempts);
  const address = readLineAddress(search);
  const change = useCallback(
    (next: LogFilter) => setSearch((now) => withoutLine(writeFilter(now, next)), { replace: true }),
    [setSearch],
  );

  const session = useMemo(() => new LogSession(logSource(base, attempt, filter)), [base, attempt, filter]);
  useEffect(() => {
    void session.jump(address ? { line: address } : "end");
    return () => session.close();
  }, [session, address]);
  const state = useSyncExternalStore(session.subscribe, session.current);
  const lines = useMemo(() => linesOf(state.window), [state.window]);
  const stats = useStats(base, attempt, filter, !state.ended);

  const [wrap, setWrap] = useStored("contrail.logs.wrap", true);
  const [times, setTimes] = useStored("contrail.logs.timestamps", false);
  const list = useRef<LogLinesHandle>(null);
  const field = useRef<HTMLInputElement>(null);
  const matcher = useMemo(() => matcherOf(filter), [filter]);
  const follow = () => session.setFollowing(!state.following);
  useShortcuts([
    { keys: "/", label: t("logs.search"), run: () => field.current?.select() },
    { keys: "n", label: t("logs.next"), run: () => list.current?.moveHit(1) },
    { keys: "shift+n", label: t("logs.previous"), run: () => list.current?.moveHit(-1) },
    { keys: "f", label: t("logs.followKey"), run: follow },
    { keys: "g", label: t("logs.top"), run: () => void session.jump("start") },
    { keys: "shift+g", label: t("logs.end"), run: () => void session.jump("end") },
    { keys: "w", label: t("logs.wrap"), run: () => setWrap(!wrap) },
    { keys: "t", label: t("logs.timestamps"), run: () => setTimes(!times) },
  ]);

  const nodeCount = Math.max(nodes ?? 1, state.nodes);
  return (
    <section className="logs" aria-label={t("logs.label")}>
      <LogToolbar
        base={base}
        field={field}
        filter={filter}
        onFilter={change}
        attempt={attempt ?? state.attempt}
        attempts={attempts ?? []}
        onAttempt={(number) => setSearch((now) => withAttempt(now, number), { replace: true })}
        nodes={nodeCount}
        stats={stats}
        state={state}
        lines={lines}
        wrap={wrap}
        onWrap={setWrap}
        times={times}
        onTimes={setTimes}
        onFollow={follow}
        onHit={(by) => list.current?.moveHit(by)}
      />
      <Minimap
        stats={stats.whole}
        lines={lines}
        onJump={(atMs) => void session.jump({ atMs })}
        onRange={(fromMs, toMs) => change({ ...filter, fromMs, toMs })}
      />
      {state.phase !== "loading" && lines.length === 0 ? (
        <LogEmpty state={state} filtering={isFiltering(filter)} onClear={() => change(NO_FILTER)} />
      ) : (
        <LogLines
          ref={list}
          session={session}
          state={state}
          lines={lines}
          matcher={matcher}
          wrap={wrap}
          times={times}
          gutter={nodeCount > 1 && filter.node === null}
          marked={address}
        />
      )}
    </section>
  );
}

/** The attempt that the address names; else none, which is the newest. */
export function readAttempt(search: URLSearchParams, attempts: readonly number[] | undefined): number | null {
  const asked = /^\d+$/.exec(search.get("attempt") ?? "");
  const number = asked ? Number(asked[0]) : -1;
  return attempts?.includes(number) ? number : null;
}

function withAttempt(search: URLSearchParams, attempt: number): URLSearchParams {
  const next = withoutLine(search);
  next.set("attempt", String(attempt));
  return next;
}

/** A link to a line is an arrival; any change of what is shown leaves it. */
function withoutLine(search: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(search);
  next.delete("line");
  return next;
}

/** The same object as long as it says the same. */
function useStable<T>(value: T): T {
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is the value.
  return useMemo(() => value, [text]);
}

function useStored(key: string, otherwise: boolean): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(() => (readStored(key) ?? String(otherwise)) === "true");
  const change = (next: boolean) => {
    writeStored(key, String(next));
    setOn(next);
  };
  return [on, change];
}
