import { type RefObject, useEffect, useRef, useState } from "react";

/** Half a window above and below: what is scrolled to next is there already, and a wide screen mounts < 30 cards. */
const MARGIN = "50% 0px";

const observers = new WeakMap<Element, IntersectionObserver>();
const callbacks = new WeakMap<Element, (near: boolean) => void>();

/** Whether the element is in or near the visible part of the page. */
export function useNear<T extends Element>(): [RefObject<T | null>, boolean] {
  const place = useRef<T>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    callbacks.set(element, setNear);
    const observer = observerFor(element);
    observer.observe(element);
    return () => observer.unobserve(element);
  }, []);
  return [place, near];
}

/** The margin counts only on the scroller itself, so each scroller has an observer of its own. */
function observerFor(element: Element): IntersectionObserver {
  const scroller = scrollerOf(element);
  const known = observers.get(scroller);
  if (known) return known;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
    },
    { root: scroller === document.documentElement ? null : scroller, rootMargin: MARGIN },
  );
  observers.set(scroller, observer);
  return observer;
}

function scrollerOf(element: Element): Element {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.documentElement;
}
