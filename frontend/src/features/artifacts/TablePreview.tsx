import { useQuery } from "@tanstack/react-query";
import { t } from "../../messages";
import { ErrorState, Loading } from "../../ui/EmptyState";
import { tableQuery } from "./queries";

/** The first rows of a table, as the server read them. */
export function TablePreview({ runId, path }: { readonly runId: string; readonly path: string }) {
  const table = useQuery(tableQuery(runId, path));
  if (table.isError) return <ErrorState error={table.error} />;
  if (!table.data) return <Loading />;
  const { columns, rows, more } = table.data;
  const numeric = columns.map((_, column) => rows.every((row) => isNumber(row[column] ?? null)));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard. */}
      <div className="artifact-table" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              {columns.map((column, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns of a file may share a name.
                <th key={index} scope="col" className={numeric[index] ? "end" : undefined}>
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place in the file.
              <tr key={at}>
                {row.map((cell, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns of a file may share a name.
                  <td key={index} className={numeric[index] ? "end" : undefined}>
                    {cell ?? <span className="faint">null</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint artifact-note">
        {more ? t("artifacts.moreRows") : t("artifacts.rows", { count: rows.length })}
      </p>
    </>
  );
}

function isNumber(cell: string | null): boolean {
  return (
    cell === null || cell === "" || (cell.trim() !== "" && !Number.isNaN(Number(cell))) || cell.toLowerCase() === "nan"
  );
}
