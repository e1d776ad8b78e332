import { expect, it } from "vitest";
import { cardsOf, filterCards, sectionsOf } from "./cards";

it("makes sections of the part before the first slash, the nameless one first", () => {
  const sections = sectionsOf(cardsOf(["val/loss", "train/loss", "lr", "train/acc/top1", "a/1", "a/2", "a/3"]));
  expect(sections.map((s) => [s.name, s.cards.map((c) => c.title)])).toEqual([
    ["", ["lr"]],
    ["a", ["a/1", "a/2", "a/3"]],
    ["train", ["train/acc/top1", "train/loss"]],
    ["val", ["val/loss"]],
  ]);
});

it("puts system metrics last", () => {
  const keys = ["system/cpu", "zoo/a", "train/a", "train/b", "train/c", "train/d", "train/e"];
  expect(sectionsOf(cardsOf(keys)).map((s) => s.name)).toEqual(["train", "zoo", "system"]);
});

it("makes no sections of a few", () => {
  expect(sectionsOf(cardsOf(["val/loss", "train/loss", "lr"])).map((s) => s.cards.map((c) => c.title))).toEqual([
    ["lr", "train/loss", "val/loss"],
  ]);
});

it("sorts numbers in keys as numbers", () => {
  expect(sectionsOf(cardsOf(["l10", "l9", "l1"]))[0]?.cards.map((c) => c.id)).toEqual(["l1", "l9", "l10"]);
});

it("filters by regular expression, whatever the case, and says when it is none", () => {
  const cards = cardsOf(["train/loss", "val/loss", "acc"]);
  expect(filterCards(cards, "^VAL|acc")?.map((c) => c.id)).toEqual(["val/loss", "acc"]);
  expect(filterCards(cards, "(")).toBeNull();
  expect(filterCards(cards, "")).toHaveLength(3);
});
