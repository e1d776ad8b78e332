import type { ReactNode } from "react";

interface GroupProps {
  readonly title: string;
  readonly columns: number;
  readonly children: ReactNode;
}

/** A titled stretch of the table. */
export function Group({ title, columns, children }: GroupProps) {
  return (
    <tbody>
      <tr className="compare-group">
        <th scope="rowgroup" colSpan={columns + 1}>
          {title}
        </th>
      </tr>
      {children}
    </tbody>
  );
}
