import type { ReactNode } from "react";
import { t } from "../messages";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly action: string;
  /** What the other button says; needed where the action is itself called cancelling. */
  readonly keep?: string;
  readonly danger?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks once before something that cannot simply be undone. */
export function Confirm({ title, children, action, keep, danger = false, onConfirm, onClose }: ConfirmProps) {
  const confirm = () => {
    onClose();
    onConfirm();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      width_px={420}
      footer={
        <>
          <Button onClick={onClose}>{keep ?? t("common.cancel")}</Button>
          <Button kind={danger ? "danger" : "primary"} onClick={confirm} autoFocus>
            {action}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}
