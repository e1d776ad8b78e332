import type { artifacts as en } from "../en/artifacts";
import type { Translation } from "../types";

export const artifacts: Translation<typeof en> = {};
