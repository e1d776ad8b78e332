import type { compare as en } from "../en/compare";
import type { Translation } from "../types";

export const compare: Translation<typeof en> = {};
