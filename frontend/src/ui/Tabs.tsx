import type { ReactNode } from "react";
import { Link } from "wouter";
import { useShortcuts } from "../lib/keys";

export interface TabItem {
  readonly id: string;
  readonly label: string;
  readonly href: string;
  readonly count?: number | null;
}

interface TabsProps {
  readonly label: string;
  readonly items: readonly TabItem[];
  readonly current: string;
  readonly navigate: (href: string) => void;
  readonly end?: ReactNode;
}

/** Tabs that are places: each has an address. Keys 1 to 9 go to them. */
export function Tabs({ label, items, current, navigate, end }: TabsProps) {
  useShortcuts(
    items.slice(0, 9).map((item, index) => ({
      keys: String(index + 1),
      label: item.label,
      run: () => navigate(item.href),
    })),
  );
  return (
    <div className="tabs">
      <nav aria-label={label} className="tabs-list">
        {items.map((item) => (
          <Link key={item.id} href={item.href} className="tab" aria-current={item.id === current ? "page" : undefined}>
            {item.label}
            {item.count !== undefined && item.count !== null && <span className="tab-count">{item.count}</span>}
          </Link>
        ))}
      </nav>
      {end && <div className="tabs-end">{end}</div>}
    </div>
  );
}
