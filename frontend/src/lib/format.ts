/** How values look on pages. Times come as Unix milliseconds, durations too. */

/** A number as the API sends it: non-finite ones are the strings "NaN", "Infinity", "-Infinity". */
export type Num = number | string;

const SIGNIFICANT_DIGITS = 6;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export function toNumber(value: Num): number {
  return typeof value === "number" ? value : Number(value);
}

/** Six significant digits; very small and very large numbers in exponent form; `∞` for infinities. */
export function formatNumber(value: Num | null | undefined): string {
  if (value === null || value === undefined) return "";
  const number = toNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e9) return minus(String(number));
  if (size < 1e-4 || size >= 1e9) return minus(trimExponent(number.toExponential(SIGNIFICANT_DIGITS - 1)));
  return minus(trimZeros(number.toPrecision(SIGNIFICANT_DIGITS)));
}

/** Every digit the number has, for titles and the clipboard. */
export function exactNumber(value: Num | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

function minus(text: string): string {
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function trimExponent(text: string): string {
  const [mantissa = "", exponent = ""] = text.split("e");
  return `${trimZeros(mantissa)}e${exponent.replace("+", "")}`;
}

/** An integer with the language's grouping, e.g. `12,345`. */
export function formatCount(value: number, locale = "en"): string {
  return new Intl.NumberFormat(locale).format(value);
}

/** Two units at most: `820 ms`, `12.4 s`, `3m 05s`, `2h 07m`, `4d 03h`. */
export function formatDuration(ms: number): string {
  if (ms < 0 || !Number.isFinite(ms)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${trimZeros((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (ms < DAY_MS) return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d ${pad(hours % 24)}h`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

/** Binary units with three digits: `512 B`, `1.21 KiB`, `34.5 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** `3 min ago` in the reader's language, in whole units that have passed; beyond a week the date. */
export function formatRelative(ms: number, now: number, locale = "en"): string {
  const ago = now - ms;
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  const size = Math.abs(ago);
  if (size < MINUTE_MS) return relative.format(-Math.trunc(ago / 1000), "second");
  if (size < HOUR_MS) return relative.format(-Math.trunc(ago / MINUTE_MS), "minute");
  if (size < DAY_MS) return relative.format(-Math.trunc(ago / HOUR_MS), "hour");
  if (size < 7 * DAY_MS) return relative.format(-Math.trunc(ago / DAY_MS), "day");
  return formatDate(ms, locale);
}

export function formatDate(ms: number, locale = "en"): string {
  return new Intl.DateTimeFormat(locale, { year: "numeric", month: "short", day: "numeric" }).format(ms);
}

/** Date, time to the second and zone. */
export function formatTime(ms: number, locale = "en"): string {
  return new Intl.DateTimeFormat(locale, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
    timeZoneName: "short",
  }).format(ms);
}

/** The viewer's own time zone, as it is called at that moment: `GMT+9`. */
export function zoneName(ms: number, locale = "en"): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZoneName: "short" }).formatToParts(ms);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}
