import { useDeferredValue, useMemo, useState } from "react";
import { runStyles } from "../lib/colours";
import { formatNumber, formatTime } from "../lib/format";
import { currentLanguage, t } from "../messages";
import { IconButton } from "../ui/Button";
import type { Card } from "./cards";
import { type ChartLine, LineChart } from "./LineChart";
import { LineSwatch } from "./LineSwatch";
import { bucketsFor } from "./loader";
import { type ChartView, countNonFinite, type NonFiniteCount, prepare, type Range, type XAxis } from "./series";
import { durationLabel } from "./ticks";
import { useSeries } from "./useSeries";

export interface ChartRun {
  readonly id: string;
  readonly name: string;
  /** What tells it from runs of the same name. */
  readonly detail?: string;
  /** Still writing: its charts follow. */
  readonly live: boolean;
}

interface ChartCardProps {
  readonly card: Card;
  readonly runs: readonly ChartRun[];
  readonly view: ChartView;
  readonly range: Range | null;
  readonly onRange: (range: Range | null) => void;
  readonly height: number;
  readonly onExpand?: () => void;
  /** Names under the picture, with points drawn and logged. */
  readonly legend?: boolean;
}

/** One chart with its title, what it could not draw, and how much it drew. */
export function ChartCard({ card, runs, view, range, onRange, height, onExpand, legend = false }: ChartCardProps) {
  const [width, setWidth] = useState(0);
  const runIds = useMemo(() => runs.map((run) => run.id), [runs]);
  const query = useSeries({
    runIds,
    keys: card.keys,
    x: view.x,
    range,
    buckets: width > 0 ? bucketsFor(width) : 0,
    live: runs.some((run) => run.live),
  });
  // Dragging the smoothing slider must not wait for thirty charts.
  const looks = useDeferredValue(view);
  const lines = useLines(query.data, card, runs, looks);
  return (
    <>
      <CardHeader card={card} lines={lines} onExpand={onExpand} range={range} onRange={onRange} />
      <div className={query.isPlaceholderData ? "chart-body stale" : "chart-body"}>
        <LineChart
          lines={lines}
          view={looks}
          range={range}
          onRange={onRange}
          height={height}
          atLeast={card.atLeast}
          onWidth={setWidth}
          label={t("charts.label", { key: card.title, count: lines.length })}
        />
        {query.isError && <p className="chart-note">{t("charts.failed")}</p>}
        {query.isSuccess && lines.length === 0 && <p className="chart-note">{t("charts.noPoints")}</p>}
      </div>
      <Badges lines={lines} x={view.x} />
      {legend && <Legend lines={lines} />}
    </>
  );
}

function useLines(
  data: readonly Parameters<typeof prepare>[0][] | undefined,
  card: Card,
  runs: readonly ChartRun[],
  view: ChartView,
): readonly ChartLine[] {
  return useMemo(() => {
    const names = new Map(runs.map((run) => [run.id, run.name]));
    const several = card.keys.length > 1;
    const lines = (data ?? []).filter((series) => names.has(series.run_id)).map((series) => prepare(series, view));
    const styles = runStyles(several ? lines.map((line) => line.id) : runs.map((run) => run.id));
    return lines.map((line) => {
      const style = styles.get(several ? line.id : line.runId);
      const run = names.get(line.runId) ?? line.runId;
      const key = card.keyLabel?.(line.key) ?? line.key;
      const label = !several ? run : runs.length > 1 ? `${run} · ${key}` : key;
      return { ...line, label, colour: style?.colour ?? "currentColor", dash: style?.dash ?? [] };
    });
  }, [data, card, runs, view]);
}

interface HeaderProps {
  readonly card: Card;
  readonly lines: readonly ChartLine[];
  readonly onExpand: (() => void) | undefined;
  readonly range: Range | null;
  readonly onRange: (range: Range | null) => void;
}

function CardHeader({ card, lines, onExpand, range, onRange }: HeaderProps) {
  return (
    <div className="chart-header">
      <h2 className="chart-title ellipsis" title={card.title}>
        {card.title}
      </h2>
      <span className="chart-points">{pointsText(lines)}</span>
      {range && <IconButton icon="refresh" label={t("charts.resetZoom")} onClick={() => onRange(null)} />}
      {onExpand && <IconButton icon="expand" label={t("charts.fullScreen", { key: card.title })} onClick={onExpand} />}
    </div>
  );
}

/** What the picture cannot show, in a line below it that is there in any case, so that nothing moves when it fills. */
function Badges({ lines, x }: { readonly lines: readonly ChartLine[]; readonly x: XAxis }) {
  const hidden = lines.reduce((sum, line) => sum + line.hidden, 0);
  return (
    <div className="chart-badges">
      {countNonFinite(lines).map((found) => (
        <span key={found.kind} className="chart-badge" title={badgeText(found, x)}>
          {badgeText(found, x)}
        </span>
      ))}
      {hidden > 0 && <span className="chart-badge quiet">{t("charts.hidden", { count: hidden })}</span>}
    </div>
  );
}

const SIGNS = { NaN: "NaN", Infinity: "+∞", "-Infinity": "−∞" } as const;

function badgeText({ kind, count, firstX }: NonFiniteCount, x: XAxis): string {
  const values = { count, kind: SIGNS[kind] };
  if (x === "step") return t("charts.fromStep", { ...values, x: firstX });
  const at = x === "time" ? formatTime(firstX, currentLanguage()) : durationLabel(firstX);
  return t("charts.fromTime", { ...values, x: at });
}

function pointsText(lines: readonly ChartLine[]): string {
  if (lines.length === 0) return "";
  const count = lines.reduce((sum, line) => sum + line.points, 0);
  if (lines.every((line) => line.exact)) return t("charts.allPoints", { count });
  return t("charts.somePoints", { count, drawn: lines.reduce((sum, line) => sum + line.drawn, 0) });
}

function Legend({ lines }: { readonly lines: readonly ChartLine[] }) {
  return (
    <ul className="chart-legend">
      {lines.map((line) => (
        <li key={line.id}>
          <LineSwatch colour={line.colour} dash={line.dash} />
          <span className="ellipsis">{line.label}</span>
          <span className="faint">
            {formatNumber(line.raw.findLast((v) => v !== null) ?? null)} · {pointsText([line])}
          </span>
        </li>
      ))}
    </ul>
  );
}
