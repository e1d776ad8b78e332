import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { token, useTheme } from "../lib/theme";
import { currentLanguage } from "../messages";
import { drawLine, drawMarks, type Projection } from "./draw";
import { highlighted, onHighlight, setHighlight } from "./highlight";
import { axisRange, type ChartView, type Line, nearestIndex, type Range, xExtent, yExtent } from "./series";
import { Tooltip, type TooltipState } from "./Tooltip";
import { linearTicks, logTicks, numberLabels, symlogThreshold, symlogTicks, xLabels, xTicks } from "./ticks";

/** A line with its looks. */
export interface ChartLine extends Line {
  readonly label: string;
  readonly colour: string;
  readonly dash: readonly number[];
}

interface LineChartProps {
  readonly lines: readonly ChartLine[];
  readonly view: ChartView;
  /** The zoomed part of x, or null for all of it. */
  readonly range: Range | null;
  readonly onRange: (range: Range | null) => void;
  readonly height: number;
  /** The y axis shows at least this. */
  readonly atLeast?: Range | undefined;
  /** The accessible name. */
  readonly label: string;
  readonly onWidth?: (width: number) => void;
}

/** All charts of a page share a cursor. */
const SYNC_KEY = "contrail";
const AXIS_FONT = "11px system-ui, sans-serif";
const DRAG_MIN_PX = 5;
const PADDING_RIGHT_PX = 10;
const HALF_LETTER_PX = 3.2;
/** About what the y axis takes from the width. */
const Y_AXIS_PX = 60;
/** More lines than this would be a cloud of dots. */
const DOTTED_LINES = 4;

/** Lines over one x. Drag zooms, double click shows all again, arrow keys move the cursor. */
export function LineChart(props: LineChartProps) {
  const { label, height, onWidth } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [tip, setTip] = useState<TooltipState | null>(null);
  const width = useWidth(host, onWidth);
  const theme = useTheme();
  const { xLog, y } = props.view;

  // biome-ignore lint/correctness/useExhaustiveDependencies: kinds of scale are fixed when a plot is made; the rest is updated below.
  useEffect(() => {
    if (!host.current || width === 0) return;
    plot.current = new Plot(host.current, width, height, latest, setTip);
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width > 0, xLog, y]);

  useEffect(() => plot.current?.resize(width, height), [width, height]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are exactly what the picture depends on.
  useEffect(() => plot.current?.update(), [props.lines, props.view, props.range, theme]);

  return (
    <div
      className="line-chart"
      style={{ height }}
      role="img"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture is explored with the arrow keys.
      tabIndex={0}
      onKeyDown={(event) => plot.current?.onKey(event)}
      onBlur={() => setTip(null)}
    >
      <div ref={host} className="line-chart-canvas" />
      {tip && <Tooltip state={tip} x={props.view.x} />}
    </div>
  );
}

function useWidth(element: RefObject<HTMLElement | null>, report?: (width: number) => void): number {
  const [width, setWidth] = useState(0);
  const reporter = useRef(report);
  reporter.current = report;
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      const next = Math.floor(entry?.contentRect.width ?? 0);
      setWidth(next);
      reporter.current?.(next);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

/**
 * uPlot gives axes, scales, zoom and the shared cursor; the lines are our own strokes.
 *
 * Each line keeps its own x, so that many runs on a time axis need no common grid, and no value that uPlot cannot scale
 * (NaN, infinities) ever reaches it.
 */
class Plot {
  private readonly chart: uPlot;
  private readonly stopHighlight: () => void;
  private xRange: Range = [0, 1];
  private yRange: Range = [0, 1];
  private hovered = false;
  private redrawing = 0;

  constructor(
    host: HTMLElement,
    width: number,
    height: number,
    private readonly props: RefObject<LineChartProps>,
    private readonly showTip: (tip: TooltipState | null) => void,
  ) {
    this.measure();
    this.chart = new uPlot(this.options(width, height), this.data(), host);
    this.chart.over.addEventListener("pointerenter", () => {
      this.hovered = true;
    });
    this.chart.over.addEventListener("pointerleave", () => this.leave());
    this.stopHighlight = onHighlight(() => this.redrawSoon());
  }

  update(): void {
    this.measure();
    const scale = this.chart.scales.y;
    if (scale) scale.asinh = symlogThreshold(this.yRange);
    this.chart.setData(this.data());
  }

  resize(width: number, height: number): void {
    if (width > 0 && (width !== this.chart.width || height !== this.chart.height))
      this.chart.setSize({ width, height });
  }

  destroy(): void {
    cancelAnimationFrame(this.redrawing);
    this.stopHighlight();
    if (this.hovered) this.leave();
    this.chart.destroy();
  }

  onKey(event: KeyboardEvent): void {
    const { chart } = this;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step !== undefined) {
      const width = chart.over.clientWidth;
      const at = (chart.cursor.left ?? -1) < 0 ? width / 2 : (chart.cursor.left as number);
      const left = Math.min(width, Math.max(0, at + step * Math.max(4, width / 100)));
      this.hovered = true;
      chart.setCursor({ left, top: chart.over.clientHeight / 2 });
      this.hovered = false;
    } else if (event.key === "Escape" && this.props.current.range) this.props.current.onRange(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private leave(): void {
    this.hovered = false;
    this.showTip(null);
    setHighlight(null);
  }

  private redrawSoon(): void {
    cancelAnimationFrame(this.redrawing);
    this.redrawing = requestAnimationFrame(() => this.chart.redraw(false));
  }

  private measure(): void {
    const { lines, view, range, atLeast } = this.props.current;
    const whole = xExtent(lines, view.xLog);
    const unit: Range = view.xLog ? [1, 10] : [0, 1];
    const [from, to] = range ?? whole ?? unit;
    this.xRange = from < to ? [from, to] : axisRange([from, to], view.xLog ? "log" : "linear", 0);
    const seen = yExtent(lines, this.xRange, view.ignoreOutliers);
    if (atLeast && view.y !== "log") {
      this.yRange = seen ? [Math.min(seen[0], atLeast[0]), Math.max(seen[1], atLeast[1])] : atLeast;
      return;
    }
    this.yRange = seen ? axisRange(seen, view.y, 0.06) : view.y === "log" ? [0.1, 10] : [0, 1];
  }

  private data(): uPlot.AlignedData {
    return [this.xRange.slice(), this.yRange.slice()] as unknown as uPlot.AlignedData;
  }

  private options(width: number, height: number): uPlot.Options {
    const { view } = this.props.current;
    const distr = { linear: 1, log: 3, symlog: 4 } as const;
    return {
      width,
      height,
      padding: [8, PADDING_RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        sync: { key: SYNC_KEY, scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            this.props.current.onRange(null);
            return null;
          },
        },
      },
      scales: {
        x: { time: false, distr: view.xLog ? 3 : 1, range: () => [...this.xRange] },
        y: {
          distr: distr[view.y],
          asinh: symlogThreshold(this.yRange),
          range: () => [...this.yRange],
        },
      },
      axes: [this.xAxis(), this.yAxis()],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [() => this.draw()],
        setSelect: [() => this.zoom()],
        setCursor: [() => this.point()],
      },
    };
  }

  private xAxis(): uPlot.Axis {
    return {
      ...LOOKS,
      size: 26,
      splits: (u) => xTicks(this.view.x, this.xRange, this.view.xLog, Math.max(2, u.over.clientWidth / 80 || 4)),
      values: (u, ticks) => {
        const labels = xLabels(this.view.x, ticks, currentLanguage());
        return labels.map((text, i) => (this.fits(u.width, text, ticks[i] as number) ? text : ""));
      },
      filter: (_, ticks) => ticks,
    };
  }

  /** Whether a label would not be cut at the right edge. The picture is not laid out yet when uPlot asks. */
  private fits(width: number, text: string, tick: number): boolean {
    const [from, to] = this.view.xLog ? this.xRange.map(Math.log) : this.xRange;
    const at = this.view.xLog ? Math.log(tick) : tick;
    const right = (((to as number) - at) / ((to as number) - (from as number))) * (width - Y_AXIS_PX);
    return text.length * HALF_LETTER_PX <= right + PADDING_RIGHT_PX;
  }

  private yAxis(): uPlot.Axis {
    return {
      ...LOOKS,
      size: (_, labels) => Math.max(34, ...(labels ?? []).map((label) => label.length * 6.6 + 14)),
      splits: (u) => {
        const most = Math.max(2, u.over.clientHeight / 36 || 4);
        if (this.view.y === "log") return logTicks(this.yRange, most);
        return this.view.y === "symlog" ? symlogTicks(this.yRange, most) : linearTicks(this.yRange, most);
      },
      values: (_, ticks) => numberLabels(ticks),
      filter: (_, ticks) => ticks,
    };
  }

  private get view(): ChartView {
    return this.props.current.view;
  }

  private draw(): void {
    const { ctx } = this.chart;
    const to = this.projection();
    const chosen = highlighted();
    ctx.save();
    ctx.beginPath();
    ctx.rect(to.left, to.top, to.width, to.height);
    ctx.clip();
    const { lines } = this.props.current;
    const among = chosen !== null && lines.some((line) => line.runId === chosen);
    // The chosen run comes last, on top.
    const order = among ? [...lines].sort((a, b) => Number(a.runId === chosen) - Number(b.runId === chosen)) : lines;
    for (const line of order) {
      const front = line.runId === chosen;
      const { colour, dash } = line;
      const several = lines.some((other) => other.runId !== chosen);
      const width = front && several ? 2.5 : 1.5;
      const alpha = among && !front ? 0.35 : 1;
      drawLine(ctx, line, to, { colour, dash, width, alpha, dots: lines.length <= DOTTED_LINES });
    }
    const background = token("--bg");
    for (const line of order) drawMarks(ctx, line, to, line.colour, background);
    ctx.restore();
  }

  private projection(): Projection {
    const { chart, xRange } = this;
    return {
      x: (value) => chart.valToPos(value, "x", true),
      y: (value) => chart.valToPos(value, "y", true),
      xRange,
      ...chart.bbox,
      ratio: uPlot.pxRatio,
    };
  }

  private zoom(): void {
    const { select } = this.chart;
    if (select.width < DRAG_MIN_PX) return;
    const [from, to] = [select.left, select.left + select.width].map((left) => this.chart.posToVal(left, "x"));
    this.chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.props.current.onRange([from as number, to as number]);
  }

  /** The cursor moved, here or on another chart; only the chart under the pointer explains itself. */
  private point(): void {
    const { left = -1, top = -1 } = this.chart.cursor;
    if (!this.hovered) return;
    if (left < 0) {
      this.showTip(null);
      return;
    }
    const x = this.chart.posToVal(left, "x");
    const { lines } = this.props.current;
    const entries = lines.flatMap((line) => this.entryAt(line, x, top));
    const nearest = entries.reduce((best, e) => (e.distance < best.distance ? e : best), entries[0] ?? NOWHERE);
    setHighlight(nearest.distance < 30 ? nearest.line.runId : null);
    const offset = this.chart.bbox.left / uPlot.pxRatio;
    this.showTip({ at: x, left: left + offset, width: this.chart.width, entries, nearest: nearest.line.id });
  }

  private entryAt(line: ChartLine, x: number, top: number): (TooltipState["entries"][number] & { distance: number })[] {
    const index = nearestIndex(line, x);
    const reach = Math.abs(this.chart.posToVal(8, "x") - this.chart.posToVal(0, "x"));
    const marks = line.marks.filter((mark) => Math.abs(mark.x - x) <= reach);
    if (index < 0) return marks.length > 0 ? [{ line, index, marks, distance: Number.POSITIVE_INFINITY }] : [];
    const away = this.chart.valToPos(line.y[index] as number, "y") - top;
    return [{ line, index, marks, distance: Math.abs(away) }];
  }
}

const NOWHERE = { distance: Number.POSITIVE_INFINITY, line: { runId: "", id: "" } };

const LOOKS: uPlot.Axis = {
  font: AXIS_FONT,
  stroke: () => token("--text-faint"),
  grid: { stroke: () => token("--line"), width: 1 },
  ticks: { show: false },
  gap: 6,
};
