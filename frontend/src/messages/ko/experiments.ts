import type { experiments as en } from "../en/experiments";
import type { Translation } from "../types";

export const experiments: Translation<typeof en> = {
  "experiments.search": "실험 찾기",
  "experiments.which": "표시할 실험",
  "experiments.runs": "실행",
  "experiments.running": "실행 중",
  "experiments.lastRun": "최근 실행",
  "experiments.created": "만든 때",
  "experiments.idName": "실험 ID",
  "experiments.id": "실험 {id}",
  "experiments.new": "새 실험",
  "experiments.rename": "실험 이름 변경",
  "experiments.deleted": "{name}을(를) 휴지통으로 옮겼습니다",
  "experiments.none": "아직 실험이 없습니다",
  "experiments.noneHint": "첫 실행이 기록되면 실험이 나타납니다. 워크로드를 제출해 보세요.",
  "experiments.noneMatch": "이름에 “{q}”이(가) 들어간 실험이 없습니다",
};
