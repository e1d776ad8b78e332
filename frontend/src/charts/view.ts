/** How charts are looked at, as search parameters of the page: readable, short, and nothing for what is default. */

import { SMOOTHINGS, WEIGHT_MAX } from "../lib/smoothing";
import { type ChartView, DEFAULT_VIEW, type Scale, type XAxis } from "./series";

const X_AXES: readonly XAxis[] = ["step", "relative", "time"];
const SCALES: readonly Scale[] = ["linear", "log", "symlog"];
/** Names of ours; all others on the page are left alone. */
export const VIEW_PARAMETERS = ["x", "xlog", "y", "smooth", "clip", "charts"] as const;

export interface GridView extends ChartView {
  /** Which charts: a regular expression over metric keys. */
  readonly filter: string;
}

export const DEFAULT_GRID_VIEW: GridView = { ...DEFAULT_VIEW, filter: "" };

/** What the address says, over what this reader chose last. Nonsense counts as not said. */
export function readView(search: URLSearchParams, base: GridView = DEFAULT_GRID_VIEW): GridView {
  const [method, weight] = (search.get("smooth") ?? "").split(":");
  return {
    x: oneOf(X_AXES, search.get("x")) ?? base.x,
    xLog: flag(search.get("xlog")) ?? base.xLog,
    y: oneOf(SCALES, search.get("y")) ?? base.y,
    smoothing: oneOf(SMOOTHINGS, method) ?? base.smoothing,
    weight: weightOf(weight) ?? base.weight,
    ignoreOutliers: flag(search.get("clip")) ?? base.ignoreOutliers,
    filter: search.get("charts") ?? base.filter,
  };
}

/** The same search with this view in it. */
export function writeView(search: URLSearchParams, view: GridView): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const name of VIEW_PARAMETERS) next.delete(name);
  next.set("x", view.x);
  next.set("y", view.y);
  next.set("smooth", `${view.smoothing}:${view.weight}`);
  if (view.xLog) next.set("xlog", "1");
  if (view.ignoreOutliers) next.set("clip", "1");
  if (view.filter !== "") next.set("charts", view.filter);
  return next;
}

function oneOf<T extends string>(known: readonly T[], text: string | null | undefined): T | undefined {
  return known.find((one) => one === text);
}

function flag(text: string | null): boolean | undefined {
  return text === "1" ? true : text === "0" ? false : undefined;
}

function weightOf(text: string | undefined): number | undefined {
  const weight = Number(text);
  return text && Number.isFinite(weight) ? Math.min(Math.max(weight, 0), WEIGHT_MAX) : undefined;
}
