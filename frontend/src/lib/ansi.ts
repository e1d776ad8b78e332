/**
 * A log line as styled spans of plain text. The page renders the spans as text nodes, so output can never become markup.
 *
 * Only colours and weights survive. Cursor movement, titles, links and other control sequences are dropped: a line is one line.
 */

import Anser from "anser";

/** 0…15 are the terminal's named colours, which the theme defines; anything else is "r, g, b". */
export type AnsiColour = number | string;

export interface Span {
  readonly text: string;
  readonly fg?: AnsiColour;
  readonly bg?: AnsiColour;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
  /** Set by `markHits`: the number of the hit this span belongs to. */
  readonly hit?: number;
}

const ESC = "\u001b";
// Operating-system commands (titles, hyperlinks) end with BEL or ESC \; the rest are two- or three-character escapes.
const NON_CSI = new RegExp(
  `${ESC}(?:[\\]PX^_][\\s\\S]*?(?:\\u0007|${ESC}\\\\|$)|[()*+\\-./#%][\\s\\S]?|[^\\[\\]PX^_]|$)`,
  "g",
);
const CSI = new RegExp(`${ESC}\\[[0-?]*[ -/]*[@-~]?`, "g");
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes (tab stays).
const CONTROL = /[\u0000-\u0008\u000a-\u001a\u001c-\u001f\u007f]/g;

const NAMED = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The spans of one line, in order; joined, their texts are `plain(line)`. */
export function parse(line: string): readonly Span[] {
  const cleaned = colourOnly(line);
  if (!cleaned.includes(ESC)) return cleaned === "" ? [] : [{ text: cleaned }];
  const entries = Anser.ansiToJson(cleaned, { json: true, use_classes: true, remove_empty: true });
  return entries.map(span).filter((s) => s.text !== "");
}

/** The line without any escape: what is searched and copied. */
export function plain(line: string): string {
  return colourOnly(line).replace(CSI, "").replaceAll(ESC, "");
}

/** Titles and links first: the BEL that ends them is itself a control character. */
function colourOnly(line: string): string {
  return line.replace(NON_CSI, "").replace(CONTROL, "");
}

/** Cut spans at the hits (ascending, not overlapping, half-open ranges of the plain text) and number the pieces. */
export function markHits(spans: readonly Span[], hits: readonly (readonly [number, number])[]): readonly Span[] {
  if (hits.length === 0) return spans;
  const out: Span[] = [];
  let at = 0;
  let next = 0;
  for (const whole of spans) {
    let from = 0;
    while (from < whole.text.length) {
      while (next < hits.length && (hits[next] as [number, number])[1] <= at + from) next++;
      const [start, end] = hits[next] ?? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      const inside = start <= at + from;
      const to = Math.min(whole.text.length, (inside ? end : start) - at);
      out.push({ ...whole, text: whole.text.slice(from, to), ...(inside ? { hit: next } : {}) });
      from = to;
    }
    at += whole.text.length;
  }
  return out;
}

function span(entry: Anser.AnserJsonEntry): Span {
  const has = new Set<string>(entry.decorations);
  let fg = colour(entry.fg, entry.fg_truecolor);
  let bg = colour(entry.bg, entry.bg_truecolor);
  // Reverse video needs a colour on both sides to swap; the default ones are the theme's black and white.
  if (has.has("reverse")) [fg, bg] = [bg ?? 0, fg ?? 7];
  return {
    text: entry.content.replaceAll(ESC, ""),
    ...(fg === undefined ? {} : { fg }),
    ...(bg === undefined ? {} : { bg }),
    ...(has.has("bold") ? { bold: true } : {}),
    ...(has.has("dim") ? { dim: true } : {}),
    ...(has.has("italic") ? { italic: true } : {}),
    ...(has.has("underline") ? { underline: true } : {}),
    ...(has.has("strikethrough") ? { strike: true } : {}),
  };
}

/** Anser names a colour by class: `ansi-red`, `ansi-bright-red`, `ansi-palette-208`, `ansi-truecolor`. */
function colour(name: string | null, truecolor: string | null): AnsiColour | undefined {
  if (!name) return undefined;
  if (name === "ansi-truecolor") return truecolor ?? undefined;
  const palette = /^ansi-palette-(\d+)$/.exec(name);
  if (palette) return paletteColour(Number(palette[1]));
  const bright = name.startsWith("ansi-bright-");
  const index = NAMED.indexOf(name.slice(bright ? 12 : 5));
  return index < 0 ? undefined : index + (bright ? 8 : 0);
}

/** xterm's 256 colours: 16 named ones, a 6×6×6 cube, 24 greys. */
export function paletteColour(index: number): AnsiColour {
  if (index < 16) return index;
  if (index >= 232)
    return Array(3)
      .fill(8 + (index - 232) * 10)
      .join(", ");
  const level = (n: number) => (n === 0 ? 0 : 55 + 40 * n);
  const cube = index - 16;
  return [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level).join(", ");
}
