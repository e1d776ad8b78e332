import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useState } from "react";
import { runStyles } from "../lib/colours";
import { t } from "../messages";
import { Button, IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { EmptyState } from "../ui/EmptyState";
import { Icon } from "../ui/icons";
import { ChartCard, type ChartRun } from "./ChartCard";
import { ChartControls } from "./ChartControls";
import { type Card, cardsOf, filterCards, type Section, SYSTEM, sectionsOf } from "./cards";
import "./charts.css";
import { setHighlight } from "./highlight";
import { LineSwatch } from "./LineSwatch";
import { distinctNames } from "./names";
import type { Range } from "./series";
import { useGridView } from "./useGridView";
import { useNear } from "./useNear";
import type { GridView } from "./view";

export type { ChartRun } from "./ChartCard";

const CHART_HEIGHT = 208;

interface ChartGridProps {
  readonly runs: readonly ChartRun[];
  /** Metric keys, one chart each; or give `cards` to put several keys in one chart. */
  readonly keys?: readonly string[];
  readonly cards?: readonly Card[];
  /** All charts lie on one time line: no steps, and a zoom is everybody's. */
  readonly timeOnly?: boolean;
  readonly actions?: ReactNode;
}

/** All charts of some runs, in sections; only those near the window are mounted. */
export function ChartGrid({ runs: named, keys, cards: given, timeOnly = false, actions }: ChartGridProps) {
  const runs = useMemo(() => distinctNames(named), [named]);
  const [stored, change] = useGridView();
  const view = useMemo<GridView>(
    () => (timeOnly && stored.x === "step" ? { ...stored, x: "relative", xLog: false } : withoutTimeLog(stored)),
    [stored, timeOnly],
  );
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const cards = useMemo(() => given ?? cardsOf(keys ?? []), [given, keys]);
  const matching = useMemo(() => filterCards(cards, view.filter), [cards, view.filter]);
  const sections = useMemo(() => sectionsOf(matching ?? cards), [matching, cards]);
  const shownRuns = useMemo(() => runs.filter((run) => !hidden.has(run.id)), [runs, hidden]);
  const zoom = useZoom(timeOnly, view);
  const [open, setOpen] = useState<string | null>(null);
  if (cards.length === 0) {
    return (
      <EmptyState title={t("charts.none")} code={'mlflow.log_metric("loss", 0.5, step=1)'}>
        {t("charts.noneHint")}
      </EmptyState>
    );
  }
  const shared = { runs: shownRuns, view, zoom };
  return (
    <div className="charts">
      <div className="charts-bar">
        <ChartControls view={view} onChange={change} timeOnly={timeOnly} />
        <div className="charts-bar-end">
          <FilterField
            value={view.filter}
            valid={matching !== null}
            onChange={(filter) => change({ filter })}
            shown={matching?.length ?? cards.length}
            count={cards.length}
          />
          {actions}
        </div>
      </div>
      {runs.length > 1 && <RunLegend runs={runs} hidden={hidden} onHidden={setHidden} />}
      {matching?.length === 0 && (
        <EmptyState
          title={t("charts.noMatch")}
          action={<Button onClick={() => change({ filter: "" })}>{t("charts.clearFilter")}</Button>}
        />
      )}
      {sections.map((section) => (
        <GridSection key={section.name} section={section} only={sections.length === 1} onOpen={setOpen} {...shared} />
      ))}
      {open !== null && (
        <FullScreen
          cards={sections.flatMap((section) => section.cards)}
          id={open}
          onMove={setOpen}
          onClose={() => setOpen(null)}
          {...shared}
        />
      )}
    </div>
  );
}

/** A log axis of wall time would start in 1970. */
function withoutTimeLog(view: GridView): GridView {
  return view.x === "time" && view.xLog ? { ...view, xLog: false } : view;
}

interface Zoom {
  readonly of: (id: string) => Range | null;
  readonly set: (id: string, range: Range | null) => void;
}

/** The zoomed range of each card, or one for all; another x axis means another range. */
function useZoom(linked: boolean, view: GridView): Zoom {
  const [ranges, setRanges] = useState<ReadonlyMap<string, Range>>(new Map());
  const name = useCallback((id: string) => `${view.x} ${view.xLog} ${linked ? "" : id}`, [linked, view.x, view.xLog]);
  return useMemo(
    () => ({
      of: (id) => ranges.get(name(id)) ?? null,
      set: (id, range) =>
        setRanges((before) => {
          const next = new Map(before);
          if (range) next.set(name(id), range);
          else next.delete(name(id));
          return next;
        }),
    }),
    [ranges, name],
  );
}

interface FilterProps {
  readonly value: string;
  readonly valid: boolean;
  readonly shown: number;
  readonly count: number;
  readonly onChange: (value: string) => void;
}

function FilterField({ value, valid, shown, count, onChange }: FilterProps) {
  return (
    <>
      <span className="faint charts-count" role="status">
        {valid ? t("charts.shown", { shown, count }) : t("charts.badRegex")}
      </span>
      <input
        type="search"
        className="field charts-filter"
        value={value}
        placeholder={t("charts.filter")}
        aria-label={t("charts.filter")}
        aria-invalid={!valid}
        onChange={(event) => onChange(event.target.value)}
      />
    </>
  );
}

interface LegendProps {
  readonly runs: readonly ChartRun[];
  readonly hidden: ReadonlySet<string>;
  readonly onHidden: (hidden: ReadonlySet<string>) => void;
}

/** The runs with their colours; a click hides one, pointing at one brings out its lines. */
function RunLegend({ runs, hidden, onHidden }: LegendProps) {
  const styles = runStyles(runs.map((run) => run.id));
  const toggle = (id: string) => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    onHidden(next);
  };
  return (
    <ul className="charts-runs" aria-label={t("charts.runs")}>
      {runs.map((run) => (
        <li key={run.id}>
          <button
            type="button"
            className="charts-run"
            aria-pressed={!hidden.has(run.id)}
            aria-label={t("charts.toggleRun", { name: run.name })}
            onClick={() => toggle(run.id)}
            onPointerEnter={() => setHighlight(run.id)}
            onPointerLeave={() => setHighlight(null)}
            onFocus={() => setHighlight(run.id)}
            onBlur={() => setHighlight(null)}
          >
            <LineSwatch colour={styles.get(run.id)?.colour ?? ""} dash={styles.get(run.id)?.dash ?? []} />
            <span className="ellipsis">{run.name}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface Shared {
  readonly runs: readonly ChartRun[];
  readonly view: GridView;
  readonly zoom: Zoom;
}

interface SectionProps extends Shared {
  readonly section: Section;
  readonly only: boolean;
  readonly onOpen: (id: string) => void;
}

function GridSection({ section, only, onOpen, ...shared }: SectionProps) {
  const [folded, setFolded] = useState(section.name === SYSTEM);
  const name = section.name === "" ? t("charts.section") : section.name;
  return (
    <section className="charts-section" aria-label={name}>
      {!(only && section.name === "") && (
        <button type="button" className="charts-fold" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          <Icon name={folded ? "chevronRight" : "chevronDown"} size={14} />
          {name}
          <span className="faint">{section.cards.length}</span>
        </button>
      )}
      {!folded && (
        <div className="charts-grid">
          {section.cards.map((card) => (
            <Slot key={card.id} card={card} onOpen={onOpen} {...shared} />
          ))}
        </div>
      )}
    </section>
  );
}

/** The place of a card. The card itself is there only while its place is near the window. */
function Slot({ card, onOpen, runs, view, zoom }: Shared & { card: Card; onOpen: (id: string) => void }) {
  const [place, near] = useNear<HTMLElement>();
  return (
    <article ref={place} className="chart-card" style={{ minHeight: CHART_HEIGHT + 56 }}>
      {near ? (
        <ChartCard
          card={card}
          runs={runs}
          view={view}
          range={zoom.of(card.id)}
          onRange={(range) => zoom.set(card.id, range)}
          height={CHART_HEIGHT}
          onExpand={() => onOpen(card.id)}
        />
      ) : (
        <h2 className="chart-title ellipsis">{card.title}</h2>
      )}
    </article>
  );
}

interface FullScreenProps extends Shared {
  readonly cards: readonly Card[];
  readonly id: string;
  readonly onMove: (id: string) => void;
  readonly onClose: () => void;
}

/** One chart as large as the window; arrows go to the next one. */
function FullScreen({ cards, id, onMove, onClose, runs, view, zoom }: FullScreenProps) {
  const at = cards.findIndex((card) => card.id === id);
  const card = cards[at];
  if (!card) return null;
  const go = (by: number) => onMove(cards[(at + by + cards.length) % cards.length]?.id ?? id);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) go(by);
  };
  const place = `${at + 1} / ${cards.length}`;
  return (
    <Dialog title={place} onClose={onClose} width_px={Math.max(320, innerWidth - 96)}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons below do the same. */}
      <div className="chart-full" onKeyDown={onKeyDown}>
        <ChartCard
          key={card.id}
          card={card}
          runs={runs}
          view={view}
          range={zoom.of(card.id)}
          onRange={(range) => zoom.set(card.id, range)}
          height={Math.max(240, innerHeight - 320)}
          legend
        />
        <div className="chart-full-moves">
          <IconButton icon="chevronLeft" label={t("charts.previous")} onClick={() => go(-1)} />
          <IconButton icon="chevronRight" label={t("charts.next")} onClick={() => go(1)} autoFocus />
        </div>
      </div>
    </Dialog>
  );
}
