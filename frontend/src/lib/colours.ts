/** Ten colours that people with colour-vision deficiencies tell apart, each ≥ 3:1 on both backgrounds (tested). */
export const SERIES_COLOURS = [
  "#2f7fd4",
  "#cf6a1b",
  "#2b946b",
  "#c2509a",
  "#8168d6",
  "#a17e12",
  "#1b93ad",
  "#d44b45",
  "#6d8b2c",
  "#7b8290",
] as const;

const DASHES: readonly number[][] = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

/** FNV-1a: small, fast and the same in every browser, so that a run keeps its colour everywhere. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    value ^= text.charCodeAt(i);
    value = Math.imul(value, 0x01000193);
  }
  return value >>> 0;
}

/** The colour of a run when it is shown alone or in a table. */
export function runColour(runId: string): string {
  return SERIES_COLOURS[hash(runId) % SERIES_COLOURS.length] ?? SERIES_COLOURS[0];
}

export interface LineStyle {
  readonly colour: string;
  readonly dash: readonly number[];
}

/**
 * Styles for runs drawn together: each keeps `runColour` where it is free; a clash takes the next free colour,
 * and past ten lines the colours come again with another dash pattern.
 */
export function runStyles(runIds: readonly string[]): Map<string, LineStyle> {
  const styles = new Map<string, LineStyle>();
  const used: number[] = new Array(SERIES_COLOURS.length).fill(0);
  for (const runId of runIds) {
    if (styles.has(runId)) continue;
    const least = Math.min(...used);
    let slot = hash(runId) % SERIES_COLOURS.length;
    while (used[slot] !== least) slot = (slot + 1) % SERIES_COLOURS.length;
    used[slot] = least + 1;
    styles.set(runId, {
      colour: SERIES_COLOURS[slot] ?? SERIES_COLOURS[0],
      dash: DASHES[Math.min(least, DASHES.length - 1)] ?? [],
    });
  }
  return styles;
}
