import { createContext, useContext } from "react";
import type { Language } from "./index";

export const LanguageContext = createContext<(language: Language) => Promise<void>>(async () => {});

/** Changes the language of the whole app and remembers it. */
export function useChangeLanguage(): (language: Language) => Promise<void> {
  return useContext(LanguageContext);
}
