/** Params as a tree: `optimizer.lr` and `optimizer.betas` share a branch. Pure. */

export interface Param {
  /** What the row shows: the rest of the key below its branch. */
  readonly label: string;
  readonly key: string;
  readonly value: string;
}

export interface Branch {
  /** Common part of the keys, with its dots; empty for the keys that share none. */
  readonly prefix: string;
  readonly params: readonly Param[];
}

const order = new Intl.Collator("en", { numeric: true });

/** Keys that share what stands before the last dot (or slash) are one branch; a branch of one is none. */
export function paramTree(params: Readonly<Record<string, string>>): Branch[] {
  const keys = Object.keys(params).sort(order.compare);
  const branches = new Map<string, string[]>();
  for (const key of keys) {
    const prefix = key.slice(0, Math.max(key.lastIndexOf("."), key.lastIndexOf("/")) + 1);
    const members = branches.get(prefix);
    if (members) members.push(key);
    else branches.set(prefix, [key]);
  }
  liftSingles(branches);
  const loose = [...branches].filter(([prefix, members]) => prefix === "" || members.length < 2).flatMap(([, m]) => m);
  const real = [...branches].filter(([prefix, members]) => prefix !== "" && members.length > 1);
  const branch = (prefix: string, members: readonly string[]): Branch => ({
    prefix,
    params: members.map((key) => ({ key, label: key.slice(prefix.length), value: params[key] ?? "" })),
  });
  const first = loose.length > 0 ? [branch("", loose.sort(order.compare))] : [];
  return [...first, ...real.map(([prefix, members]) => branch(prefix, members))];
}

/** A key alone on its branch joins the nearest shorter one that others are on: `data.tok.size` goes to `data.`. */
function liftSingles(branches: Map<string, string[]>): void {
  for (const [prefix, members] of [...branches].sort(([a], [b]) => b.length - a.length)) {
    if (members.length > 1) continue;
    let shorter = prefix;
    do {
      const end = Math.max(shorter.lastIndexOf(".", shorter.length - 2), shorter.lastIndexOf("/", shorter.length - 2));
      shorter = shorter.slice(0, end + 1);
    } while (shorter !== "" && !branches.has(shorter));
    if (shorter === "") continue;
    branches.delete(prefix);
    branches.get(shorter)?.push(...members);
    branches.get(shorter)?.sort(order.compare);
  }
}

/** Branches with only what matches in key or value. */
export function searchParams(branches: readonly Branch[], text: string): readonly Branch[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return branches;
  return branches
    .map((branch) => ({
      ...branch,
      params: branch.params.filter(({ key, value }) => `${key}\u0000${value}`.toLowerCase().includes(wanted)),
    }))
    .filter((branch) => branch.params.length > 0);
}
