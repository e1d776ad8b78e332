/** Contrail's mark: two thin parallel lines that fade. */
export function Mark({ size = 20 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true" className="mark">
      {[
        ["M2.5 17.5 7 13", "M7 13 12 8", "M12 8l5-5"],
        ["M7 21.5l4.5-4.5", "M11.5 17l5-5", "m16.5 12 5-5"],
      ].flatMap((line) => line.map((part, index) => <path key={part} d={part} strokeOpacity={[0.2, 0.5, 1][index]} />))}
    </svg>
  );
}
