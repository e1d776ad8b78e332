import { type ReactNode, useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import { isLive } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { LineSwatch } from "../../charts/LineSwatch";
import { runStyles } from "../../lib/colours";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, Time } from "../../ui/Time";
import { Group } from "./Group";
import { MetricRows } from "./MetricRows";
import { type MetricValue, paramRows, type TextRow, tagRows } from "./rows";

const VALUES: readonly MetricValue[] = ["last", "min", "max"];

/** One column per run, one row per fact. What differs from the base run stands out. */
export function CompareTable({ runs }: { readonly runs: readonly RunSummary[] }) {
  const [search, setSearch] = useSearchParams();
  const change = (name: string, value: string | null) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        if (value === null) next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const differing = search.get("all") !== "1" && runs.length > 1;
  const value = VALUES.find((one) => one === search.get("value")) ?? "last";
  const base = Math.max(
    0,
    runs.findIndex((run) => run.run_id === search.get("base")),
  );
  const remove = (id: string) => change("runs", runs.flatMap((run) => (run.run_id === id ? [] : run.run_id)).join(","));
  return (
    <>
      <div className="toolbar">
        <label className="check-row">
          <input type="checkbox" checked={differing} onChange={(e) => change("all", e.target.checked ? null : "1")} />
          {t("compare.differing")}
        </label>
        <label className="check-row">
          {t("compare.metricValue")}
          <select className="field" value={value} onChange={(e) => change("value", e.target.value)}>
            {VALUES.map((one) => (
              <option key={one} value={one}>
                {t(`compare.${one}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard. */}
      <div className="compare-scroll" tabIndex={0}>
        <table className="compare-table">
          <Head runs={runs} base={base} onBase={(id) => change("base", id)} onRemove={remove} />
          <Facts runs={runs} />
          <MetricRows runs={runs} base={base} value={value} />
          <TextRows title={t("compare.params")} rows={paramRows(runs)} base={base} differing={differing} />
          <TextRows title={t("compare.tags")} rows={tagRows(runs)} base={base} differing={differing} />
        </table>
      </div>
    </>
  );
}

interface HeadProps {
  readonly runs: readonly RunSummary[];
  readonly base: number;
  readonly onBase: (id: string) => void;
  readonly onRemove: (id: string) => void;
}

function Head({ runs, base, onBase, onRemove }: HeadProps) {
  const styles = runStyles(runs.map((run) => run.run_id));
  return (
    <thead>
      <tr>
        <th scope="col" className="compare-key">
          {t("compare.run")}
        </th>
        {runs.map((run, index) => {
          const style = styles.get(run.run_id);
          return (
            <th key={run.run_id} scope="col">
              <div className="compare-run">
                <LineSwatch colour={style?.colour ?? ""} dash={style?.dash ?? []} />
                <Link href={`/runs/${run.run_id}`} className="ellipsis" title={run.name}>
                  {run.name}
                </Link>
                {index === base ? (
                  <span className="compare-base">{t("compare.base")}</span>
                ) : (
                  <Button
                    kind="quiet"
                    className="compare-make-base"
                    title={t("compare.makeBase", { name: run.name })}
                    onClick={() => onBase(run.run_id)}
                  >
                    {t("compare.base")}
                    <span className="visually-hidden">{run.name}</span>
                  </Button>
                )}
                {runs.length > 1 && (
                  <IconButton
                    icon="close"
                    label={t("compare.remove", { name: run.name })}
                    onClick={() => onRemove(run.run_id)}
                  />
                )}
              </div>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function Facts({ runs }: { readonly runs: readonly RunSummary[] }) {
  const several = new Set(runs.map((run) => run.experiment_id)).size > 1;
  const rows: [label: string, cell: (run: RunSummary) => ReactNode][] = [
    [t("compare.status"), (run) => <StatusBadge status={run.status} />],
    [t("compare.started"), (run) => <Time ms={run.start_ms} />],
    [
      t("compare.duration"),
      (run) => <Duration start_ms={run.start_ms} end_ms={run.end_ms} live={isLive(run.status)} />,
    ],
    [t("compare.user"), (run) => run.user],
  ];
  if (several) rows.push([t("compare.experiment"), (run) => run.experiment_name]);
  if (runs.some((run) => run.attempt_number !== null))
    rows.push([t("compare.attempt"), (run) => run.attempt_number !== null && run.attempt_number + 1]);
  return (
    <Group title={t("compare.details")} columns={runs.length}>
      {rows.map(([label, cell]) => (
        <tr key={label}>
          <th scope="row" className="compare-key">
            {label}
          </th>
          {runs.map((run) => (
            <td key={run.run_id}>{cell(run)}</td>
          ))}
        </tr>
      ))}
    </Group>
  );
}

interface TextRowsProps {
  readonly title: string;
  readonly rows: readonly TextRow[];
  readonly base: number;
  readonly differing: boolean;
}

function TextRows({ title, rows, base, differing }: TextRowsProps) {
  const shown = useMemo(() => (differing ? rows.filter((row) => row.differs) : rows), [rows, differing]);
  if (rows.length === 0) return null;
  const columns = rows[0]?.values.length ?? 1;
  const equal = rows.length - shown.length;
  return (
    <Group title={title} columns={columns}>
      {shown.map((row) => (
        <tr key={row.key}>
          <th scope="row" className="compare-key" title={row.key}>
            {row.key}
          </th>
          {row.values.map((value, index) => (
            <td
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its run's place.
              key={index}
              className={row.differs && value !== row.values[base] ? "compare-differs" : undefined}
              title={value ?? undefined}
            >
              {value === null ? <span className="faint">–</span> : <span className="compare-text">{value}</span>}
            </td>
          ))}
        </tr>
      ))}
      {equal > 0 && (
        <tr>
          <td className="compare-note" colSpan={columns + 1}>
            {t("compare.allEqual", { count: equal })}
          </td>
        </tr>
      )}
    </Group>
  );
}
