import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { post } from "../../api/client";
import type { RunRow, RunSummary, RunsPage } from "../../api/types";
import { runColour } from "../../lib/colours";
import { t } from "../../messages";
import { Button } from "../../ui/Button";
import { Popover } from "../../ui/Popover";
import { StatusBadge } from "../../ui/StatusBadge";
import { Time } from "../../ui/Time";
import { nameFilter, OVERLAID_MAX } from "./overlay";

interface AddRunsProps {
  readonly run: RunSummary;
  readonly chosen: readonly string[];
  readonly onChosen: (ids: readonly string[]) => void;
}

const LISTED_MAX = 50;

/** Chooses runs of the same experiment whose curves are drawn over this run's. */
export function AddRuns({ run, chosen, onChosen }: AddRunsProps) {
  return (
    <Popover
      label={t("run.overlay")}
      align="end"
      className="overlay-panel"
      trigger={(trigger) => (
        <Button icon="plus" {...trigger}>
          {chosen.length > 0 ? t("run.overlayCount", { count: chosen.length }) : t("run.overlay")}
        </Button>
      )}
    >
      {() => <Choice run={run} chosen={chosen} onChosen={onChosen} />}
    </Popover>
  );
}

function Choice({ run, chosen, onChosen }: AddRunsProps) {
  const [text, setText] = useState("");
  const filter = useDeferredValue(nameFilter(text));
  const found = useQuery({
    queryKey: ["overlay", run.experiment_id, filter],
    queryFn: ({ signal }) =>
      post<RunsPage>("runs/query", { experiment_ids: [run.experiment_id], filter, limit: LISTED_MAX }, signal),
    placeholderData: keepPreviousData,
  });
  const rows = (found.data?.rows ?? []).filter((row) => row.run_id !== run.run_id);
  const toggle = (id: string) => onChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]);
  return (
    <>
      <input
        type="search"
        className="field overlay-search"
        value={text}
        placeholder={t("run.overlayFind")}
        aria-label={t("run.overlayFind")}
        onChange={(event) => setText(event.target.value)}
      />
      <ul className="overlay-list">
        {rows.map((row) => (
          <OverlayRow
            key={row.run_id}
            row={row}
            checked={chosen.includes(row.run_id)}
            full={chosen.length >= OVERLAID_MAX}
            onToggle={() => toggle(row.run_id)}
          />
        ))}
      </ul>
      {found.isSuccess && rows.length === 0 && <p className="muted overlay-none">{t("run.overlayNone")}</p>}
      {chosen.length > 0 && (
        <div className="overlay-foot">
          <Button kind="quiet" onClick={() => onChosen([])}>
            {t("run.overlayClear")}
          </Button>
        </div>
      )}
    </>
  );
}

interface OverlayRowProps {
  readonly row: RunRow;
  readonly checked: boolean;
  readonly full: boolean;
  readonly onToggle: () => void;
}

function OverlayRow({ row, checked, full, onToggle }: OverlayRowProps) {
  return (
    <li>
      <label className="overlay-row">
        <input type="checkbox" checked={checked} disabled={full && !checked} onChange={onToggle} />
        <i className="run-dot" style={{ background: runColour(row.run_id) }} />
        <span className="ellipsis overlay-name" title={row.name}>
          {row.name || row.run_id}
        </span>
        <StatusBadge status={row.status} />
        <span className="muted overlay-time">
          <Time ms={row.start_ms} />
        </span>
      </label>
    </li>
  );
}
