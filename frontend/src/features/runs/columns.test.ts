import { describe, expect, it } from "vitest";
import type { ColumnInfo } from "../../api/types";
import { columnId, filterOf, orderClause, parseColumnId, suggestedColumns, withField } from "./columns";

describe("column ids", () => {
  it.each([
    { kind: "metric", key: "val/loss:min", field: "max" },
    { kind: "param", key: "a:b" },
    { kind: "tag", key: "mlflow.user" },
  ] as const)("%j comes back", (column) => {
    const field = "field" in column ? column.field : undefined;
    expect(parseColumnId(columnId(column.kind, column.key, field))).toEqual(column);
  });

  it("attributes and nonsense ask the server for nothing", () => {
    expect(["status", "", "metric:median:x", "param:"].map(parseColumnId)).toEqual([null, null, null, null]);
  });

  it("a metric column changes its value and nothing else", () => {
    expect(withField("metric:last:loss", "min")).toBe("metric:min:loss");
    expect(withField("param:lr", "min")).toBe("param:lr");
  });
});

it.each([
  ["started", true, "attributes.start_time DESC"],
  ["metric:last:loss", false, "metrics.`loss` ASC"],
  ["metric:min:a`b c", true, "metrics.`a``b c`:min DESC"],
  ["param:lr", false, "params.`lr` ASC"],
  ["duration", true, null],
])("%s sorts by its clause", (id, descending, clause) => {
  expect(orderClause(id, descending)).toBe(clause);
});

it.each([
  ["", ""],
  ["  resnet ", "attributes.run_name ILIKE '%resnet%'"],
  ["it's 50%_", "attributes.run_name ILIKE '%it''s 50\\%\\_%'"],
  ["metrics.loss < 1", "metrics.loss < 1"],
  ["tags.a LIKE 'x%'", "tags.a LIKE 'x%'"],
  ["params.a is null", "params.a is null"],
  ["not in use", "attributes.run_name ILIKE '%not in use%'"],
])("the text %j means %j", (text, filter) => {
  expect(filterOf(text)).toBe(filter);
});

it("suggests at most eight, metrics by use and only params that differ, no system metrics", () => {
  const info = (kind: ColumnInfo["kind"], key: string, varies = true): ColumnInfo => ({ kind, key, runs: 1, varies });
  const known = [
    info("metric", "system/cpu"),
    ...Array.from({ length: 9 }, (_, index) => info("metric", `m${index}`)),
    info("param", "same", false),
    info("param", "lr"),
  ];
  expect(suggestedColumns(known).slice(4)).toEqual([
    ...Array.from({ length: 7 }, (_, index) => `metric:last:m${index}`),
    "param:lr",
  ]);
});
