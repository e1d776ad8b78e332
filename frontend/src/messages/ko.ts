import type { en } from "./en";
import { artifacts } from "./ko/artifacts";
import { charts } from "./ko/charts";
import { common } from "./ko/common";
import { compare } from "./ko/compare";
import { experiments } from "./ko/experiments";
import { home } from "./ko/home";
import { jobs } from "./ko/jobs";
import { logs } from "./ko/logs";
import { run } from "./ko/run";
import { runs } from "./ko/runs";
import { settings } from "./ko/settings";
import type { Translation } from "./types";

/** 한국어. A missing or extra key does not compile. */
export const ko: Translation<typeof en> = {
  ...common,
  ...home,
  ...experiments,
  ...runs,
  ...jobs,
  ...settings,
  ...run,
  ...logs,
  ...artifacts,
  ...charts,
  ...compare,
};
