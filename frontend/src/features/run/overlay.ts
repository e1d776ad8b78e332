/** Which runs are drawn over a run's own curves, in the page's address: `?with=id,id`. Pure. */

/** More lines than this cannot be told apart. */
export const OVERLAID_MAX = 12;

export function readWith(text: string, own: string): readonly string[] {
  const ids = text.split(",").filter((id) => /^[0-9a-zA-Z_-]{1,64}$/.test(id) && id !== own);
  return [...new Set(ids)].slice(0, OVERLAID_MAX);
}

export function withRuns(search: URLSearchParams, ids: readonly string[]): URLSearchParams {
  const next = new URLSearchParams(search);
  if (ids.length > 0) next.set("with", ids.join(","));
  else next.delete("with");
  return next;
}

/** The filter that finds runs by a part of their name. */
export function nameFilter(text: string): string {
  const part = text
    .trim()
    .replace(/[\\%_]/g, "\\$&")
    .replaceAll("'", "''");
  return part === "" ? "" : `attributes.run_name ILIKE '%${part}%'`;
}
