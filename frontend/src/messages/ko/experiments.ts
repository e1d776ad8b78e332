import type { experiments as en } from "../en/experiments";
import type { Translation } from "../types";

export const experiments: Translation<typeof en> = {};
