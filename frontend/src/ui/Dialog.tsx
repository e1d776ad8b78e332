import { type ReactNode, useEffect, useId, useRef } from "react";
import { t } from "../messages";
import { IconButton } from "./Button";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly footer?: ReactNode;
  readonly width_px?: number;
}

/** A modal dialog on the native `<dialog>`: focus stays inside, Escape and a click outside close it. */
export function Dialog({ title, onClose, children, footer, width_px = 480 }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a native dialog; the click is only the pointer's way.
    <dialog
      ref={dialog}
      className="dialog"
      style={{ width: width_px }}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div className="dialog-inner">
        <header className="dialog-header">
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label={t("common.close")} onClick={() => dialog.current?.close()} />
        </header>
        <div className="dialog-body">{children}</div>
        {footer && <footer className="dialog-footer">{footer}</footer>}
      </div>
    </dialog>
  );
}
