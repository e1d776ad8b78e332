import { useMemo, useState } from "react";
import type { MetricSummary, Num } from "../../api/types";
import { exactNumber, formatCount, formatNumber } from "../../lib/format";
import { currentLanguage, t } from "../../messages";
import { isSystemKey } from "./systemCards";

/** Tables of more rows than this get a search field. */
const SEARCH_FROM = 12;
const order = new Intl.Collator("en", { numeric: true });

/** Each metric over its whole history. System metrics have their own tab. */
export function MetricTable({ metrics }: { readonly metrics: readonly MetricSummary[] }) {
  const [text, setText] = useState("");
  const own = useMemo(
    () => metrics.filter(({ key }) => !isSystemKey(key)).sort((a, b) => order.compare(a.key, b.key)),
    [metrics],
  );
  const shown = own.filter(({ key }) => key.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("run.metrics")}</h2>
        {own.length >= SEARCH_FROM && (
          <input
            type="search"
            className="field"
            value={text}
            placeholder={t("run.metricsSearch")}
            aria-label={t("run.metricsSearch")}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </div>
      {own.length === 0 ? (
        <p className="muted">{t("run.metricsNone")}</p>
      ) : shown.length === 0 ? (
        <p className="muted">{t("run.noMatch")}</p>
      ) : (
        <div className="table-scroll">
          <table className="table metric-table">
            <thead>
              <tr>
                <th scope="col">{t("run.metric")}</th>
                {HEADS.map((head) => (
                  <th key={head} scope="col" className="end">
                    {t(head)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((metric) => (
                <Row key={metric.key} metric={metric} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const HEADS = ["run.last", "run.first", "run.min", "run.max", "run.lastStep", "run.points"] as const;

function Row({ metric }: { readonly metric: MetricSummary }) {
  const { key, last, first, min, max, last_step, points } = metric;
  return (
    <tr>
      <th scope="row">{key}</th>
      <NumberCell value={last} strong />
      <NumberCell value={first} />
      <NumberCell value={min} />
      <NumberCell value={max} />
      <td className="end">{formatCount(last_step, currentLanguage())}</td>
      <td className="end">{formatCount(points, currentLanguage())}</td>
    </tr>
  );
}

function NumberCell({ value, strong = false }: { readonly value: Num | null; readonly strong?: boolean }) {
  const odd = typeof value === "string";
  return (
    <td className={odd ? "end odd-number" : "end"} title={exactNumber(value)}>
      {strong ? <strong>{formatNumber(value)}</strong> : formatNumber(value)}
    </td>
  );
}
