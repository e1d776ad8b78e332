/** Several runs side by side: one row per key, one value per run. Pure. */

import type { MetricSummary, Num, RunSummary } from "../../api/types";
import { toNumber } from "../../lib/format";

export interface TextRow {
  readonly key: string;
  readonly values: readonly (string | null)[];
  readonly differs: boolean;
}

export interface MetricRow {
  readonly key: string;
  readonly values: readonly (Num | null)[];
}

export type MetricValue = "last" | "min" | "max";
export type Direction = "up" | "down";

const order = new Intl.Collator("en", { numeric: true });

/** Tags that Contrail and MLflow write for themselves. */
const INTERNAL = /^(mlflow|contrail)\./;

export function paramRows(runs: readonly RunSummary[]): TextRow[] {
  return textRows(runs.map((run) => run.params));
}

export function tagRows(runs: readonly RunSummary[]): TextRow[] {
  return textRows(runs.map((run) => run.tags)).filter((row) => !INTERNAL.test(row.key));
}

function textRows(maps: readonly Readonly<Record<string, string>>[]): TextRow[] {
  return keysOf(maps.map(Object.keys)).map((key) => {
    const values = maps.map((map) => map[key] ?? null);
    return { key, values, differs: new Set(values).size > 1 };
  });
}

export function metricRows(runs: readonly RunSummary[], value: MetricValue): MetricRow[] {
  const maps = runs.map((run) => new Map(run.metrics.map((metric) => [metric.key, metric])));
  const keys = keysOf(maps.map((map) => [...map.keys()])).filter((key) => !key.startsWith("system/"));
  return keys.map((key) => ({ key, values: maps.map((map) => chosen(map.get(key), value)) }));
}

function chosen(metric: MetricSummary | undefined, value: MetricValue): Num | null {
  return metric ? metric[value] : null;
}

function keysOf(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())].sort(order.compare);
}

const LESS_IS_BETTER =
  /(^|[^a-z])(loss|error|err|ppl|perplexity|mse|mae|rmse|mape|wer|cer|fid|nll|bpc|bpb|latency|time|duration|seconds|regret)([^a-z]|$)/i;
const MORE_IS_BETTER =
  /(^|[^a-z])(acc|accuracy|f1|auc|auroc|ap|map|precision|recall|score|bleu|rouge|r2|iou|dice|reward|return|throughput|psnr|ssim|pass|ndcg|mrr|hits|em|exact_match|win_rate|per_sec(ond)?)([^a-z]|$)/i;

/** Whether more or less is better, by the metric's name; null when the name does not tell. */
export function directionOf(key: string): Direction | null {
  const name = key.slice(key.lastIndexOf("/") + 1);
  if (LESS_IS_BETTER.test(name)) return "down";
  return MORE_IS_BETTER.test(name) ? "up" : null;
}

/** Which runs have the best value (several when equal); none when fewer than two have one, or all are equal. NaN is never best. */
export function bestOf(values: readonly (Num | null)[], direction: Direction | null): ReadonlySet<number> {
  if (!direction) return new Set();
  const numbers = values.map((value) => (value === null ? Number.NaN : toNumber(value)));
  const known = numbers.filter((number) => !Number.isNaN(number));
  if (known.length < 2 || new Set(known).size < 2) return new Set();
  const best = direction === "up" ? Math.max(...known) : Math.min(...known);
  return new Set(numbers.flatMap((number, index) => (number === best ? [index] : [])));
}

/** How far a value is from the base's; null where one of them is no finite number, or is the base itself. */
export function differenceFrom(base: Num | null | undefined, value: Num | null): number | null {
  if (base === null || base === undefined || value === null) return null;
  const difference = toNumber(value) - toNumber(base);
  return Number.isFinite(difference) && difference !== 0 ? difference : null;
}
