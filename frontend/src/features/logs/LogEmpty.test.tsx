import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { ApiError } from "../../api/client";
import type { LogEmptyReason } from "../../api/types";
import { LogEmpty } from "./LogEmpty";
import { LogSession, type LogState } from "./session";

const idle = new LogSession({ page: () => new Promise(() => {}), follow: () => () => {} }).current();

function text(change: Partial<LogState>, filtering = false): string {
  const state = { ...idle, phase: "ready" as const, ...change };
  return renderToStaticMarkup(<LogEmpty state={state} filtering={filtering} onClear={() => {}} />).replace(
    /<[^>]+>/g,
    " ",
  );
}

it("gives each reason for an empty log its own sentence", () => {
  const reasons: LogEmptyReason[] = ["not_started", "no_output", "no_match", "expired"];
  const texts = [
    ...reasons.map((emptyReason) => text({ emptyReason })),
    text({ emptyReason: "no_output", ended: true }),
  ];
  expect(new Set(texts).size).toBe(texts.length);
});

it("says the server's own words about expiry", () => {
  expect(text({ emptyReason: "expired", message: "Logs expired on 1 January 2026." })).toContain("1 January 2026");
});

it("says whom to ask when the job may not be seen", () => {
  const error = new ApiError(403, "PERMISSION_DENIED", "You need Can View on job 7.");
  const shown = text({ phase: "failed", error });
  expect(shown).toContain("You need Can View on job 7.");
  expect(shown).toContain("Can Manage");
});

it("offers to clear a filter that hides everything", () => {
  expect(text({}, true)).toContain("Clear filter");
});
