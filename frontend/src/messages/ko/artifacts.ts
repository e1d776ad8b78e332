import type { artifacts as en } from "../en/artifacts";
import type { Translation } from "../types";

export const artifacts: Translation<typeof en> = {
  "artifacts.tree": "아티팩트",
  "artifacts.none": "아티팩트가 없습니다",
  "artifacts.noneHint": "실행이 기록한 파일이 여기에 나타납니다. 그림, 표, 모델 등 무엇이든 됩니다. 예:",
  "artifacts.choose": "볼 파일을 선택하세요",
  "artifacts.download": "다운로드",
  "artifacts.open": "새 탭에서 열기",
  "artifacts.path": "경로",
  "artifacts.noPreview": "이 종류의 파일은 미리 볼 수 없습니다",
  "artifacts.noPreviewHint": "내용을 보려면 다운로드하세요. 여기서는 파일을 실행하거나 역직렬화하지 않습니다.",
  "artifacts.more": "이 폴더 더 불러오기",
  "artifacts.moreText": "더 보기",
  "artifacts.partText": "{total} 중 처음 {size}",
  "artifacts.moreRows": "표시된 것보다 행이 더 있습니다. 전체는 파일을 다운로드하세요",
  "artifacts.rows": "{count}개 행",
  "artifacts.asTable": "표",
  "artifacts.asText": "텍스트",
  "artifacts.rendered": "렌더링",
  "artifacts.zoomIn": "확대",
  "artifacts.zoomOut": "축소",
  "artifacts.fit": "맞춤",
  "artifacts.imageOf": "그림 {name}",
  "artifacts.frame": "이 페이지와 격리된 {name}의 내용",
  "artifacts.scriptsOff":
    "스크립트가 꺼져 있습니다. 내용은 그대로 보이지만 동작하지 않습니다. 사용하려면 다운로드하세요.",
  "artifacts.items": "{count}개 항목",
  "artifacts.empty": "빈 폴더입니다",
  "artifacts.model": "모델",
  "artifacts.modelHint": "Python에서 불러오기:",
  "artifacts.gone": "{path} 아티팩트가 없습니다",
};
