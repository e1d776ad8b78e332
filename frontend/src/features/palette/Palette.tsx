import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { t } from "../../messages";
import { Icon } from "../../ui/icons";
import "./palette.css";
import { findPlaces, type Place } from "./search";

const TYPING_MS = 120;

/** Quick search over pages, experiments, runs and jobs: type, arrow keys, Enter. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const [, navigate] = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const places = usePlaces(text);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const open = (place: Place | undefined) => {
    if (!place) return;
    dialog.current?.close();
    navigate(place.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, places.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") open(places[at]);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a native dialog; the click is only the pointer's way.
    <dialog
      ref={dialog}
      className="dialog palette"
      aria-label={t("nav.search")}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div className="palette-field">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={places[at] && `${listId}-${at}`}
          aria-label={t("nav.search")}
          placeholder={t("palette.hint")}
          value={text}
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
        />
      </div>
      <div id={listId} role="listbox" aria-label={t("nav.search")} className="palette-list">
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox above has the keys.
          <div
            key={place.href}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            ref={(element) => {
              if (index === at) element?.scrollIntoView({ block: "nearest" });
            }}
            className="palette-item"
            onPointerMove={() => setAt(index)}
            onClick={() => open(place)}
          >
            <span className="ellipsis">{place.label}</span>
            <span className="muted">{t(`palette.${place.kind}`)}</span>
          </div>
        ))}
        {places.length === 0 && <p className="muted palette-none">{t("palette.none")}</p>}
      </div>
    </dialog>
  );
}

function usePlaces(text: string): readonly Place[] {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useQuery({
    queryKey: ["palette", settled.trim()],
    queryFn: ({ signal }) => findPlaces(settled.trim(), signal),
    placeholderData: keepPreviousData,
  }).data;
  const pages = useMemo<Place[]>(
    () =>
      [
        { kind: "page", label: t("nav.home"), href: "/" } as const,
        { kind: "page", label: t("nav.experiments"), href: "/experiments" } as const,
        { kind: "page", label: t("nav.jobs"), href: "/jobs" } as const,
        { kind: "page", label: t("nav.settings"), href: "/settings" } as const,
      ].filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase())),
    [text],
  );
  return useMemo(() => [...pages, ...(found ?? [])], [pages, found]);
}
