/** Server-sent events. The browser reconnects by itself and resumes with the last `id:` it saw. */

export interface EventHandlers {
  readonly on: Readonly<Record<string, (data: string) => void>>;
  /** True while connected, false while the browser is trying again. */
  readonly onState?: (connected: boolean) => void;
}

/** Opens a stream and returns the function that closes it. */
export function openEvents(url: string, { on, onState }: EventHandlers): () => void {
  const source = new EventSource(url);
  source.onopen = () => onState?.(true);
  source.onerror = () => onState?.(false);
  for (const [name, handle] of Object.entries(on)) {
    source.addEventListener(name, (event) => handle((event as MessageEvent<string>).data));
  }
  return () => source.close();
}
