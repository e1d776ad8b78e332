import { describe, expect, it } from "vitest";
import type { MetricSummary, RunSummary } from "../../api/types";
import { bestOf, differenceFrom, directionOf, metricRows, paramRows, tagRows } from "./rows";

function run(change: Partial<RunSummary>): RunSummary {
  return {
    run_id: "r",
    experiment_id: "1",
    experiment_name: "e",
    name: "n",
    status: "FINISHED",
    user: "u",
    start_ms: 0,
    end_ms: 1,
    lifecycle: "active",
    artifact_uri: "",
    params: {},
    tags: {},
    metrics: [],
    job_run_id: null,
    attempt_number: null,
    ...change,
  };
}

const metric = (key: string, change: Partial<MetricSummary> = {}): MetricSummary => ({
  key,
  last: 1,
  last_step: 0,
  last_ms: 0,
  first: 1,
  min: 1,
  max: 1,
  points: 1,
  ...change,
});

describe("rows", () => {
  it("has one row per key of any run and says where they differ", () => {
    const runs = [run({ params: { lr: "0.1", seed: "1" } }), run({ params: { lr: "0.2", seed: "1", new: "x" } })];
    expect(paramRows(runs)).toEqual([
      { key: "lr", values: ["0.1", "0.2"], differs: true },
      { key: "new", values: [null, "x"], differs: true },
      { key: "seed", values: ["1", "1"], differs: false },
    ]);
  });

  it("leaves out the tags and metrics that the system writes", () => {
    const runs = [run({ tags: { "mlflow.user": "a", team: "x" }, metrics: [metric("system/cpu"), metric("loss")] })];
    expect(tagRows(runs).map((row) => row.key)).toEqual(["team"]);
    expect(metricRows(runs, "last").map((row) => row.key)).toEqual(["loss"]);
  });

  it("compares last, least or greatest values", () => {
    const runs = [run({ metrics: [metric("loss", { last: 3, min: 1, max: 9 })] }), run({})];
    expect(metricRows(runs, "last")[0]?.values).toEqual([3, null]);
    expect(metricRows(runs, "min")[0]?.values).toEqual([1, null]);
  });
});

describe("best", () => {
  it("knows the direction from the name, and says when it does not", () => {
    expect(["val/loss", "train_loss", "eval/rmse", "wer"].map(directionOf)).toEqual(Array(4).fill("down"));
    expect(["val/acc", "accuracy", "f1_macro", "top_1_accuracy"].map(directionOf)).toEqual(Array(4).fill("up"));
    expect(["lr", "epoch", "glossary", "grad_norm"].map(directionOf)).toEqual(Array(4).fill(null));
  });

  it("marks the best value, all of them when equal, and none without a contest", () => {
    expect([...bestOf([3, 1, 2], "down")]).toEqual([1]);
    expect([...bestOf([3, 1, 3], "up")]).toEqual([0, 2]);
    expect(bestOf([2, 2], "up").size).toBe(0);
    expect(bestOf([2, null], "up").size).toBe(0);
    expect(bestOf([1, 2], null).size).toBe(0);
  });

  it("never takes NaN for best, and takes infinity for what it is", () => {
    expect([...bestOf(["NaN", 5, 4], "down")]).toEqual([2]);
    expect([...bestOf(["Infinity", 5], "down")]).toEqual([1]);
  });
});

it("gives the difference from the base only where there is one", () => {
  expect(differenceFrom(1, 1.5)).toBe(0.5);
  expect(differenceFrom(1, 1)).toBeNull();
  expect(differenceFrom("NaN", 1)).toBeNull();
  expect(differenceFrom(null, 1)).toBeNull();
});
