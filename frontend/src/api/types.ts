/** Messages of the pages' API; mirrors `contrail/wire/{ui,jobs,logs}.py`. Times are Unix milliseconds. */

import type { Num } from "../lib/format";

export type { Num };

export interface Info {
  version: string;
  user: string;
  single_user: boolean;
  data_dir: string;
  store: string;
  engines: string[];
  accelerators: string[];
}

export type ColumnKind = "attribute" | "metric" | "param" | "tag";
export type MetricField = "last" | "min" | "max" | "first";

export interface Column {
  kind: ColumnKind;
  key: string;
  field?: MetricField;
}

export type LifecycleView = "active" | "deleted" | "all";

export interface RunsQuery {
  experiment_ids: string[];
  filter?: string;
  view?: LifecycleView;
  order_by?: string[];
  columns?: Column[];
  limit?: number;
  page_token?: string | null;
  with_total?: boolean;
}

export interface RunRow {
  run_id: string;
  experiment_id: string;
  name: string;
  status: string;
  user: string;
  start_ms: number | null;
  end_ms: number | null;
  lifecycle: string;
  parent_run_id: string | null;
  job_run_id: number | null;
  attempt_number: number | null;
  values: (Num | null)[];
}

export interface RunsPage {
  rows: RunRow[];
  total: number | null;
  next_page_token: string | null;
}

export interface ColumnInfo {
  kind: ColumnKind;
  key: string;
  runs: number;
  varies: boolean;
}

export interface Columns {
  columns: ColumnInfo[];
}

export type SeriesX = "step" | "time" | "relative";

export interface SeriesQuery {
  run_ids: string[];
  keys: string[];
  x?: SeriesX;
  start?: number | null;
  end?: number | null;
  buckets?: number;
}

export interface Series {
  run_id: string;
  key: string;
  exact: boolean;
  points: number;
  x: number[];
  y: number[];
  y_min: number[];
  y_max: number[];
  nonfinite: [x: number, kind: "NaN" | "Infinity" | "-Infinity", count: number][];
}

export interface SeriesAnswer {
  series: Series[];
}

export interface MetricSummary {
  key: string;
  last: Num;
  last_step: number;
  last_ms: number;
  first: Num;
  min: Num | null;
  max: Num | null;
  points: number;
}

export interface RunSummary {
  run_id: string;
  experiment_id: string;
  experiment_name: string;
  name: string;
  status: string;
  user: string;
  start_ms: number | null;
  end_ms: number | null;
  lifecycle: string;
  artifact_uri: string;
  params: Record<string, string>;
  tags: Record<string, string>;
  metrics: MetricSummary[];
  job_run_id: number | null;
  attempt_number: number | null;
}

export interface TablePreview {
  columns: string[];
  rows: (string | null)[][];
  more: boolean;
}

export interface ExperimentRow {
  experiment_id: string;
  name: string;
  lifecycle: string;
  runs: number;
  active_runs: number;
  last_run_ms: number | null;
  created_ms: number;
}

export interface ExperimentsPage {
  experiments: ExperimentRow[];
  next_page_token: string | null;
}

export interface JobNode {
  node: number;
  state: string;
  status_message: string;
  host: string | null;
  gpu_ids: string[];
  heartbeat_ms: number | null;
  log_bytes: number;
  exit_code: number | null;
  started_ms: number | null;
  ended_ms: number | null;
}

export interface Attempt {
  attempt_id: number;
  number: number;
  run_id: string | null;
  run_name: string | null;
  state: string;
  result: string | null;
  cause: string | null;
  exit_code: number | null;
  signal: number | null;
  failed_node: number | null;
  message: string;
  num_nodes: number;
  created_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
  nodes: JobNode[];
}

export interface JobRunSummary {
  job_run_id: number;
  name: string;
  user: string;
  experiment_name: string;
  experiment_id: string | null;
  status: string;
  state: string;
  result: string | null;
  message: string;
  engine: string;
  accelerator_type: string;
  num_accelerators: number;
  attempt_number: number;
  max_retries: number;
  run_id: string | null;
  created_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
}

export interface JobRunDetail extends JobRunSummary {
  workload_yaml: string;
  workload: Record<string, unknown>;
  provenance: Record<string, unknown>;
  retry_at_ms: number | null;
  cancel_requested_by: string | null;
  logs_expire_ms: number | null;
  logs_removed_ms: number | null;
  attempts: Attempt[];
  job_url: string;
  run_url: string | null;
}

export interface JobRunList {
  job_runs: JobRunSummary[];
  next_page_token: string | null;
}

export type LogLevel = "info" | "warning" | "error";

export interface LogLine {
  node: number;
  seq: number;
  time_ns: number;
  level: LogLevel;
  text: string;
  open?: boolean;
  truncated?: number | null;
}

export type LogEmptyReason = "not_started" | "no_output" | "no_match" | "expired";

export interface LogPage {
  lines: LogLine[];
  next: string | null;
  prev: string | null;
  eof: boolean;
  ended: boolean;
  attempt: number;
  num_nodes: number;
  scanned_to_ns?: number | null;
  empty_reason?: LogEmptyReason | null;
  message?: string | null;
}

export interface NodeStats {
  node: number;
  lines: number;
  raw_bytes: number;
  infos: number;
  warnings: number;
  errors: number;
}

export interface LogStats {
  attempt: number;
  lines: number;
  raw_bytes: number;
  nodes: NodeStats[];
  first_time_ns: number | null;
  last_time_ns: number | null;
  buckets: [infos: number, warnings: number, errors: number][];
  scanned_to_ns?: number | null;
}
