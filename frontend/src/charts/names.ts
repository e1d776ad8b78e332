/** Names for lines of runs: no two the same. Pure. */

export interface NamedRun {
  readonly id: string;
  readonly name: string;
  /** What tells it from runs of the same name, e.g. which attempt it is. */
  readonly detail?: string;
}

const ID_CHARS = 6;

/** Runs of the same name get their detail behind it, or, where that is the same too, the beginning of their ID. */
export function distinctNames<Run extends NamedRun>(runs: readonly Run[]): readonly Run[] {
  const count = counter(runs.map((run) => run.name));
  if ([...count.values()].every((n) => n === 1)) return runs;
  const detailed = counter(runs.map((run) => `${run.name}\n${run.detail ?? ""}`));
  return runs.map((run) => {
    if (count.get(run.name) === 1) return run;
    const told = run.detail && detailed.get(`${run.name}\n${run.detail}`) === 1;
    return { ...run, name: `${run.name} · ${told ? run.detail : run.id.slice(0, ID_CHARS)}` };
  });
}

function counter(texts: readonly string[]): ReadonlyMap<string, number> {
  const count = new Map<string, number>();
  for (const text of texts) count.set(text, (count.get(text) ?? 0) + 1);
  return count;
}
