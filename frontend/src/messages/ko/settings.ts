import type { settings as en } from "../en/settings";
import type { Translation } from "../types";

export const settings: Translation<typeof en> = {
  "settings.theme": "테마",
  "settings.theme.system": "시스템 설정에 맞춤",
  "settings.theme.light": "밝게",
  "settings.theme.dark": "어둡게",
  "settings.language": "언어",
  "settings.keys": "키보드",
  "settings.keysHint": "단일 키 단축키 사용",
  "settings.server": "서버",
  "settings.version": "버전",
  "settings.user": "사용자",
  "settings.store": "저장소",
  "settings.dataDir": "데이터 폴더",
  "settings.accelerators": "가속기",
};
