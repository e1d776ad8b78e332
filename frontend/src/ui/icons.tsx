import type { ReactNode } from "react";

/** Inline icons: 16 px, one stroke, the text's colour. */
const PATHS = {
  search: <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14" />,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  check: <path d="m3 8.5 3.2 3.2L13 4.5" />,
  copy: <path d="M6 6h7v7.5H6zM3.5 10V2.5H10" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />,
  chevronDown: <path d="m4 6 4 4 4-4" />,
  chevronLeft: <path d="m10 4-4 4 4 4" />,
  chevronRight: <path d="m6 4 4 4-4 4" />,
  plus: <path d="M8 3v10M3 8h10" />,
  arrowUp: <path d="M8 13V3M4 7l4-4 4 4" />,
  arrowDown: <path d="M8 3v10m4-4-4 4-4-4" />,
  columns: <path d="M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10" />,
  filter: <path d="M2 4h12M4.5 8h7M7 12h2" />,
  download: <path d="M8 2.5v8m3.5-3.5L8 10.5 4.5 7M3 13.5h10" />,
  external: <path d="M9 3h4v4m0-4L7.5 8.5M11.5 9v4h-8.5V4.5h4" />,
  trash: <path d="M2.5 4.5h11M6 4V2.5h4V4m2.2.5-.6 9H4.4l-.6-9" />,
  settings: <path d="M2 4.5h6m4 0h2M2 11.5h2m4 0h6M8.5 2.8v3.4M5.5 9.8v3.4M8.5 4.5h3.4M5.5 11.5h2" />,
  keyboard: <path d="M1.5 4h13v8.5h-13zM4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 10h6" />,
  stop: <path d="M4 4h8v8H4z" />,
  play: <path d="M5 3.5v9l7-4.5z" />,
  pause: <path d="M5.5 3.5v9m5-9v9" />,
  refresh: <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3" />,
  link: <path d="M6.5 9.5 9.5 6.5M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3 3 0 0 1 3 8.5L4.5 7" />,
  file: <path d="M4 2h5l3 3v9H4zM9 2v3h3" />,
  folder: <path d="M2 4h4l1.5 1.5H14V13H2z" />,
  expand: <path d="M9.5 2.5h4v4m0-4-5 5M6.5 13.5h-4v-4m0 4 5-5" />,
  pin: <path d="M8 10v4M5 2.5h6M6 2.5v4L4 9.5h8L10 6.5v-4" />,
  eye: (
    <path d="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z" />
  ),
  wrap: <path d="M2 4h12M2 8h9.5a2.2 2.2 0 0 1 0 4.4H8m1.8-1.8L8 12.4l1.8 1.8M2 12.4h3" />,
  clock: <path d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6" />,
  calendar: <path d="M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3" />,
  pencil: <path d="M3 13l.6-2.8L10.8 3l2.2 2.2-7.2 7.2zM9.3 4.5l2.2 2.2" />,
} as const satisfies Record<string, ReactNode>;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {PATHS[name]}
    </svg>
  );
}
