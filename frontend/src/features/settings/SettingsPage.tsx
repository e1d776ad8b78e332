import { useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { infoQuery } from "../../api/queries";
import { setShortcutsEnabled, useShortcutsEnabled } from "../../lib/keys";
import { setThemeChoice, type ThemeChoice, themeChoice } from "../../lib/theme";
import { currentLanguage, type Language, t } from "../../messages";
import { useChangeLanguage } from "../../messages/context";
import { PageHeader } from "../../ui/Page";
import "./settings.css";

const THEMES: readonly ThemeChoice[] = ["system", "light", "dark"];
/** Languages name themselves. */
const LANGUAGES: readonly (readonly [Language, string])[] = [
  ["en", "English"],
  ["ko", "한국어"],
];

export default function SettingsPage() {
  return (
    <div className="page settings">
      <PageHeader title={t("nav.settings")} documentTitle={t("nav.settings")} />
      <ThemeSetting />
      <LanguageSetting />
      <KeysSetting />
      <Server />
    </div>
  );
}

function ThemeSetting() {
  const [choice, setChoice] = useState(themeChoice());
  return (
    <fieldset className="setting">
      <legend>{t("settings.theme")}</legend>
      {THEMES.map((theme) => (
        <label key={theme} className="check-row">
          <input
            type="radio"
            name="theme"
            checked={choice === theme}
            onChange={() => {
              setThemeChoice(theme);
              setChoice(theme);
            }}
          />
          {t(`settings.theme.${theme}`)}
        </label>
      ))}
    </fieldset>
  );
}

function LanguageSetting() {
  const change = useChangeLanguage();
  return (
    <fieldset className="setting">
      <legend>{t("settings.language")}</legend>
      {LANGUAGES.map(([language, name]) => (
        <label key={language} className="check-row" lang={language}>
          <input
            type="radio"
            name="language"
            checked={currentLanguage() === language}
            onChange={() => void change(language)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

function KeysSetting() {
  const enabled = useShortcutsEnabled();
  return (
    <fieldset className="setting">
      <legend>{t("settings.keys")}</legend>
      <label className="check-row">
        <input type="checkbox" checked={enabled} onChange={() => setShortcutsEnabled(!enabled)} />
        {t("settings.keysHint")}
      </label>
    </fieldset>
  );
}

function Server() {
  const { data } = useQuery(infoQuery());
  if (!data) return null;
  const facts = [
    [t("settings.version"), data.version],
    [t("settings.user"), data.user],
    [t("settings.store"), data.store],
    [t("settings.dataDir"), data.data_dir],
    [t("settings.accelerators"), data.accelerators.join(", ")],
  ];
  return (
    <section className="setting">
      <h2>{t("settings.server")}</h2>
      <dl className="facts-list">
        {facts.map(([term, value]) => (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd className="mono">{value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
