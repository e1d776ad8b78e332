import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { isLive, runQuery } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { ChartGrid } from "../../charts/ChartGrid";
import { t } from "../../messages";
import { AddRuns } from "./AddRuns";
import { readWith, withRuns } from "./overlay";
import { isSystemKey } from "./systemCards";

/** The curves of a run, and of the runs that the reader lays over them. */
export default function MetricsTab({ run }: { readonly run: RunSummary }) {
  const [search, setSearch] = useSearchParams();
  const named = search.get("with") ?? "";
  const others = useMemo(() => readWith(named, run.run_id), [named, run.run_id]);
  const found = useQueries({ queries: others.map((id) => runQuery(id)) });
  const facts = [run, ...found.flatMap(({ data }) => data ?? [])]
    .map(({ run_id, name, status, attempt_number }) => [run_id, name, isLive(status), attempt_number] as const)
    .map((fact) => JSON.stringify(fact))
    .join("\n");
  const runs = useMemo(
    () =>
      facts.split("\n").map((fact) => {
        const [id, name, live, attempt] = JSON.parse(fact) as [string, string, boolean, number | null];
        const detail = attempt !== null && { detail: t("run.attempt", { n: attempt + 1 }) };
        return { id, name: name || id, live, ...detail };
      }),
    [facts],
  );
  const names = run.metrics.map((metric) => metric.key).join("\n");
  const keys = useMemo(() => names.split("\n").filter((key) => key !== "" && !isSystemKey(key)), [names]);
  return (
    <ChartGrid
      runs={runs}
      keys={keys}
      actions={
        <AddRuns
          run={run}
          chosen={others}
          onChosen={(ids) => setSearch((now) => withRuns(now, ids), { replace: true })}
        />
      }
    />
  );
}
