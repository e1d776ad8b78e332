import { Fragment } from "react";
import { activeShortcuts, useShortcutsEnabled } from "../lib/keys";
import { t } from "../messages";
import { Dialog } from "./Dialog";

/** All shortcuts that work on the page below. */
export function ShortcutSheet({ onClose }: { readonly onClose: () => void }) {
  const enabled = useShortcutsEnabled();
  return (
    <Dialog title={t("nav.shortcuts")} onClose={onClose} width_px={440}>
      {!enabled && <p className="muted sheet-note">{t("keys.off")}</p>}
      <dl className="sheet">
        {activeShortcuts().map(({ keys, label }) => (
          <Fragment key={keys + label}>
            <dt>{label}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </Dialog>
  );
}

const isMac = () => /Mac|iPhone|iPad/.test(navigator.platform);

/** `"g e"` as two keys after each other, `"mod+k"` as keys held together. */
export function Keys({ keys }: { readonly keys: string }) {
  const names: Record<string, string> = { mod: isMac() ? "⌘" : "Ctrl", shift: "Shift", alt: "Alt" };
  return (
    <span className="keys">
      {keys.split(/[ +]/).map((key) => (
        <kbd key={key}>{names[key] ?? (key.length === 1 ? key.toUpperCase() : key)}</kbd>
      ))}
    </span>
  );
}
