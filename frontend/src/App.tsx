import { Component, lazy, type ReactNode, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { serverReachable } from "./api/client";
import { useShortcuts } from "./lib/keys";
import { type Language, loadLanguage, rememberLanguage, t } from "./messages";
import { LanguageContext } from "./messages/context";
import { Pages } from "./routes";
import { Button, IconButton } from "./ui/Button";
import { EmptyState } from "./ui/EmptyState";
import { Mark } from "./ui/Mark";
import { ShortcutSheet } from "./ui/ShortcutSheet";
import { Toasts } from "./ui/Toast";

const loadPalette = () => import("./features/palette/Palette");
const Palette = lazy(loadPalette);
/** Once the page has settled: what is typed right after the shortcut must not be lost to loading. */
const PALETTE_AFTER_MS = 1_500;

const PLACES = [
  { href: "/experiments", label: "nav.experiments", also: ["/runs", "/compare"] },
  { href: "/jobs", label: "nav.jobs", also: [] },
] as const;

/** The frame around every page. A change of language mounts everything anew. */
export function App() {
  const [generation, setGeneration] = useState(0);
  const change = async (language: Language) => {
    rememberLanguage(language);
    await loadLanguage(language);
    setGeneration((value) => value + 1);
  };
  return (
    <LanguageContext value={change}>
      <Shell key={generation} />
    </LanguageContext>
  );
}

function Shell() {
  const [location, navigate] = useLocation();
  const [sheet, setSheet] = useState(false);
  const [palette, setPalette] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette().catch(() => undefined), PALETTE_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  useShortcuts([
    { keys: "g h", label: t("keys.home"), run: () => navigate("/") },
    { keys: "g e", label: t("keys.experiments"), run: () => navigate("/experiments") },
    { keys: "g j", label: t("keys.jobs"), run: () => navigate("/jobs") },
    { keys: "mod+k", label: t("keys.palette"), run: () => setPalette(true) },
    { keys: "?", label: t("keys.sheet"), run: () => setSheet(true) },
  ]);
  return (
    <div className="shell">
      <button type="button" className="skip-link" onClick={() => document.getElementById("content")?.focus()}>
        {t("nav.skip")}
      </button>
      <header className="bar">
        <Link href="/" className="brand" aria-label={`Contrail: ${t("nav.home")}`}>
          <Mark />
          <span>Contrail</span>
        </Link>
        <nav className="bar-places" aria-label={t("nav.main")}>
          {PLACES.map(({ href, label, also }) => (
            <Link
              key={href}
              href={href}
              className="bar-place"
              aria-current={[href, ...also].some((path) => location.startsWith(path)) ? "page" : undefined}
            >
              {t(label)}
            </Link>
          ))}
        </nav>
        <div className="bar-end">
          <IconButton icon="search" label={t("nav.search")} onClick={() => setPalette(true)} />
          <IconButton icon="keyboard" label={t("nav.shortcuts")} onClick={() => setSheet(true)} />
          <IconButton icon="settings" label={t("nav.settings")} onClick={() => navigate("/settings")} />
        </div>
      </header>
      <Unreachable />
      <main id="content" className="content" tabIndex={-1}>
        <Boundary key={location.split("/").slice(0, 3).join("/")}>
          <Pages />
        </Boundary>
      </main>
      {sheet && <ShortcutSheet onClose={() => setSheet(false)} />}
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
      <Toasts />
    </div>
  );
}

/** What is on the page stays; this says that it may be old. */
function Unreachable() {
  const reachable = useSyncExternalStore(serverReachable.subscribe, serverReachable.get);
  return (
    <div role="status" className={reachable ? "visually-hidden" : "unreachable"}>
      {!reachable && t("common.unreachable")}
    </div>
  );
}

/** Keeps a fault of one page from taking the frame down. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <EmptyState
        title={t("common.failed")}
        action={<Button onClick={() => location.reload()}>{t("common.retry")}</Button>}
      >
        {this.state.error.message}
      </EmptyState>
    );
  }
}
