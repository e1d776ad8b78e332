import { useNow } from "../lib/clock";
import { formatDuration, formatRelative, formatTime } from "../lib/format";
import { currentLanguage, t } from "../messages";

/** `3 min ago`, the exact time on hover. */
export function Time({ ms }: { readonly ms: number | null | undefined }) {
  const now = useNow(10_000);
  if (ms === null || ms === undefined) return null;
  const locale = currentLanguage();
  const recent = Math.abs(now - ms) < 10_000;
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatTime(ms, locale)}>
      {recent ? t("common.justNow") : formatRelative(ms, now, locale)}
    </time>
  );
}

/** Date, time and zone, for details. */
export function ExactTime({ ms }: { readonly ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return null;
  return <time dateTime={new Date(ms).toISOString()}>{formatTime(ms, currentLanguage())}</time>;
}

interface DurationProps {
  readonly start_ms: number | null | undefined;
  readonly end_ms: number | null | undefined;
  /** Counts on while there is no end. */
  readonly live?: boolean;
}

export function Duration({ start_ms, end_ms, live = false }: DurationProps) {
  if (start_ms === null || start_ms === undefined) return null;
  if (end_ms !== null && end_ms !== undefined) return <span>{formatDuration(end_ms - start_ms)}</span>;
  return live ? <RunningDuration start_ms={start_ms} /> : null;
}

function RunningDuration({ start_ms }: { readonly start_ms: number }) {
  const now = useNow();
  return <span>{formatDuration(Math.max(0, Math.floor((now - start_ms) / 1000) * 1000))}</span>;
}
