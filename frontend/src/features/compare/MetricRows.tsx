import { useState } from "react";
import type { Num, RunSummary } from "../../api/types";
import { exactNumber, formatNumber } from "../../lib/format";
import { readStored, writeStored } from "../../lib/storage";
import { t } from "../../messages";
import { Icon } from "../../ui/icons";
import { Group } from "./Group";
import {
  bestOf,
  type Direction,
  differenceFrom,
  directionOf,
  type MetricRow,
  type MetricValue,
  metricRows,
} from "./rows";

interface MetricRowsProps {
  readonly runs: readonly RunSummary[];
  readonly base: number;
  readonly value: MetricValue;
}

export function MetricRows({ runs, base, value }: MetricRowsProps) {
  const rows = metricRows(runs, value);
  if (rows.length === 0) return null;
  return (
    <Group title={t("compare.metrics")} columns={runs.length}>
      {rows.map((row) => (
        <Row key={row.key} row={row} base={base} />
      ))}
    </Group>
  );
}

function Row({ row, base }: { readonly row: MetricRow; readonly base: number }) {
  const [direction, turn] = useDirection(row.key);
  const best = bestOf(row.values, direction);
  return (
    <tr>
      <th scope="row" className="compare-key">
        <span className="compare-metric">
          <span className="ellipsis" title={row.key}>
            {row.key}
          </span>
          <DirectionButton direction={direction} onTurn={turn} />
        </span>
      </th>
      {row.values.map((value, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a column is its run's place.
        <MetricCell key={index} value={value} base={index === base ? null : row.values[base]} best={best.has(index)} />
      ))}
    </tr>
  );
}

interface MetricCellProps {
  readonly value: Num | null;
  readonly base: Num | null | undefined;
  readonly best: boolean;
}

function MetricCell({ value, base, best }: MetricCellProps) {
  const difference = differenceFrom(base, value);
  return (
    <td className={best ? "compare-best" : undefined} title={exactNumber(value)}>
      {value === null ? <span className="faint">–</span> : formatNumber(value)}
      {best && <span className="compare-best-word">{t("compare.best")}</span>}
      {difference !== null && (
        <span className="compare-difference">
          {difference > 0 ? "+" : ""}
          {formatNumber(difference)}
        </span>
      )}
    </td>
  );
}

interface DirectionButtonProps {
  readonly direction: Direction | null;
  readonly onTurn: () => void;
}

function DirectionButton({ direction, onTurn }: DirectionButtonProps) {
  const label = t(direction === "up" ? "compare.up" : direction === "down" ? "compare.down" : "compare.noDirection");
  return (
    <button type="button" className="compare-direction" aria-label={label} title={label} onClick={onTurn}>
      {direction === null ? (
        <span aria-hidden="true">·</span>
      ) : (
        <Icon name={direction === "up" ? "arrowUp" : "arrowDown"} size={12} />
      )}
    </button>
  );
}

const STORED = "contrail.direction.";
const TURN = { up: "down", down: "none", none: "up" } as const;

/** What the name says, unless the reader said otherwise; a click turns it: higher, lower, neither. */
function useDirection(key: string): [Direction | null, () => void] {
  const [now, setNow] = useState(() => readStored(STORED + key) ?? directionOf(key) ?? "none");
  const turn = () => {
    const next = TURN[now as keyof typeof TURN] ?? "up";
    writeStored(STORED + key, next);
    setNow(next);
  };
  return [now === "up" || now === "down" ? now : null, turn];
}
