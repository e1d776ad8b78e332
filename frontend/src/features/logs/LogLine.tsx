import { memo, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { LogLine as Line } from "../../api/types";
import { markHits, parse, plain, type Span } from "../../lib/ansi";
import { formatBytes } from "../../lib/format";
import { t } from "../../messages";
import { hitsIn } from "./filter";

interface LogLineProps {
  readonly line: Line;
  readonly matcher: RegExp | null;
  readonly times: boolean;
  readonly gutter: boolean;
  readonly marked: boolean;
  readonly current: boolean;
}

/** Longer lines are cut; drawing a megabyte of text in one row would stop the page. */
const SHOWN_CHARS = 2_000;

export const LogLine = memo(function LogLine({ line, matcher, times, gutter, marked, current }: LogLineProps) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && line.text.length > SHOWN_CHARS;
  const text = cut ? line.text.slice(0, SHOWN_CHARS) : line.text;
  const spans = markHits(parse(text), hitsIn(plain(text), matcher));
  const state = `${marked ? " marked" : ""}${current ? " current" : ""}`;
  return (
    <div className={`log-line log-${line.level}${state}`}>
      {gutter && (
        <span className="log-node" data-node={line.node % 8} title={t("logs.nodeN", { n: line.node })}>
          {line.node}
        </span>
      )}
      <LineNumber line={line} />
      {times && <span className="log-time">{timeOf(line.time_ns)}</span>}
      <span className="log-text">
        {spans.map((span, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the spans of a line have no identity but their place.
          <LogSpan key={index} span={span} />
        ))}
        {cut && (
          <button type="button" className="log-more" onClick={() => setWhole(true)}>
            {t("logs.showAll", { size: formatBytes(line.truncated ?? line.text.length) })}
          </button>
        )}
        {!cut && line.truncated && <span className="log-cut"> … {formatBytes(line.truncated)}</span>}
      </span>
    </div>
  );
});

/** A link to the line among its neighbours: without the filter. */
function LineNumber({ line }: { readonly line: Line }) {
  const [path] = useLocation();
  const attempt = new URLSearchParams(useSearch()).get("attempt");
  const query = new URLSearchParams({ ...(attempt ? { attempt } : {}), line: `${line.node}:${line.seq}` });
  return (
    <Link
      href={`${path}?${query}`}
      className="log-number"
      title={t("logs.lineLink", { n: line.seq + 1 })}
      tabIndex={-1}
    >
      {line.seq + 1}
    </Link>
  );
}

function LogSpan({ span }: { readonly span: Span }) {
  const classes = [
    span.hit === undefined ? "" : "hit",
    span.bold ? "bold" : "",
    span.dim ? "dim" : "",
    span.italic ? "italic" : "",
    span.underline ? "underline" : "",
    span.strike ? "strike" : "",
    typeof span.fg === "number" ? `fg-${span.fg}` : span.fg ? "fg" : "",
    typeof span.bg === "number" ? `bg-${span.bg}` : span.bg ? "bg" : "",
  ].filter(Boolean);
  if (classes.length === 0) return span.text;
  const style: Record<string, string> = {};
  if (typeof span.fg === "string") style["--fg"] = `rgb(${span.fg})`;
  if (typeof span.bg === "string") style["--bg-ansi"] = `rgb(${span.bg})`;
  const Tag = span.hit === undefined ? "span" : "mark";
  return (
    <Tag className={classes.join(" ")} style={style}>
      {span.text}
    </Tag>
  );
}

/** Local time to the millisecond: the minimap tells the day. */
function timeOf(ns: number): string {
  const date = new Date(ns / 1e6);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
