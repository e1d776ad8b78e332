import type { home as en } from "../en/home";
import type { Translation } from "../types";

export const home: Translation<typeof en> = {
  "home.jobs": "실행 중인 작업",
  "home.allJobs": "모든 작업",
  "home.runs": "최근 실행",
  "home.allExperiments": "모든 실험",
  "home.submit": "워크로드 제출",
  "home.submitHint": "YAML 파일에 적은 명령을 실행하고, 로그를 보관하며, 장비 사용량을 측정합니다.",
  "home.log": "내 Python 코드에서 기록",
  "home.logHint": "MLflow 클라이언트를 그대로 쓰면 됩니다.",
};
