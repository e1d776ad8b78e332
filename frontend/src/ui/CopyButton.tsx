import { useEffect, useState } from "react";
import { t } from "../messages";
import { IconButton } from "./Button";
import { toastError } from "./Toast";

const CONFIRMED_MS = 1500;

/** Copies text; works on plain http too, where the clipboard API is missing. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** `what` names the thing for the label: "Copy run ID". */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), CONFIRMED_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      className="copy-button"
      icon={copied ? "check" : "copy"}
      label={copied ? t("common.copied") : t("common.copyWhat", { what })}
      onClick={() => copyText(text).then(() => setCopied(true), toastError)}
    />
  );
}
