import { artifacts } from "./en/artifacts";
import { charts } from "./en/charts";
import { common } from "./en/common";
import { compare } from "./en/compare";
import { experiments } from "./en/experiments";
import { home } from "./en/home";
import { jobs } from "./en/jobs";
import { logs } from "./en/logs";
import { run } from "./en/run";
import { runs } from "./en/runs";
import { settings } from "./en/settings";

/** The source of all words on the pages; one file per feature, keys begin with the feature's name. */
export const en = {
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
} as const;
