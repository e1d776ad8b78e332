import { useMemo } from "react";
import { isLive } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { ChartGrid } from "../../charts/ChartGrid";
import { isSystemKey } from "./systemCards";

export default function MetricsTab({ run }: { readonly run: RunSummary }) {
  const names = run.metrics.map((metric) => metric.key).join("\n");
  const keys = useMemo(() => names.split("\n").filter((key) => key !== "" && !isSystemKey(key)), [names]);
  const live = isLive(run.status);
  const runs = useMemo(() => [{ id: run.run_id, name: run.name, live }], [run.run_id, run.name, live]);
  return <ChartGrid runs={runs} keys={keys} />;
}
