import { type ReactNode, useCallback, useId, useLayoutEffect, useRef, useState } from "react";

export interface TriggerProps {
  readonly popoverTarget: string;
  readonly "aria-expanded": boolean;
  readonly "aria-haspopup": "dialog" | "menu";
}

interface PopoverProps {
  /** Renders the button that opens it; spread the given props on it. */
  readonly trigger: (props: TriggerProps) => ReactNode;
  readonly children: (close: () => void) => ReactNode;
  readonly align?: "start" | "end";
  readonly label: string;
  readonly className?: string;
  readonly role?: "dialog" | "menu";
}

const GAP_PX = 4;

/** A panel beside its button on the native popover: light dismiss and Escape come from the browser. */
export function Popover({ trigger, children, align = "start", label, className = "", role = "dialog" }: PopoverProps) {
  const id = useId();
  const anchor = useRef<HTMLSpanElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const close = useCallback(() => panel.current?.hidePopover(), []);

  useLayoutEffect(() => {
    const element = panel.current;
    if (!element || !open) return;
    const replace = () => place(element, anchor.current, align);
    replace();
    element.style.visibility = "visible";
    element.querySelector<HTMLElement>("[data-autofocus], input, [role^=menuitem]")?.focus();
    addEventListener("resize", replace);
    return () => {
      removeEventListener("resize", replace);
      element.style.visibility = "hidden";
    };
  }, [open, align]);

  return (
    <>
      <span ref={anchor} className="popover-anchor">
        {trigger({ popoverTarget: id, "aria-expanded": open, "aria-haspopup": role })}
      </span>
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles take a label. */}
      <div
        ref={panel}
        id={id}
        role={role}
        aria-label={label}
        popover="auto"
        className={`popover ${className}`}
        onToggle={(event) => event.target === panel.current && setOpen(event.newState === "open")}
      >
        {open && children(close)}
      </div>
    </>
  );
}

function place(panel: HTMLElement, anchor: HTMLElement | null, align: "start" | "end"): void {
  const button = (anchor?.firstElementChild ?? anchor)?.getBoundingClientRect();
  if (!button) return;
  const { width, height } = panel.getBoundingClientRect();
  const left = align === "start" ? button.left : button.right - width;
  const below = button.bottom + GAP_PX;
  const top = below + height > innerHeight ? Math.max(GAP_PX, button.top - GAP_PX - height) : below;
  panel.style.left = `${Math.max(GAP_PX, Math.min(left, innerWidth - width - GAP_PX))}px`;
  panel.style.top = `${top}px`;
}
