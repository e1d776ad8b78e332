import type { Column, ColumnInfo, ColumnKind, MetricField } from "../../api/types";

/**
 * Columns of the runs table by id: `metric:<field>:<key>`, `param:<key>`, `tag:<key>`, and the attributes that
 * every row carries, by their bare names.
 */

export const ATTRIBUTES = ["status", "started", "duration", "user", "job", "run_id", "ended"] as const;
export type Attribute = (typeof ATTRIBUTES)[number];

export const METRIC_FIELDS: readonly MetricField[] = ["last", "min", "max", "first"];

/** Columns offered on the first visit beside the attributes. */
const SUGGESTED_MAX = 8;
/** Attempts of jobs carry it; then the table says which runs belong together. */
const JOB_TAG = "contrail.job_run_id";
const SYSTEM_METRICS = "system/";

export function isAttribute(id: string): id is Attribute {
  return (ATTRIBUTES as readonly string[]).includes(id);
}

export function columnId(kind: ColumnKind, key: string, field: MetricField = "last"): string {
  return kind === "metric" ? `metric:${field}:${key}` : `${kind}:${key}`;
}

/** What to ask the server for; null for attributes, which come with every row, and for ids that make no sense. */
export function parseColumnId(id: string): Column | null {
  const metric = /^metric:(last|min|max|first):(.+)$/s.exec(id);
  if (metric) return { kind: "metric", field: metric[1] as MetricField, key: metric[2] ?? "" };
  const other = /^(param|tag):(.+)$/s.exec(id);
  return other ? { kind: other[1] as ColumnKind, key: other[2] ?? "" } : null;
}

/** The same metric with another of its values; other columns stay as they are. */
export function withField(id: string, field: MetricField): string {
  const column = parseColumnId(id);
  return column?.kind === "metric" ? columnId("metric", column.key, field) : id;
}

function quoted(key: string): string {
  return `\`${key.replaceAll("`", "``")}\``;
}

const ORDER_ATTRIBUTES: Readonly<Record<string, string>> = {
  name: "attributes.run_name",
  status: "attributes.status",
  started: "attributes.start_time",
  ended: "attributes.end_time",
  user: "attributes.user_id",
  run_id: "attributes.run_id",
};

/** The `order_by` clause of a column, or null where the server cannot sort by it. */
export function orderClause(id: string, descending: boolean): string | null {
  const direction = descending ? "DESC" : "ASC";
  const attribute = ORDER_ATTRIBUTES[id];
  if (attribute) return `${attribute} ${direction}`;
  const column = parseColumnId(id);
  if (!column) return null;
  const field = column.field && column.field !== "last" ? `:${column.field}` : "";
  return `${column.kind}s.${quoted(column.key)}${field} ${direction}`;
}

/** First sight of an experiment: what ran, when, by whom, the most logged metrics and the params that differ. */
export function suggestedColumns(known: readonly ColumnInfo[]): string[] {
  const metrics = known.filter(({ kind, key }) => kind === "metric" && !key.startsWith(SYSTEM_METRICS));
  const params = known.filter(({ kind, varies }) => kind === "param" && varies);
  const metricsMax = Math.max(SUGGESTED_MAX / 2, SUGGESTED_MAX - params.length);
  const picked = metrics.slice(0, metricsMax);
  return [
    ...["status", "started", "duration", "user"],
    ...(known.some(({ kind, key }) => kind === "tag" && key === JOB_TAG) ? ["job"] : []),
    ...picked.map(({ key }) => columnId("metric", key)),
    ...params.slice(0, SUGGESTED_MAX - picked.length).map(({ key }) => columnId("param", key)),
  ];
}

const OPERATOR = /[=<>]|\bi?like\s*['"]|\bin\s*\(|\bis\s+(not\s+)?null\b/i;

/** A text without any operator is a part of a run's name; anything else is the filter language itself. */
export function filterOf(text: string): string {
  const trimmed = text.trim();
  if (!trimmed || OPERATOR.test(trimmed)) return trimmed;
  const part = trimmed.replace(/[\\%_]/g, "\\$&").replaceAll("'", "''");
  return `attributes.run_name ILIKE '%${part}%'`;
}
