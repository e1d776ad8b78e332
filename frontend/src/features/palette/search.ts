import { get, post } from "../../api/client";
import type { ExperimentsPage, JobRunList, RunsPage } from "../../api/types";

export interface Place {
  readonly kind: "page" | "experiment" | "run" | "job";
  readonly label: string;
  readonly href: string;
}

const EACH_MAX = 6;
const JOBS_LOOKED_AT = 100;
/** Runs are looked for in the experiments with the latest activity. */
const EXPERIMENTS_MAX = 50;

/** Experiments, runs and jobs whose name contains the text; ids open directly. */
export async function findPlaces(text: string, signal: AbortSignal): Promise<Place[]> {
  const direct = directPlaces(text);
  const [experiments, jobs, runs] = await Promise.all([
    get<ExperimentsPage>("experiments", { q: text || null, limit: EACH_MAX }, signal),
    get<JobRunList>("job-runs", { state: "all", limit: JOBS_LOOKED_AT }, signal),
    findRuns(text, signal),
  ]);
  const wanted = text.toLowerCase();
  return unique([
    ...direct,
    ...experiments.experiments.map(
      ({ name, experiment_id }): Place => ({ kind: "experiment", label: name, href: `/experiments/${experiment_id}` }),
    ),
    ...runs,
    ...jobs.job_runs
      .filter(({ name, job_run_id }) => `${job_run_id} ${name}`.toLowerCase().includes(wanted))
      .slice(0, EACH_MAX)
      .map(
        ({ name, job_run_id }): Place => ({
          kind: "job",
          label: jobLabel(job_run_id, name),
          href: `/jobs/${job_run_id}`,
        }),
      ),
  ]);
}

async function findRuns(text: string, signal: AbortSignal): Promise<Place[]> {
  if (!text) return [];
  const { experiments } = await get<ExperimentsPage>("experiments", { limit: EXPERIMENTS_MAX }, signal);
  if (experiments.length === 0) return [];
  const part = text.replace(/[\\%_]/g, "\\$&").replaceAll("'", "''");
  const query = {
    experiment_ids: experiments.map(({ experiment_id }) => experiment_id),
    filter: `attributes.run_name ILIKE '%${part}%'`,
    limit: EACH_MAX,
    with_total: false,
  };
  const { rows } = await post<RunsPage>("runs/query", query, signal);
  return rows.map(({ name, run_id }) => ({ kind: "run", label: name || run_id, href: `/runs/${run_id}` }));
}

/** A pasted id needs no search. */
export function directPlaces(text: string): Place[] {
  if (/^[0-9a-f]{32}$/i.test(text)) return [{ kind: "run", label: text, href: `/runs/${text.toLowerCase()}` }];
  if (/^\d{1,15}$/.test(text)) return [{ kind: "job", label: jobLabel(text, ""), href: `/jobs/${text}` }];
  return [];
}

function jobLabel(id: number | string, name: string): string {
  return name ? `${name} (${id})` : String(id);
}

function unique(places: readonly Place[]): Place[] {
  return [...new Map(places.map((place) => [place.href, place])).values()];
}
