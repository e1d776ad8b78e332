import { t } from "../../messages";
import { isAttribute, parseColumnId } from "./columns";

/** A column's name for people: attributes are translated, keys never; `min loss` tells which value is shown. */
export function columnLabel(id: string): string {
  if (id === "name" || isAttribute(id)) return t(`runs.col.${id}`);
  const column = parseColumnId(id);
  if (!column) return id;
  const field = column.field ?? "last";
  return column.kind === "metric" && field !== "last" ? `${column.key} ${t(`runs.field.${field}`)}` : column.key;
}
