import type { logs as en } from "../en/logs";
import type { Translation } from "../types";

export const logs: Translation<typeof en> = {};
