import { type RefObject, useEffect, useState } from "react";
import type { LogLevel, LogLine } from "../../api/types";
import { plain } from "../../lib/ansi";
import { zoneName } from "../../lib/format";
import { currentLanguage, t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { copyText } from "../../ui/CopyButton";
import { Menu, type MenuItem } from "../../ui/Menu";
import { Popover } from "../../ui/Popover";
import { toast, toastError } from "../../ui/Toast";
import { isFiltering, LEVELS, type LogFilter, matcherOf } from "./filter";
import type { LogState } from "./session";
import { downloadUrl, rawUrl } from "./source";
import type { Stats } from "./useStats";

interface ToolbarProps {
  readonly base: string;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly filter: LogFilter;
  readonly onFilter: (filter: LogFilter) => void;
  readonly attempt: number | null;
  readonly attempts: readonly number[];
  readonly onAttempt: (attempt: number) => void;
  readonly nodes: number;
  readonly stats: Stats;
  readonly state: LogState;
  readonly lines: readonly LogLine[];
  readonly wrap: boolean;
  readonly onWrap: (on: boolean) => void;
  readonly times: boolean;
  readonly onTimes: (on: boolean) => void;
  readonly onFollow: () => void;
  readonly onHit: (by: 1 | -1) => void;
}

export function LogToolbar(props: ToolbarProps) {
  const { filter, onFilter, attempt, attempts, nodes, state, wrap, times } = props;
  return (
    <div className="toolbar logs-toolbar">
      <Search {...props} />
      {attempts.length > 1 && (
        <select
          className="field"
          aria-label={t("logs.attempt")}
          value={attempt ?? ""}
          onChange={(event) => props.onAttempt(Number(event.target.value))}
        >
          {attempts.map((number) => (
            <option key={number} value={number}>
              {t("logs.attemptN", { n: number + 1 })}
            </option>
          ))}
        </select>
      )}
      {nodes > 1 && (
        <select
          className="field"
          aria-label={t("logs.node")}
          value={filter.node ?? ""}
          onChange={(event) =>
            onFilter({ ...filter, node: event.target.value === "" ? null : Number(event.target.value) })
          }
        >
          <option value="">{t("logs.allNodes")}</option>
          {Array.from({ length: nodes }, (_, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a node is its number.
            <option key={n} value={n}>
              {t("logs.nodeN", { n })}
            </option>
          ))}
        </select>
      )}
      <Levels {...props} />
      <TimeRange key={`${filter.fromMs} ${filter.toMs}`} filter={filter} onFilter={onFilter} stats={props.stats} />
      <div className="toolbar-end">
        {state.following &&
          !state.ended &&
          !state.connected &&
          state.phase === "ready" &&
          state.emptyReason === null && (
            <span className="muted" role="status">
              {t("logs.reconnecting")}
            </span>
          )}
        {!state.ended && (
          <Button
            className="logs-follow"
            icon={state.following ? "pause" : "play"}
            aria-pressed={state.following}
            onClick={props.onFollow}
          >
            {state.following ? t("logs.following") : t("logs.follow")}
          </Button>
        )}
        <IconButton icon="wrap" label={t("logs.wrap")} pressed={wrap} onClick={() => props.onWrap(!wrap)} />
        <IconButton icon="clock" label={t("logs.timestamps")} pressed={times} onClick={() => props.onTimes(!times)} />
        <IconButton
          icon="copy"
          label={t("logs.copyLoaded", { count: props.lines.length })}
          disabled={props.lines.length === 0}
          onClick={() => void copyLines(props.lines)}
        />
        <Downloads {...props} />
      </div>
    </div>
  );
}

async function copyLines(lines: readonly LogLine[]): Promise<void> {
  try {
    await copyText(lines.map((line) => plain(line.text)).join("\n"));
    toast({ message: t("logs.copied", { count: lines.length }) });
  } catch (error) {
    toastError(error);
  }
}

const TYPING_MS = 250;

/** The search field; what is typed takes effect after a pause or with Enter. */
function Search({ field, filter, onFilter, stats, lines, onHit }: ToolbarProps) {
  const [draft, setDraft] = useState(filter.q);
  const [asked, setAsked] = useState(filter.q);
  if (asked !== filter.q) {
    // Changed from outside: cleared, or another link.
    setAsked(filter.q);
    setDraft(filter.q);
  }
  useEffect(() => {
    if (draft === filter.q) return;
    const timer = setTimeout(() => onFilter({ ...filter, q: draft }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [draft, filter, onFilter]);
  const broken = draft !== "" && filter.regex && matcherOf({ ...filter, q: draft }) === null;
  return (
    <div className="logs-search">
      <input
        ref={field}
        type="search"
        className="field"
        value={draft}
        placeholder={t("logs.search")}
        aria-label={t("logs.search")}
        aria-invalid={broken}
        title={broken ? t("logs.badRegex") : undefined}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onHit(event.shiftKey ? -1 : 1);
          if (event.key !== "Escape") return;
          // A search field would empty itself; here Escape only leaves it, so that `n` goes on to the next hit.
          event.preventDefault();
          event.currentTarget.blur();
        }}
      />
      <button
        type="button"
        className="logs-toggle mono"
        aria-pressed={filter.matchCase}
        aria-label={t("logs.case")}
        title={t("logs.case")}
        onClick={() => onFilter({ ...filter, matchCase: !filter.matchCase })}
      >
        Aa
      </button>
      <button
        type="button"
        className="logs-toggle mono"
        aria-pressed={filter.regex}
        aria-label={t("logs.regex")}
        title={t("logs.regex")}
        onClick={() => onFilter({ ...filter, regex: !filter.regex })}
      >
        .*
      </button>
      {filter.q !== "" && (
        <>
          <IconButton icon="arrowUp" label={t("logs.previous")} onClick={() => onHit(-1)} />
          <IconButton icon="arrowDown" label={t("logs.next")} onClick={() => onHit(1)} />
        </>
      )}
      <span className="logs-hits" role="status">
        {isFiltering(filter) && hitsText(stats, lines.length)}
      </span>
    </div>
  );
}

function hitsText({ matching }: Stats, loaded: number): string {
  if (!matching) return "";
  const count = matching.lines;
  // The count stopped at its time limit: at least what is on the screen is there.
  if (matching.scanned_to_ns) return t("logs.hitsSoFar", { count: Math.max(count, loaded) });
  return count === 0 ? t("logs.noHits") : t("logs.hits", { count });
}

/** One switch per level with its count; none on means all. */
function Levels({ filter, onFilter, stats }: ToolbarProps) {
  const counts = levelCounts(stats);
  const toggle = (level: LogLevel) => {
    const on = filter.levels.includes(level);
    const levels = LEVELS.filter((one) => (one === level ? !on : filter.levels.includes(one)));
    onFilter({ ...filter, levels: levels.length === LEVELS.length ? [] : levels });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: three toggles in a row, not a form's fieldset.
    <div className="logs-levels" role="group" aria-label={t("logs.levels")}>
      {LEVELS.map((level) => (
        <button
          key={level}
          type="button"
          className={`logs-level logs-level-${level}`}
          aria-pressed={filter.levels.includes(level)}
          onClick={() => toggle(level)}
        >
          {t(`logs.level.${level}`)}
          {counts && <span className="logs-level-count">{compact(counts[level])}</span>}
        </button>
      ))}
    </div>
  );
}

function levelCounts({ whole }: Stats): Record<LogLevel, number> | null {
  if (!whole) return null;
  const counts = { info: 0, warning: 0, error: 0 };
  for (const { infos, warnings, errors } of whole.nodes) {
    counts.info += infos;
    counts.warning += warnings;
    counts.error += errors;
  }
  return counts;
}

function compact(count: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(count);
}

function TimeRange({ filter, onFilter, stats }: Pick<ToolbarProps, "filter" | "onFilter" | "stats">) {
  const [from, setFrom] = useState(localText(filter.fromMs ?? firstMs(stats)));
  const [to, setTo] = useState(localText(filter.toMs ?? lastMs(stats)));
  const on = filter.fromMs !== null || filter.toMs !== null;
  return (
    <Popover
      label={t("logs.time")}
      trigger={(trigger) => <IconButton icon="calendar" label={t("logs.time")} pressed={on} {...trigger} />}
    >
      {(close) => (
        <form
          className="logs-time"
          onSubmit={(event) => {
            event.preventDefault();
            close();
            onFilter({ ...filter, fromMs: parseLocal(from), toMs: parseLocal(to) });
          }}
        >
          <label>
            {t("logs.from")}
            <input
              className="field"
              type="datetime-local"
              step={1}
              value={from}
              onChange={(e) => setFrom(e.target.value)}
            />
          </label>
          <label>
            {t("logs.to")}
            <input
              className="field"
              type="datetime-local"
              step={1}
              value={to}
              onChange={(e) => setTo(e.target.value)}
            />
          </label>
          <span className="faint">{t("logs.zone", { zone: zoneName(Date.now(), currentLanguage()) })}</span>
          <div className="logs-time-actions">
            <Button
              disabled={!on}
              onClick={() => {
                close();
                onFilter({ ...filter, fromMs: null, toMs: null });
              }}
            >
              {t("logs.clearTime")}
            </Button>
            <Button kind="primary" type="submit">
              {t("logs.apply")}
            </Button>
          </div>
        </form>
      )}
    </Popover>
  );
}

function firstMs({ whole }: Stats): number | null {
  return whole?.first_time_ns ? Math.floor(whole.first_time_ns / 1e9) * 1000 : null;
}

function lastMs({ whole }: Stats): number | null {
  return whole?.last_time_ns ? Math.ceil(whole.last_time_ns / 1e9) * 1000 : null;
}

/** `2026-01-05T09:50:00` in local time, as the field wants it. */
function localText(ms: number | null): string {
  if (ms === null) return "";
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

function parseLocal(text: string): number | null {
  const ms = new Date(text).getTime();
  return text === "" || Number.isNaN(ms) ? null : ms;
}

function Downloads({ base, attempt, filter, nodes }: ToolbarProps) {
  const go = (url: string) => () => {
    const link = document.createElement("a");
    link.href = url;
    link.download = "";
    link.click();
  };
  const raw: MenuItem[] =
    nodes > 1
      ? Array.from({ length: nodes }, (_, n) => ({
          label: t("logs.downloadRawNode", { n }),
          onSelect: go(rawUrl(base, attempt, n)),
        }))
      : [{ label: t("logs.downloadRaw"), onSelect: go(rawUrl(base, attempt, 0)) }];
  return (
    <Menu
      label={t("logs.download")}
      align="end"
      items={[
        {
          label: isFiltering(filter) ? t("logs.downloadFiltered") : t("logs.downloadAll"),
          onSelect: go(downloadUrl(base, attempt, filter)),
        },
        "line",
        ...raw,
      ]}
      trigger={(trigger) => <IconButton icon="download" label={t("logs.download")} {...trigger} />}
    />
  );
}
