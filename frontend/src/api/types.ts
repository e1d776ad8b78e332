/**
 * Messages of the pages' API under the names that the pages use. `schema.d.ts` is generated from the server;
 * here only words that the server spells as text get their narrower types. Times are Unix milliseconds.
 */

import type { Num } from "../lib/format";
import type * as wire from "./schema";

export type {
  Attempt,
  ExperimentRow,
  ExperimentsPage,
  Info,
  JobRunDetail,
  JobRunList,
  JobRunSummary,
  MetricSummary,
  Node as JobNode,
  NodeStats,
  RunRow,
  RunSummary,
  RunsPage,
  TablePreview,
} from "./schema";
export type { Num };

type Narrow<Message, Fields> = Omit<Message, keyof Fields> & Fields;

export type ColumnKind = "attribute" | "metric" | "param" | "tag";
export type MetricField = "last" | "min" | "max" | "first";
export type LifecycleView = "active" | "deleted" | "all";
export type SeriesX = "step" | "time" | "relative";
export type LogLevel = "info" | "warning" | "error";
export type LogEmptyReason = "not_started" | "no_output" | "no_match" | "expired";

export type Column = Narrow<wire.Column, { kind: ColumnKind; field?: MetricField }>;
export type ColumnInfo = Narrow<wire.ColumnInfo, { kind: ColumnKind }>;
export type Columns = Narrow<wire.Columns, { columns: ColumnInfo[] }>;
export type RunsQuery = Narrow<wire.RunsQuery, { view?: LifecycleView; columns?: Column[] }>;

export type SeriesQuery = Narrow<wire.SeriesQuery, { x?: SeriesX }>;
type Nonfinite = [x: number, kind: "NaN" | "Infinity" | "-Infinity", count: number];
export type Series = Narrow<wire.Series, { nonfinite: Nonfinite[] }>;
export type SeriesAnswer = Narrow<wire.SeriesAnswer, { series: Series[] }>;

export type LogLine = Narrow<wire.LogLine, { level: LogLevel; open?: boolean; truncated?: number | null }>;
type LogPageNarrow = { lines: LogLine[]; empty_reason?: LogEmptyReason | null };
export type LogPage = Narrow<wire.LogPage, LogPageNarrow & { scanned_to_ns?: number | null; message?: string | null }>;
export type LogStats = Narrow<wire.LogStats, { scanned_to_ns?: number | null }>;
