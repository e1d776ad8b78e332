/** Talks to the server: base path, JSON, abort, and one error shape for everything that can go wrong. */

/** Path below which the server lives: `""` or e.g. `"/contrail"`, from `<base href>`. */
export const basePath = typeof document === "undefined" ? "" : new URL(document.baseURI).pathname.replace(/\/$/, "");

/** An answer that is not 2xx, or no answer at all (`status` 0, code `UNREACHABLE`). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export type QueryValue = string | number | boolean | null | undefined | readonly string[];

/** Address of our own API, e.g. `apiUrl("runs/abc")`. Null and undefined values are left out, arrays are repeated. */
export function apiUrl(path: string, query?: Record<string, QueryValue>): string {
  return `${basePath}/api/contrail/v1/${path}${queryString(query)}`;
}

/** Address of MLflow's API as browsers use it, e.g. `mlflowUrl("runs/delete")`. */
export function mlflowUrl(path: string, query?: Record<string, QueryValue>): string {
  return `${basePath}/ajax-api/2.0/mlflow/${path}${queryString(query)}`;
}

export function queryString(query: Record<string, QueryValue> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}

let reachable = true;
const reachableListeners = new Set<() => void>();

function setReachable(value: boolean): void {
  if (reachable === value) return;
  reachable = value;
  for (const listener of reachableListeners) listener();
}

/** Whether the last request got any answer, for `useSyncExternalStore`. */
export const serverReachable = {
  get: (): boolean => reachable,
  subscribe: (listener: () => void): (() => void) => {
    reachableListeners.add(listener);
    return () => reachableListeners.delete(listener);
  },
};

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

async function send(url: string, { method = "GET", body, signal }: RequestOptions): Promise<Response> {
  try {
    const response = await fetch(url, {
      method,
      signal: signal ?? null,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    setReachable(true);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    setReachable(false);
    throw new ApiError(0, "UNREACHABLE", "The server does not answer.");
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error_code, message } = JSON.parse(text) as { error_code?: string; message?: string };
    return new ApiError(response.status, error_code ?? "INTERNAL_ERROR", message ?? response.statusText);
  } catch {
    return new ApiError(response.status, "INTERNAL_ERROR", text.slice(0, 300) || response.statusText);
  }
}

/** Sends a request and decodes the JSON answer. Throws `ApiError`, or `AbortError` when `signal` fires. */
export async function request<T>(url: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(url, options);
  if (!response.ok) throw await errorOf(response);
  return (await response.json()) as T;
}

/** GET of our own API. */
export function get<T>(path: string, query?: Record<string, QueryValue>, signal?: AbortSignal): Promise<T> {
  return request<T>(apiUrl(path, query), { signal });
}

/** POST to our own API. */
export function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return request<T>(apiUrl(path), { method: "POST", body, signal });
}

/** POST to MLflow's API: writes such as deleting a run or setting a tag. */
export function mlflowPost<T = unknown>(path: string, body: unknown): Promise<T> {
  return request<T>(mlflowUrl(path), { method: "POST", body });
}

/** A text answer (e.g. a text artifact). */
export async function getText(url: string, signal?: AbortSignal): Promise<string> {
  const response = await send(url, { signal });
  if (!response.ok) throw await errorOf(response);
  return response.text();
}
