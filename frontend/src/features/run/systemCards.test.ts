import { expect, it } from "vitest";
import { systemCards } from "./systemCards";

it("puts the GPUs of a node into one chart, in the order of their numbers", () => {
  const [card] = systemCards(["system/gpu_10_power_usage_watts", "system/gpu_2_power_usage_watts"]);
  expect(card?.title).toBe("GPU power usage (W)");
  expect(card?.keys.map((key) => card.keyLabel?.(key))).toEqual(["GPU 2", "GPU 10"]);
});

it("makes a section per node", () => {
  const cards = systemCards(["system/node_1/cpu_utilization_percentage", "system/node_0/cpu_utilization_percentage"]);
  expect(cards.map((card) => [card.section, card.title])).toEqual([
    ["Node 1", "CPU utilization (%)"],
    ["Node 0", "CPU utilization (%)"],
  ]);
});

it("shows a share on the whole scale, other quantities as they are", () => {
  const cards = systemCards(["system/disk_usage_percentage", "system/disk_usage_megabytes"]);
  expect(cards.map((card) => card.atLeast)).toEqual([[0, 100], undefined]);
});

it("keeps a key it does not know, and leaves the user's own metrics alone", () => {
  expect(systemCards(["system/tpu_0_duty", "loss"]).map((card) => card.title)).toEqual(["Tpu 0 duty"]);
});
