// Written by tools/generate_types.py from the server's messages. Do not edit.

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
  nodes: Node[];
}

export interface Cancelled {
  job_run_id: number;
  state: string;
}

export interface CodeStored {
  digest: string;
  name: string;
  bytes: number;
  existing: boolean;
}

export interface Column {
  kind: string;
  key: string;
  field?: string;
}

export interface ColumnInfo {
  kind: string;
  key: string;
  runs: number;
  varies: boolean;
}

export interface Columns {
  columns: ColumnInfo[];
}

export interface Error {
  error_code: string;
  message: string;
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

export interface Heartbeat {
  state: string;
  status_message?: string;
  host?: string | null;
  pid?: number | null;
  started_ms?: number | null;
}

export interface HeartbeatAnswer {
  stop_cause: string | null;
  grace_s: number;
}

export interface Info {
  version: string;
  user: string;
  single_user: boolean;
  data_dir: string;
  store: string;
  engines: string[];
  accelerators: string[];
}

export interface JobRunDetail {
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

export interface LogAppendAnswer {
  next_offset: number;
}

export interface LogLine {
  node: number;
  seq: number;
  time_ns: number;
  level: string;
  text: string;
  open: boolean;
  truncated: number | null;
}

export interface LogPage {
  lines: LogLine[];
  next: string | null;
  prev: string | null;
  eof: boolean;
  ended: boolean;
  attempt: number;
  num_nodes: number;
  scanned_to_ns: number | null;
  empty_reason: string | null;
  message: string | null;
}

export interface LogStats {
  attempt: number;
  lines: number;
  raw_bytes: number;
  nodes: NodeStats[];
  first_time_ns: number | null;
  last_time_ns: number | null;
  buckets: [number, number, number][];
  scanned_to_ns: number | null;
}

export interface MetricSummary {
  key: string;
  last: number | string;
  last_step: number;
  last_ms: number;
  first: number | string;
  min: number | string | null;
  max: number | string | null;
  points: number;
}

export interface Node {
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

export interface NodeStats {
  node: number;
  lines: number;
  raw_bytes: number;
  infos: number;
  warnings: number;
  errors: number;
}

export interface Problem {
  path: string;
  line: number | null;
  message: string;
}

export interface RelayAnswer {
  applied_seq: number;
  refused: RelayRefusal[];
}

export interface RelayBatch {
  items: RelayItem[];
}

export interface RelayItem {
  seq: number;
  kind: string;
  path?: string;
  body?: unknown;
}

export interface RelayRefusal {
  seq: number;
  error_code: string;
  message: string;
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
  values: (number | string | null)[];
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

export interface RunsPage {
  rows: RunRow[];
  total: number | null;
  next_page_token: string | null;
}

export interface RunsQuery {
  experiment_ids: string[];
  filter?: string;
  view?: string;
  order_by?: string[];
  columns?: Column[];
  limit?: number;
  page_token?: string | null;
  with_total?: boolean;
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
  nonfinite: [number, string, number][];
}

export interface SeriesAnswer {
  series: Series[];
}

export interface SeriesQuery {
  run_ids: string[];
  keys: string[];
  x?: string;
  start?: number | null;
  end?: number | null;
  buckets?: number;
}

export interface Submit {
  workload: string;
  engine?: string;
  user?: string | null;
  code_digest?: string | null;
  code_name?: string | null;
  provenance?: Record<string, unknown>;
  idempotency_token?: string | null;
}

export interface Submitted {
  job_run_id: number;
  state: string;
  existing: boolean;
  job_url: string;
}

export interface TablePreview {
  columns: string[];
  rows: ((string | null)[])[];
  more: boolean;
}

export interface Validate {
  workload: string;
  engine?: string;
}

export interface Validated {
  problems: Problem[];
}
