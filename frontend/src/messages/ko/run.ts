import type { run as en } from "../en/run";
import type { Translation } from "../types";

export const run: Translation<typeof en> = {};
