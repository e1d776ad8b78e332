import type { jobs as en } from "../en/jobs";
import type { Translation } from "../types";

export const jobs: Translation<typeof en> = {};
