/** Links that MLflow clients print: `/#/experiments/<id>` and `/#/experiments/<id>/runs/<run_id>`. */

/** The page such a hash means, or null. Anything after the ids (such as a tab) is ignored. */
export function pageOfHash(hash: string): string | null {
  const match = /^#\/experiments\/([^/?]+)(?:\/runs\/([^/?]+))?/.exec(hash);
  if (!match) return hash === "#/experiments" || hash === "#/" ? "/experiments" : null;
  const [, experimentId, runId] = match;
  return runId ? `/runs/${runId}` : `/experiments/${experimentId}`;
}

/** Replaces the address when it is such a link; also when the hash changes on an open page. */
export function redirectHashLink(): void {
  const base = new URL(document.baseURI).pathname.replace(/\/$/, "");
  const go = () => {
    const page = pageOfHash(location.hash);
    // wouter listens to replaceState.
    if (page) history.replaceState(null, "", base + page);
  };
  go();
  addEventListener("hashchange", go);
}
