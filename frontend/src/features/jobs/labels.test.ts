import { expect, it } from "vitest";
import type { Attempt, JobRunDetail } from "../../api/types";
import { endReason, jobMessage, nodeStatus } from "./labels";

const attempt = {
  number: 2,
  state: "TERMINATED",
  result: "FAILED",
  cause: "exit_code",
  exit_code: 1,
  signal: null,
  failed_node: 0,
  message: "exit code 1",
  num_nodes: 1,
} as unknown as Attempt;

const job = {
  status: "FAILED",
  state: "TERMINATED",
  message: "attempt 3 of 3 failed: exit code 1",
  max_retries: 2,
  cancel_requested_by: null,
  attempts: [attempt],
} as unknown as JobRunDetail;

it("says how a job run ended, with attempts counted from one", () => {
  expect(jobMessage(job)).toBe("Attempt 3 of 3 failed: exit code 1");
  expect(jobMessage({ ...job, max_retries: 0 })).toBe("Failed: exit code 1");
  expect(jobMessage({ ...job, status: "SUCCESS" })).toBe("");
});

it("says what failed while it waits for the next attempt", () => {
  const waiting = { ...job, status: "WAITING_FOR_RETRY", state: "WAITING_FOR_RETRY" };
  expect(jobMessage({ ...waiting, attempts: [{ ...attempt, number: 0 }] })).toBe("Attempt 1 of 3 failed: exit code 1");
});

it("names who cancelled, as he is written", () => {
  const cancelled = { ...job, cancel_requested_by: "root" };
  expect(jobMessage({ ...cancelled, status: "CANCELED" })).toBe("Cancelled by root");
  expect(jobMessage({ ...cancelled, status: "TERMINATING", state: "TERMINATING" })).toBe("Being cancelled by root");
});

it("uses the server's words, as a sentence, where it knows no better", () => {
  const queued = { ...job, status: "QUEUED", state: "QUEUED", message: "waits for 2 GPUs", attempts: [] };
  expect(jobMessage(queued)).toBe("Waits for 2 GPUs");
});

it("gives no reason that the status already says", () => {
  expect(endReason({ ...attempt, cause: "cancelled" })).toBe("");
  expect(nodeStatus({ state: "TERMINATED", exit_code: 143 }, { ...attempt, cause: "cancelled" })).toBe("CANCELED");
  expect(nodeStatus({ state: "TERMINATED", exit_code: 1 }, attempt)).toBe("FAILED");
});
