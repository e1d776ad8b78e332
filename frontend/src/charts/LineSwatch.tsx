/** A short piece of the line: colour and dash. */
export function LineSwatch({ colour, dash }: { readonly colour: string; readonly dash: readonly number[] }) {
  return (
    <svg className="swatch" width="14" height="8" viewBox="0 0 14 8" aria-hidden="true">
      <path d="M0 4h14" stroke={colour} strokeWidth="2.5" strokeDasharray={dash.map((d) => d / 2).join(" ")} />
    </svg>
  );
}
