import { useMemo, useState } from "react";
import type { ColumnInfo, ColumnKind, MetricField } from "../../api/types";
import type { View } from "../../lib/viewState";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { Popover } from "../../ui/Popover";
import { ATTRIBUTES, columnId, METRIC_FIELDS, parseColumnId, suggestedColumns, withField } from "./columns";
import { columnLabel } from "./labels";

interface ColumnChooserProps {
  readonly view: View;
  readonly change: (edit: Partial<View>) => void;
  readonly known: readonly ColumnInfo[];
}

/** Entries listed per kind; the search finds the others. */
const LISTED_MAX = 100;
const KINDS: readonly ColumnKind[] = ["attribute", "metric", "param", "tag"];

export function ColumnChooser(props: ColumnChooserProps) {
  return (
    <Popover
      label={t("runs.columns")}
      align="end"
      className="chooser"
      trigger={(trigger) => (
        <Button icon="columns" {...trigger}>
          {t("runs.columns")}
        </Button>
      )}
    >
      {() => <Chooser {...props} />}
    </Popover>
  );
}

function Chooser({ view, change, known }: ColumnChooserProps) {
  const [search, setSearch] = useState("");
  const [variesOnly, setVariesOnly] = useState(false);
  const shown = new Set(view.columns.map(baseId));
  const toggle = (id: string) =>
    change({
      columns: shown.has(id) ? view.columns.filter((each) => baseId(each) !== id) : [...view.columns, id],
    });
  const groups = useMemo(() => candidates(known, search, variesOnly), [known, search, variesOnly]);
  return (
    <>
      <input
        className="field chooser-search"
        type="search"
        data-autofocus
        aria-label={t("runs.columnsSearch")}
        placeholder={t("runs.columnsSearch")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <div className="chooser-body">
        {!search && <ShownColumns view={view} change={change} />}
        {groups.length === 0 && <p className="muted chooser-none">{t("runs.columnsNone")}</p>}
        {groups.map(({ kind, ids, more }) => (
          <fieldset key={kind} className="chooser-group">
            <legend>{t(`runs.kind.${kind}`)}</legend>
            {kind === "param" && (
              <label className="check-row muted">
                <input type="checkbox" checked={variesOnly} onChange={() => setVariesOnly(!variesOnly)} />
                {t("runs.columnsVaries")}
              </label>
            )}
            {ids.map((id) => (
              <label key={id} className="check-row">
                <input type="checkbox" checked={shown.has(id)} onChange={() => toggle(id)} />
                <span className="ellipsis">{columnLabel(id)}</span>
              </label>
            ))}
            {more > 0 && <p className="faint">{t("runs.columnsMore", { count: more })}</p>}
          </fieldset>
        ))}
      </div>
      <div className="chooser-footer">
        <Button kind="quiet" onClick={() => change({ columns: suggestedColumns(known), pinned: [] })}>
          {t("runs.columnsReset")}
        </Button>
      </div>
    </>
  );
}

/** A metric is one entry whichever of its values is shown. */
function baseId(id: string): string {
  return withField(id, "last");
}

function candidates(known: readonly ColumnInfo[], search: string, variesOnly: boolean) {
  const attributes = ATTRIBUTES.map((id) => ({ kind: "attribute" as const, id, varies: true }));
  const logged = known
    .filter(({ kind }) => kind !== "attribute")
    .map(({ kind, key, varies }) => ({ kind, id: columnId(kind, key), varies }));
  const wanted = search.toLowerCase();
  const matches = [...attributes, ...logged].filter(
    ({ kind, id, varies }) =>
      columnLabel(id).toLowerCase().includes(wanted) && (kind !== "param" || varies || !variesOnly),
  );
  return KINDS.map((kind) => {
    const ids = matches.filter((each) => each.kind === kind).map(({ id }) => id);
    return { kind, ids: ids.slice(0, LISTED_MAX), more: Math.max(0, ids.length - LISTED_MAX) };
  }).filter(({ kind, ids }) => ids.length > 0 || (kind === "param" && variesOnly));
}

/** The columns in the table: their order, which value of a metric, pinned or not. */
function ShownColumns({ view, change }: { readonly view: View; readonly change: (edit: Partial<View>) => void }) {
  const move = (index: number, step: number) => {
    const columns = [...view.columns];
    const [id] = columns.splice(index, 1);
    if (id) columns.splice(index + step, 0, id);
    change({ columns });
  };
  const pin = (id: string) =>
    change({ pinned: view.pinned.includes(id) ? view.pinned.filter((each) => each !== id) : [...view.pinned, id] });
  const replace = (id: string, by: string) =>
    change({ columns: view.columns.map((each) => (each === id ? by : each)) });
  return (
    <fieldset className="chooser-group">
      <legend>{t("runs.columnsShown")}</legend>
      {view.columns.map((id, index) => {
        const name = columnLabel(id);
        const column = parseColumnId(id);
        return (
          <div key={id} className="chooser-shown">
            <span className="ellipsis chooser-name" title={name}>
              {column?.kind === "metric" ? column.key : name}
            </span>
            {column?.kind === "metric" && (
              <select
                className="chooser-field"
                aria-label={t("runs.field", { name: column.key })}
                value={column.field}
                onChange={(event) => replace(id, withField(id, event.target.value as MetricField))}
              >
                {METRIC_FIELDS.map((field) => (
                  <option key={field} value={field}>
                    {t(`runs.field.${field}`)}
                  </option>
                ))}
              </select>
            )}
            <IconButton
              icon="arrowUp"
              label={t("runs.up", { name })}
              disabled={index === 0}
              onClick={() => move(index, -1)}
            />
            <IconButton
              icon="arrowDown"
              label={t("runs.down", { name })}
              disabled={index === view.columns.length - 1}
              onClick={() => move(index, 1)}
            />
            <IconButton
              icon="pin"
              label={t("runs.pin", { name })}
              pressed={view.pinned.includes(id)}
              onClick={() => pin(id)}
            />
            <IconButton
              icon="close"
              label={t("runs.hide", { name })}
              onClick={() => change({ columns: view.columns.filter((each) => each !== id) })}
            />
          </div>
        );
      })}
    </fieldset>
  );
}
