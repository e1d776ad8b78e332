import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { apiUrl, basePath, get, getText, mlflowUrl, queryString, request } from "../../api/client";
import type { TablePreview } from "../../api/types";

export interface Artifact {
  readonly path: string;
  readonly isDir: boolean;
  /** Bytes; null for a folder. */
  readonly size: number | null;
}

interface ListAnswer {
  readonly files?: readonly { path: string; is_dir: boolean; file_size?: number | string }[];
  readonly next_page_token?: string;
}

/** One folder of a run, folders first. Further pages where it is very large. */
export function folderQuery(runId: string, path: string) {
  return infiniteQueryOptions({
    queryKey: ["artifacts", runId, path],
    queryFn: async ({ signal, pageParam }) => {
      const query = { run_id: runId, path: path === "" ? null : path, page_token: pageParam };
      const answer = await request<ListAnswer>(mlflowUrl("artifacts/list", query), { signal });
      return { artifacts: (answer.files ?? []).map(artifact), next: answer.next_page_token || null };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 10_000,
  });
}

function artifact(file: NonNullable<ListAnswer["files"]>[number]): Artifact {
  const size = file.is_dir || file.file_size === undefined ? null : Number(file.file_size);
  return { path: file.path, isDir: file.is_dir, size };
}

const order = new Intl.Collator("en", { numeric: true });

export function sorted(artifacts: readonly Artifact[]): readonly Artifact[] {
  return artifacts.toSorted((a, b) => Number(b.isDir) - Number(a.isDir) || order.compare(a.path, b.path));
}

export function rawUrl(runId: string, path: string): string {
  return apiUrl("artifacts/raw", { run_id: runId, path });
}

export function downloadUrl(runId: string, path: string): string {
  return `${basePath}/get-artifact${queryString({ run_uuid: runId, path })}`;
}

export const TEXT_BYTES = 256 * 1024;

export function textQuery(runId: string, path: string, limit: number) {
  return queryOptions({
    queryKey: ["artifact-text", runId, path, limit],
    queryFn: ({ signal }) => getText(apiUrl("artifacts/text", { run_id: runId, path, offset: 0, limit }), signal),
    staleTime: 10_000,
  });
}

export function tableQuery(runId: string, path: string) {
  return queryOptions({
    queryKey: ["artifact-table", runId, path],
    queryFn: ({ signal }) => get<TablePreview>("artifacts/table", { run_id: runId, path }, signal),
    staleTime: 10_000,
  });
}
