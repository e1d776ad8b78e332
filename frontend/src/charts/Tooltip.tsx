import { useLayoutEffect, useRef } from "react";
import { exactNumber, formatNumber, formatTime } from "../lib/format";
import { currentLanguage, t } from "../messages";
import type { ChartLine } from "./LineChart";
import { LineSwatch } from "./LineSwatch";
import type { Mark, XAxis } from "./series";
import { durationLabel } from "./ticks";

export interface TooltipState {
  /** x under the cursor. */
  readonly at: number;
  /** Where the cursor is, and how wide the chart is, in CSS pixels. */
  readonly left: number;
  readonly width: number;
  readonly entries: readonly { readonly line: ChartLine; readonly index: number; readonly marks: readonly Mark[] }[];
  /** `id` of the line under the pointer. */
  readonly nearest: string;
}

const SHOWN_MAX = 10;
const GAP_PX = 12;

/** The values of all lines at the cursor, largest first. */
export function Tooltip({ state, x }: { readonly state: TooltipState; readonly x: XAxis }) {
  const box = useRef<HTMLDivElement>(null);
  // Beside the cursor, on the side with more room, and never beyond the chart.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const width = element.offsetWidth;
    const wanted = state.left > state.width / 2 ? state.left - GAP_PX - width : state.left + GAP_PX;
    element.style.left = `${Math.max(0, Math.min(wanted, state.width - width))}px`;
  });
  const value = ({ line, index }: TooltipState["entries"][number]) => line.y[index] ?? Number.NEGATIVE_INFINITY;
  const sorted = state.entries.toSorted((a, b) => value(b) - value(a));
  const shown = sorted.slice(0, SHOWN_MAX);
  const near = sorted.find((entry) => entry.line.id === state.nearest);
  if (near && !shown.includes(near)) shown[shown.length - 1] = near;
  if (shown.length === 0) return null;
  return (
    <div ref={box} className="chart-tip" aria-hidden="true">
      <div className="chart-tip-x">{xLabel(x, pointX(near ?? shown[0], state.at))}</div>
      {shown.map((entry) => (
        <Entry key={entry.line.id} entry={entry} strong={entry.line.id === state.nearest && state.entries.length > 1} />
      ))}
      {sorted.length > shown.length && (
        <div className="faint">{t("charts.moreLines", { count: sorted.length - shown.length })}</div>
      )}
    </div>
  );
}

function pointX(entry: TooltipState["entries"][number] | undefined, at: number): number {
  return entry && entry.index >= 0 ? (entry.line.x[entry.index] as number) : (entry?.marks[0]?.x ?? at);
}

function Entry({ entry, strong }: { readonly entry: TooltipState["entries"][number]; readonly strong: boolean }) {
  const { line, index, marks } = entry;
  const raw = line.raw[index];
  const [low, high] = [line.low[index], line.high[index]];
  return (
    <div className={strong ? "chart-tip-row strong" : "chart-tip-row"}>
      <LineSwatch colour={line.colour} dash={line.dash} />
      <span className="chart-tip-name ellipsis">{line.label}</span>
      <span className="chart-tip-value">
        {index >= 0 && formatNumber(line.y[index])}
        {line.smoothed && raw !== null && raw !== undefined && <span className="faint"> {formatNumber(raw)}</span>}
        {line.banded && low !== null && low !== undefined && low !== high && (
          <span className="faint">
            {" "}
            {formatNumber(low)} – {formatNumber(high)}
          </span>
        )}
        {marks.map((mark) => (
          <span key={mark.kind} className="chart-tip-mark">
            {" "}
            {exactNumber(mark.kind)} ×{mark.count}
          </span>
        ))}
      </span>
    </div>
  );
}

export function xLabel(x: XAxis, at: number): string {
  if (x === "time") return formatTime(at, currentLanguage());
  if (x === "relative") return durationLabel(at);
  return t("charts.stepAt", { step: formatNumber(at) });
}
