import type { home as en } from "../en/home";
import type { Translation } from "../types";

export const home: Translation<typeof en> = {};
