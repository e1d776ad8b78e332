import type { charts as en } from "../en/charts";
import type { Translation } from "../types";

export const charts: Translation<typeof en> = {};
