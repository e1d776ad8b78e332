/** Strokes on a canvas: lines, shades, markers. Knows canvas pixels only; `Projection` turns values into them. */

import { type Line, lowerBound, type Mark, type Range, upperBound } from "./series";

export interface Projection {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly xRange: Range;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Canvas pixels per CSS pixel. */
  readonly ratio: number;
}

export interface Style {
  readonly colour: string;
  readonly dash: readonly number[];
  readonly width: number;
  readonly alpha: number;
  /** Whether single points are shown where they stand far apart. */
  readonly dots: boolean;
}

const RAW_ALPHA = 0.25;
const BAND_ALPHA = 0.14;
/** The rim of a band: a spike of one bucket is a hair wide, and its fill alone would not be seen. */
const RIM_ALPHA = 0.45;
/** Single points are drawn when they are at least this far apart, in CSS pixels. */
const DOT_SPACING = 14;

type Context = CanvasRenderingContext2D;
type Values = readonly (number | null)[];

export function drawLine(ctx: Context, line: Line, to: Projection, style: Style): void {
  const [from, until] = visible(line, to);
  ctx.save();
  ctx.strokeStyle = style.colour;
  ctx.fillStyle = style.colour;
  ctx.lineJoin = "round";
  if (line.banded) fillBand(ctx, line, to, from, until, style.alpha * BAND_ALPHA);
  if (line.smoothed) {
    ctx.globalAlpha = style.alpha * RAW_ALPHA;
    ctx.lineWidth = to.ratio;
    strokeValues(ctx, line.x, line.raw, to, from, until);
  }
  ctx.globalAlpha = style.alpha;
  ctx.lineWidth = style.width * to.ratio;
  ctx.setLineDash(style.dash.map((d) => d * to.ratio));
  strokeValues(ctx, line.x, line.y, to, from, until);
  ctx.setLineDash([]);
  fillDots(ctx, line, to, from, until, style);
  ctx.restore();
}

/** The marks of a line, each with a rim of the background's colour so that it stands out from the lines around it. */
export function drawMarks(ctx: Context, line: Line, to: Projection, colour: string, background: string): void {
  ctx.save();
  ctx.fillStyle = colour;
  ctx.strokeStyle = background;
  ctx.lineWidth = 2 * to.ratio;
  ctx.lineJoin = "round";
  for (const mark of line.marks) drawMark(ctx, mark, to);
  ctx.restore();
}

/** One point beyond each edge, so that the line reaches it. */
function visible(line: Line, { xRange }: Projection): [number, number] {
  const from = Math.max(0, lowerBound(line.x, xRange[0]) - 1);
  return [from, Math.min(line.x.length, upperBound(line.x, xRange[1]) + 1)];
}

function strokeValues(ctx: Context, x: readonly number[], y: Values, to: Projection, from: number, until: number) {
  ctx.beginPath();
  let pen = false;
  for (let i = from; i < until; i++) {
    const v = y[i];
    if (v === null || v === undefined) {
      pen = false;
      continue;
    }
    const px = to.x(x[i] as number);
    const py = to.y(v);
    if (pen) ctx.lineTo(px, py);
    else ctx.moveTo(px, py);
    pen = true;
  }
  ctx.stroke();
}

function fillBand(ctx: Context, line: Line, to: Projection, from: number, until: number, alpha: number) {
  ctx.globalAlpha = alpha;
  ctx.beginPath();
  let start = -1;
  for (let i = from; i <= until; i++) {
    const inside = i < until && line.low[i] !== null && line.high[i] !== null;
    if (inside && start < 0) start = i;
    if (inside || start < 0) continue;
    ctx.moveTo(to.x(line.x[start] as number), to.y(line.high[start] as number));
    for (let j = start; j < i; j++) ctx.lineTo(to.x(line.x[j] as number), to.y(line.high[j] as number));
    for (let j = i - 1; j >= start; j--) ctx.lineTo(to.x(line.x[j] as number), to.y(line.low[j] as number));
    ctx.closePath();
    start = -1;
  }
  ctx.fill();
  ctx.globalAlpha = Math.min(1, (alpha * RIM_ALPHA) / BAND_ALPHA);
  ctx.lineWidth = 0.75 * to.ratio;
  ctx.stroke();
}

/** Points that no segment shows (alone between two gaps), and all points where they stand far apart. */
function fillDots(ctx: Context, line: Line, to: Projection, from: number, until: number, { width, dots }: Style) {
  const sparse = dots && (until - from) * DOT_SPACING * to.ratio <= to.width;
  const radius = (width + 0.75) * to.ratio;
  for (let i = from; i < until; i++) {
    const v = line.y[i];
    if (v === null || v === undefined) continue;
    const alone = (line.y[i - 1] ?? null) === null && (line.y[i + 1] ?? null) === null;
    if (!alone && !sparse) continue;
    ctx.beginPath();
    ctx.arc(to.x(line.x[i] as number), to.y(v), radius, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/** NaN at the last finite value, +∞ on the top edge, −∞ on the bottom edge; always inside the picture. */
function drawMark(ctx: Context, mark: Mark, to: Projection) {
  const px = to.x(mark.x);
  if (px < to.left - 1 || px > to.left + to.width + 1) return;
  const size = 6 * to.ratio;
  const [top, bottom] = [to.top + size, to.top + to.height - size];
  const wanted = mark.kind === "Infinity" ? top : mark.kind === "-Infinity" || mark.y === null ? bottom : to.y(mark.y);
  const py = Math.min(Math.max(Number.isFinite(wanted) ? wanted : bottom, top), bottom);
  const point = mark.kind === "-Infinity" ? size : -size;
  ctx.beginPath();
  ctx.moveTo(px, py + point);
  ctx.lineTo(px - size, py - point * 0.8);
  ctx.lineTo(px + size, py - point * 0.8);
  ctx.closePath();
  ctx.stroke();
  ctx.fill();
}
