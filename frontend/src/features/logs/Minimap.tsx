import { type PointerEvent, useRef, useState } from "react";
import type { LogLine, LogStats } from "../../api/types";
import { zoneName } from "../../lib/format";
import { currentLanguage, t } from "../../messages";

interface MinimapProps {
  readonly stats: LogStats | null;
  /** What is loaded: shown as a bracket. */
  readonly lines: readonly LogLine[];
  readonly onJump: (atMs: number) => void;
  readonly onRange: (fromMs: number, toMs: number) => void;
}

const HEIGHT = 26;
const DRAG_MIN_PX = 6;

/** Lines over time by level. Click goes there, drag chooses a range; the time field does the same by keyboard. */
export function Minimap({ stats, lines, onJump, onRange }: MinimapProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const first = stats?.first_time_ns;
  const last = stats?.last_time_ns;
  if (!stats || !first || !last || last <= first || stats.buckets.length === 0) return null;
  const at = (event: PointerEvent) => {
    const area = box.current?.getBoundingClientRect();
    return area ? Math.min(1, Math.max(0, (event.clientX - area.left) / area.width)) : 0;
  };
  const ms = (part: number) => Math.floor((first + (last - first) * part) / 1e6);
  const part = (ns: number) => Math.min(1, Math.max(0, (ns - first) / (last - first)));
  const release = (event: PointerEvent) => {
    if (!drag) return;
    const [from, to] = [drag[0], at(event)].sort((a, b) => a - b) as [number, number];
    setDrag(null);
    if ((to - from) * (box.current?.clientWidth ?? 0) < DRAG_MIN_PX) onJump(ms(to));
    else onRange(ms(from), ms(to));
  };
  const loaded =
    lines.length > 0 ? [part((lines[0] as LogLine).time_ns), part((lines.at(-1) as LogLine).time_ns)] : null;
  return (
    <div className="minimap">
      <span className="minimap-time">{clock(first)}</span>
      <div
        ref={box}
        className="minimap-box"
        title={t("logs.minimap")}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag([at(event), at(event)]);
        }}
        onPointerMove={(event) => drag && setDrag([drag[0], at(event)])}
        onPointerUp={release}
      >
        <Bars buckets={stats.buckets} />
        {loaded && <span className="minimap-loaded" style={span(loaded[0] as number, loaded[1] as number)} />}
        {drag && <span className="minimap-drag" style={span(Math.min(...drag), Math.max(...drag))} />}
      </div>
      <span className="minimap-time">
        {clock(last)} {zoneName(last / 1e6, currentLanguage())}
      </span>
    </div>
  );
}

function Bars({ buckets }: { readonly buckets: LogStats["buckets"] }) {
  const most = Math.max(1, ...buckets.map(([infos, warnings, errors]) => infos + warnings + errors));
  // A square root keeps one error visible beside ten thousand lines.
  const height = (count: number) => (count === 0 ? 0 : Math.max(2, Math.sqrt(count / most) * HEIGHT));
  return (
    <svg viewBox={`0 0 ${buckets.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {buckets.map((counts, index) => {
        const [infos, warnings, errors] = counts;
        const whole = height(infos + warnings + errors);
        const bad = Math.min(whole, height(warnings + errors));
        const worst = Math.min(whole, height(errors));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bucket is its place on the time line.
          <g key={index}>
            <title>{t("logs.minimapBar", { infos, warnings, errors })}</title>
            <rect className="minimap-info" x={index} width={0.8} y={HEIGHT - whole} height={whole} />
            <rect className="minimap-warning" x={index} width={0.8} y={HEIGHT - bad} height={bad} />
            <rect className="minimap-error" x={index} width={0.8} y={HEIGHT - worst} height={worst} />
          </g>
        );
      })}
    </svg>
  );
}

function span(from: number, to: number) {
  return { left: `${from * 100}%`, width: `max(3px, ${(to - from) * 100}%)` };
}

function clock(ns: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), {
    month: "numeric",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(ns / 1e6);
}
