import type { KeyboardEvent, ReactNode } from "react";
import { Icon, type IconName } from "./icons";
import { Popover, type TriggerProps } from "./Popover";

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** For a choice: whether it is the chosen one. */
  readonly checked?: boolean;
  readonly onSelect: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly (MenuItem | "line")[];
  readonly trigger: (props: TriggerProps) => ReactNode;
  readonly align?: "start" | "end";
}

/** A menu button: arrow keys move, Enter chooses, Escape closes. */
export function Menu({ label, items, trigger, align = "start" }: MenuProps) {
  return (
    <Popover label={label} trigger={trigger} align={align} role="menu" className="menu">
      {(close) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the items, which hold the roles.
        <div onKeyDown={moveFocus}>
          {items.map((item, index) =>
            item === "line" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity.
              <hr key={`line-${index}`} className="menu-line" />
            ) : (
              // biome-ignore lint/a11y/useAriaPropsSupportedByRole: given only with the role that has it.
              <button
                key={item.label}
                type="button"
                role={item.checked === undefined ? "menuitem" : "menuitemradio"}
                aria-checked={item.checked}
                className={`menu-item ${item.danger ? "menu-item-danger" : ""}`}
                disabled={item.disabled}
                onClick={() => {
                  close();
                  item.onSelect();
                }}
              >
                <span className="menu-mark">
                  {item.checked && <Icon name="check" size={14} />}
                  {item.icon && <Icon name={item.icon} size={14} />}
                </span>
                {item.label}
              </button>
            ),
          )}
        </div>
      )}
    </Popover>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = Number.isFinite(step) ? (at + step + items.length) % items.length : step > 0 ? items.length - 1 : 0;
  items[next]?.focus();
}
