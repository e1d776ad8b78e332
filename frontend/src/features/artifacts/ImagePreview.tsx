import { useState } from "react";
import { t } from "../../messages";
import { Button } from "../../ui/Button";

const ZOOMS = [0.25, 0.5, 1, 2, 4, 8] as const;

/** A picture: fitted to the page, or at a chosen size with its pixels visible. An SVG in an `<img>` runs no script. */
export function ImagePreview({ url, name }: { readonly url: string; readonly name: string }) {
  const [zoom, setZoom] = useState<number | null>(null);
  const [natural, setNatural] = useState<{ width: number; height: number } | null>(null);
  const step = (by: 1 | -1) => {
    const at = ZOOMS.indexOf((zoom ?? 1) as (typeof ZOOMS)[number]);
    setZoom(ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, at + by))] ?? 1);
  };
  return (
    <figure className="artifact-image">
      <div className="artifact-zoom">
        <Button onClick={() => step(-1)} aria-label={t("artifacts.zoomOut")} disabled={zoom === ZOOMS[0]}>
          −
        </Button>
        <Button onClick={() => step(1)} aria-label={t("artifacts.zoomIn")} disabled={zoom === ZOOMS.at(-1)}>
          +
        </Button>
        <Button onClick={() => setZoom(null)} aria-pressed={zoom === null}>
          {t("artifacts.fit")}
        </Button>
        <span className="faint">
          {zoom !== null && `${zoom * 100} %`} {natural && `${natural.width} × ${natural.height}`}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard. */}
      <div className="artifact-canvas" tabIndex={0}>
        <img
          src={url}
          alt={t("artifacts.imageOf", { name })}
          className={zoom === null ? "fit" : zoom > 1 ? "pixels" : ""}
          style={zoom !== null && natural ? { width: natural.width * zoom } : undefined}
          onLoad={(event) => {
            const { naturalWidth, naturalHeight } = event.currentTarget;
            setNatural({ width: naturalWidth, height: naturalHeight });
          }}
        />
      </div>
    </figure>
  );
}
