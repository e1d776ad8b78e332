import { useId, useState } from "react";
import { SMOOTHINGS, type Smoothing, WEIGHT_MAX } from "../lib/smoothing";
import { t } from "../messages";
import type { Scale, XAxis } from "./series";
import type { GridView } from "./view";

interface ControlsProps {
  readonly view: GridView;
  readonly onChange: (change: Partial<GridView>) => void;
  /** System metrics have no steps worth an axis: only times are offered. */
  readonly timeOnly?: boolean;
}

/** How all charts of a page are drawn. */
export function ChartControls({ view, onChange, timeOnly = false }: ControlsProps) {
  const axes: readonly XAxis[] = timeOnly ? ["relative", "time"] : ["step", "relative", "time"];
  return (
    <fieldset className="chart-controls">
      <legend className="visually-hidden">{t("charts.controls")}</legend>
      <label className="chart-control">
        <span>{t("charts.x")}</span>
        <select className="field" value={view.x} onChange={(e) => onChange({ x: e.target.value as XAxis })}>
          {axes.map((x) => (
            <option key={x} value={x}>
              {t(`charts.x.${x}`)}
            </option>
          ))}
        </select>
      </label>
      {view.x !== "time" && <Check label={t("charts.xLog")} on={view.xLog} onChange={(xLog) => onChange({ xLog })} />}
      <label className="chart-control">
        <span>{t("charts.y")}</span>
        <select className="field" value={view.y} onChange={(e) => onChange({ y: e.target.value as Scale })}>
          {(["linear", "log", "symlog"] as const).map((y) => (
            <option key={y} value={y}>
              {t(`charts.y.${y}`)}
            </option>
          ))}
        </select>
      </label>
      <Check
        label={t("charts.outliers")}
        on={view.ignoreOutliers}
        onChange={(ignoreOutliers) => onChange({ ignoreOutliers })}
      />
      <SmoothingControl view={view} onChange={onChange} />
    </fieldset>
  );
}

function Check({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="chart-control">
      <input type="checkbox" checked={on} onChange={(e) => onChange(e.target.checked)} />
      <span>{label}</span>
    </label>
  );
}

function SmoothingControl({ view, onChange }: Pick<ControlsProps, "view" | "onChange">) {
  const id = useId();
  return (
    <span className="chart-control">
      <label htmlFor={id}>{t("charts.smoothing")}</label>
      <select
        id={id}
        className="field"
        value={view.smoothing}
        onChange={(e) => onChange({ smoothing: e.target.value as Smoothing })}
      >
        {SMOOTHINGS.map((method) => (
          <option key={method} value={method}>
            {t(`charts.smoothing.${method}`)}
          </option>
        ))}
      </select>
      {view.smoothing !== "none" && <Weight weight={view.weight} onChange={(weight) => onChange({ weight })} />}
    </span>
  );
}

function Weight({ weight, onChange }: { readonly weight: number; readonly onChange: (weight: number) => void }) {
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    const value = Number(draft);
    if (draft !== null && draft.trim() !== "" && Number.isFinite(value))
      onChange(Math.min(Math.max(value, 0), WEIGHT_MAX));
    setDraft(null);
  };
  return (
    <>
      <input
        type="range"
        min={0}
        max={WEIGHT_MAX}
        step={0.001}
        value={weight}
        aria-label={t("charts.weight")}
        onChange={(e) => onChange(Number(e.target.value))}
      />
      <input
        className="field chart-weight"
        inputMode="decimal"
        aria-label={t("charts.weight")}
        value={draft ?? String(weight)}
        onChange={(e) => setDraft(e.target.value)}
        onBlur={commit}
        onKeyDown={(e) => e.key === "Enter" && commit()}
      />
    </>
  );
}
