/** Which charts a grid shows, in which order and sections. Pure. */

export interface Card {
  readonly id: string;
  readonly title: string;
  /** More than one: they share a chart, one line each. */
  readonly keys: readonly string[];
  /** Names of the lines when there are several keys. */
  readonly keyLabel?: (key: string) => string;
  readonly section: string;
  /** The y axis shows at least this: a share of 3 % should look small. */
  readonly atLeast?: readonly [number, number];
}

export interface Section {
  readonly name: string;
  readonly cards: readonly Card[];
}

/** As many charts as fit on a screen need no sections. */
const SECTIONS_FROM = 7;

/** One card per key; `train/loss` goes to section `train`, a key without `/` to the nameless one. */
export function cardsOf(keys: readonly string[]): Card[] {
  return keys.map((key) => {
    const slash = keys.length < SECTIONS_FROM ? 0 : key.indexOf("/");
    return { id: key, title: key, keys: [key], section: slash > 0 ? key.slice(0, slash) : "" };
  });
}

const order = new Intl.Collator("en", { numeric: true });

/** Metrics of the machine, not of the training: last, and folded until asked for. */
export const SYSTEM = "system";

/** Sections by name, the nameless one first; cards by title, numbers in it as numbers. */
export function sectionsOf(cards: readonly Card[]): Section[] {
  const byName = new Map<string, Card[]>();
  for (const card of cards) {
    const members = byName.get(card.section);
    if (members) members.push(card);
    else byName.set(card.section, [card]);
  }
  return [...byName]
    .map(([name, members]) => ({ name, cards: members.sort((a, b) => order.compare(a.title, b.title)) }))
    .sort((a, b) => Number(a.name === SYSTEM) - Number(b.name === SYSTEM) || order.compare(a.name, b.name));
}

/** Cards one of whose keys matches; `null` when the pattern is not a regular expression. */
export function filterCards(cards: readonly Card[], pattern: string): readonly Card[] | null {
  if (pattern === "") return cards;
  let matcher: RegExp;
  try {
    matcher = new RegExp(pattern, "i");
  } catch {
    return null;
  }
  return cards.filter((card) => matcher.test(card.title) || card.keys.some((key) => matcher.test(key)));
}
