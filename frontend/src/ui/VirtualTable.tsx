import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
} from "react";
import { t } from "../messages";
import { Icon } from "./icons";

export interface TableColumn<Row> {
  readonly id: string;
  /** Names the column for everyone; shown unless `header` is given. */
  readonly label: string;
  readonly header?: ReactNode;
  readonly width_px: number;
  readonly align?: "start" | "end";
  /** Stays at the left edge while the rest scrolls. Pinned columns come first. */
  readonly pinned?: boolean;
  readonly sortable?: boolean;
  readonly resizable?: boolean;
  readonly cell: (row: Row, index: number) => ReactNode;
  /** Text of the cell, for fitting the width to the content. */
  readonly text?: (row: Row) => string;
}

export interface Sort {
  readonly id: string;
  readonly descending: boolean;
}

interface VirtualTableProps<Row> {
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** All rows there are, also those not loaded yet. */
  readonly total?: number | null;
  readonly sort?: Sort | null;
  readonly onSort?: (id: string) => void;
  readonly onResize?: (id: string, width_px: number) => void;
  readonly selected?: ReadonlySet<string>;
  /** Index of the row that shortcuts act on. */
  readonly cursor?: number | null;
  readonly onEndReached?: () => void;
  /** When it changes (another order, another filter) the table starts again from its top. */
  readonly scrollKey?: string;
  readonly rowClass?: (row: Row) => string;
  /** Shown below the header when there are no rows. */
  readonly empty?: ReactNode;
}

const ROW_PX = 28;
const HEADER_PX = 30;
/** Rows before the end at which more are asked for. */
const END_MARGIN_ROWS = 20;
export const COLUMN_MIN_PX = 48;
const COLUMN_MAX_PX = 800;
const CELL_PADDING_PX = 18;

/** A table of any length: only the rows and columns in view are in the page. It fills its parent and scrolls itself. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { columns, rows, rowKey, sort, onSort, onResize, selected, cursor, onEndReached, rowClass } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const pinned = useMemo(() => columns.filter((column) => column.pinned), [columns]);
  const free = useMemo(() => columns.filter((column) => !column.pinned), [columns]);
  const pinnedWidth = pinned.reduce((sum, column) => sum + column.width_px, 0);

  const rowWindow = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: HEADER_PX,
    scrollPaddingStart: HEADER_PX,
    // The cursor's row stays mounted so that focus is never lost by scrolling.
    rangeExtractor: useCallback(
      (range: Parameters<typeof defaultRangeExtractor>[0]) => {
        const shown = defaultRangeExtractor(range);
        return typeof cursor === "number" && cursor < rows.length && !shown.includes(cursor)
          ? [...shown, cursor].sort((a, b) => a - b)
          : shown;
      },
      [cursor, rows.length],
    ),
  });
  const columnWindow = useVirtualizer({
    horizontal: true,
    count: free.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => free[index]?.width_px ?? 0,
    getItemKey: (index) => free[index]?.id ?? index,
    overscan: 4,
    scrollMargin: pinnedWidth,
    scrollPaddingStart: pinnedWidth,
  });
  const widths = free.map((column) => column.width_px).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed width is the reason to measure again.
  useEffect(() => columnWindow.measure(), [widths, columnWindow]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is the reason to scroll.
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = 0;
  }, [props.scrollKey]);
  useAnchor(scroller, rows, rowKey);
  const shownRows = rowWindow.getVirtualItems();
  const last = shownRows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - END_MARGIN_ROWS) onEndReached?.();
  }, [last, rows.length, onEndReached]);
  useEffect(() => {
    if (typeof cursor === "number") rowWindow.scrollToIndex(cursor, { align: "auto" });
  }, [cursor, rowWindow]);

  const shownColumns = columnWindow.getVirtualItems();
  const totalWidth = pinnedWidth + free.reduce((sum, column) => sum + column.width_px, 0);
  const skipped = (shownColumns[0]?.start ?? pinnedWidth) - pinnedWidth;
  const cellsOf = (render: (column: TableColumn<Row>, index: number, style: CSSProperties) => ReactNode) => (
    <>
      {pinned.map((column, index) => {
        const left = pinned.slice(0, index).reduce((sum, before) => sum + before.width_px, 0);
        return render(column, index, { width: column.width_px, left });
      })}
      <div className="vt-gap" aria-hidden="true" style={{ width: skipped }} />
      {shownColumns.map(({ index }) => {
        const column = free[index];
        return column && render(column, pinned.length + index, { width: column.width_px });
      })}
    </>
  );

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard.
    <div ref={scroller} className="vt" tabIndex={0} role="region" aria-label={props.label}>
      <div
        role="table"
        aria-label={props.label}
        aria-rowcount={(props.total ?? rows.length) + 1}
        aria-colcount={columns.length}
        style={{ width: totalWidth, minWidth: "100%", height: rows.length * ROW_PX + HEADER_PX }}
        className="vt-table"
      >
        <div role="rowgroup" className="vt-head">
          <div role="row" aria-rowindex={1} className="vt-row vt-head-row">
            {cellsOf((column, index, style) => (
              <HeaderCell
                key={column.id}
                column={column}
                index={index}
                style={style}
                sort={sort?.id === column.id ? sort : null}
                onSort={onSort}
                onResize={onResize}
                fit={() => onResize?.(column.id, fitWidth(column, rows.slice(0, 200)))}
              />
            ))}
          </div>
        </div>
        <div role="rowgroup">
          {shownRows.map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const key = rowKey(row);
            const chosen = selected?.has(key) ?? false;
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                className={`vt-row ${chosen ? "vt-selected" : ""} ${cursor === index ? "vt-cursor" : ""} ${rowClass?.(row) ?? ""}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                {cellsOf((column, at, style) => (
                  <div
                    key={column.id}
                    role="cell"
                    aria-colindex={at + 1}
                    className={`vt-cell ${column.pinned ? "vt-pinned" : ""} ${column.align === "end" ? "vt-end" : ""}`}
                    style={style}
                  >
                    {column.cell(row, index)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {rows.length === 0 && <div className="vt-empty">{props.empty}</div>}
    </div>
  );
}

/** New rows above the window do not move what is being read; at the very top they are let in. */
function useAnchor<Row>(scroller: RefObject<HTMLElement | null>, rows: readonly Row[], rowKey: (row: Row) => string) {
  const anchor = useRef<{ key: string; index: number } | null>(null);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const { key, index } = anchor.current ?? {};
    if (key !== undefined && index !== undefined && index > 0) {
      const moved = rows.findIndex((row) => rowKey(row) === key) - index;
      if (moved !== 0) element.scrollTop += moved * ROW_PX;
    }
    const remember = () => {
      const at = Math.floor(element.scrollTop / ROW_PX);
      const row = rows[at];
      anchor.current = row === undefined ? null : { key: rowKey(row), index: at };
    };
    remember();
    element.addEventListener("scroll", remember, { passive: true });
    return () => element.removeEventListener("scroll", remember);
  }, [scroller, rows, rowKey]);
}

interface HeaderCellProps<Row> {
  readonly column: TableColumn<Row>;
  readonly index: number;
  readonly style: CSSProperties;
  readonly sort: Sort | null;
  readonly onSort: ((id: string) => void) | undefined;
  readonly onResize: ((id: string, width_px: number) => void) | undefined;
  readonly fit: () => void;
}

function HeaderCell<Row>({ column, index, style, sort, onSort, onResize, fit }: HeaderCellProps<Row>) {
  const sortable = column.sortable && onSort;
  const direction = sort ? (sort.descending ? "descending" : "ascending") : "none";
  const content = column.header ?? column.label;
  return (
    <div
      role="columnheader"
      aria-colindex={index + 1}
      aria-sort={sortable ? direction : undefined}
      className={`vt-cell vt-header ${column.pinned ? "vt-pinned" : ""} ${column.align === "end" ? "vt-end" : ""}`}
      style={style}
    >
      {sortable ? (
        <button type="button" className="vt-sort" onClick={() => onSort(column.id)} title={column.label}>
          <span className="ellipsis">{content}</span>
          {sort && <Icon name={sort.descending ? "arrowDown" : "arrowUp"} size={12} />}
        </button>
      ) : (
        <span className="ellipsis" title={column.header ? undefined : column.label}>
          {content}
        </span>
      )}
      {column.resizable && onResize && (
        <ResizeHandle
          label={t("table.resize", { name: column.label })}
          width_px={column.width_px}
          onResize={(width) => onResize(column.id, width)}
          onFit={fit}
        />
      )}
    </div>
  );
}

interface ResizeHandleProps {
  readonly label: string;
  readonly width_px: number;
  readonly onResize: (width_px: number) => void;
  readonly onFit: () => void;
}

const KEY_STEP_PX = 16;

/** Drag, arrow keys, or a double click to fit the content. */
function ResizeHandle({ label, width_px, onResize, onFit }: ResizeHandleProps) {
  const from = useRef<{ x: number; width: number } | null>(null);
  const clamp = (width: number) => Math.round(Math.max(COLUMN_MIN_PX, Math.min(width, COLUMN_MAX_PX)));
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width_px}
      aria-valuemin={COLUMN_MIN_PX}
      aria-valuemax={COLUMN_MAX_PX}
      tabIndex={0}
      className="vt-resize"
      onDoubleClick={onFit}
      onKeyDown={(event) => {
        if (event.key === "ArrowLeft") onResize(clamp(width_px - KEY_STEP_PX));
        else if (event.key === "ArrowRight") onResize(clamp(width_px + KEY_STEP_PX));
        else if (event.key === "Enter") onFit();
        else return;
        event.preventDefault();
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { x: event.clientX, width: width_px };
      }}
      onPointerMove={(event) => {
        if (from.current) onResize(clamp(from.current.width + event.clientX - from.current.x));
      }}
      onPointerUp={() => {
        from.current = null;
      }}
    />
  );
}

/** Width of the widest of the given cells, measured as text. */
function fitWidth<Row>(column: TableColumn<Row>, rows: readonly Row[]): number {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return column.width_px;
  context.font = getComputedStyle(document.body).font;
  const texts = [`${column.label}  `, ...rows.map((row) => column.text?.(row) ?? "")];
  const widest = Math.max(...texts.map((text) => context.measureText(text).width));
  return Math.round(Math.max(COLUMN_MIN_PX, Math.min(widest + CELL_PADDING_PX, COLUMN_MAX_PX)));
}
