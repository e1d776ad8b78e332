import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatBytes } from "../../lib/format";
import { t } from "../../messages";
import { CopyButton } from "../../ui/CopyButton";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { Icon } from "../../ui/icons";
import { ImagePreview } from "./ImagePreview";
import { baseName, type Preview, parentOf, previewOf } from "./kinds";
import { type Artifact, downloadUrl, folderQuery, rawUrl, sorted } from "./queries";
import { TablePreview } from "./TablePreview";
import { MarkdownPreview, TextPreview } from "./TextPreview";

interface PreviewProps {
  readonly runId: string;
  readonly path: string;
  readonly hrefOf: (path: string) => string;
}

/** What one file or folder holds. Its kind and size come from the list of the folder it lies in. */
export function ArtifactPreview({ runId, path, hrefOf }: PreviewProps) {
  const parent = useInfiniteQuery(folderQuery(runId, parentOf(path)));
  if (parent.isError) return <ErrorState error={parent.error} />;
  if (!parent.data) return <Loading />;
  const found = parent.data.pages.flatMap((page) => page.artifacts).find((artifact) => artifact.path === path);
  if (!found) {
    // It may be on a further page of a huge folder: then only its name says what it is.
    if (!parent.hasNextPage) return <EmptyState title={t("artifacts.gone", { path })} />;
    return <FilePreview runId={runId} artifact={{ path, isDir: false, size: null }} />;
  }
  if (found.isDir) return <FolderPreview runId={runId} path={path} hrefOf={hrefOf} />;
  return <FilePreview runId={runId} artifact={found} />;
}

function FilePreview({ runId, artifact }: { readonly runId: string; readonly artifact: Artifact }) {
  const { path, size } = artifact;
  const kind = previewOf(path, size);
  return (
    <>
      <Header path={path} facts={size === null ? "" : formatBytes(size)}>
        {OPENS.includes(kind) && (
          <a className="button button-normal" href={rawUrl(runId, path)} target="_blank" rel="noreferrer">
            <Icon name="external" size={14} />
            {t("artifacts.open")}
          </a>
        )}
        <a className="button button-normal" href={downloadUrl(runId, path)} download={baseName(path)}>
          <Icon name="download" size={14} />
          {t("artifacts.download")}
        </a>
      </Header>
      <FileBody runId={runId} artifact={artifact} kind={kind} />
    </>
  );
}

/** Kinds that a browser shows in a tab of its own. */
const OPENS: readonly Preview[] = ["image", "pdf", "html", "audio", "video"];

interface FileBodyProps {
  readonly runId: string;
  readonly artifact: Artifact;
  readonly kind: Preview;
}

function FileBody({ runId, artifact: { path, size }, kind }: FileBodyProps) {
  const url = rawUrl(runId, path);
  switch (kind) {
    case "image":
      return <ImagePreview url={url} name={baseName(path)} />;
    case "table":
      return <TablePreview runId={runId} path={path} />;
    case "text":
      return <TextPreview runId={runId} path={path} size={size} />;
    case "markdown":
      return <MarkdownPreview runId={runId} path={path} size={size} />;
    case "html":
      // An origin of its own: no cookies, no storage, no scripts, no way into this page. The server says the same.
      return (
        <>
          <Frame url={url} name={baseName(path)} sandbox="" />
          <p className="muted artifact-scripts">{t("artifacts.scriptsOff")}</p>
        </>
      );
    case "pdf":
      return <Frame url={url} name={baseName(path)} />;
    case "audio":
      // biome-ignore lint/a11y/useMediaCaption: a logged recording has no captions.
      return <audio className="artifact-media" src={url} controls />;
    case "video":
      // biome-ignore lint/a11y/useMediaCaption: a logged recording has no captions.
      return <video className="artifact-media" src={url} controls />;
    case "none":
      return <EmptyState title={t("artifacts.noPreview")}>{t("artifacts.noPreviewHint")}</EmptyState>;
  }
}

function Frame({ url, name, sandbox }: { url: string; name: string; sandbox?: string }) {
  return <iframe className="artifact-frame" src={url} title={t("artifacts.frame", { name })} sandbox={sandbox} />;
}

function FolderPreview({ runId, path, hrefOf }: PreviewProps) {
  const folder = useInfiniteQuery(folderQuery(runId, path));
  if (folder.isError) return <ErrorState error={folder.error} />;
  if (!folder.data) return <Loading />;
  const artifacts = sorted(folder.data.pages.flatMap((page) => page.artifacts));
  const model = artifacts.find((artifact) => baseName(artifact.path) === "MLmodel");
  return (
    <>
      <Header path={path} facts={t("artifacts.items", { count: artifacts.length })} />
      {model && <ModelHint runId={runId} path={path} />}
      <ul className="artifact-list">
        {artifacts.map((artifact) => (
          <li key={artifact.path}>
            <Link href={hrefOf(artifact.path)} className="tree-name">
              <Icon name={artifact.isDir ? "folder" : "file"} size={14} />
              {baseName(artifact.path)}
            </Link>
            <span className="tree-size">{artifact.size !== null && formatBytes(artifact.size)}</span>
          </li>
        ))}
      </ul>
      {model && <TextPreview runId={runId} path={model.path} size={model.size} />}
    </>
  );
}

/** A folder with an `MLmodel` in it is a model: say how to load it. */
function ModelHint({ runId, path }: { readonly runId: string; readonly path: string }) {
  const code = `import mlflow\nmodel = mlflow.pyfunc.load_model("runs:/${runId}/${path}")`;
  return (
    <section className="artifact-model">
      <p className="muted">{t("artifacts.modelHint")}</p>
      <div className="code-block">
        <pre>{code}</pre>
        <CopyButton text={code} what="Python" />
      </div>
    </section>
  );
}

interface HeaderProps {
  readonly path: string;
  readonly facts: string;
  readonly children?: ReactNode;
}

function Header({ path, facts, children }: HeaderProps) {
  return (
    <header className="artifact-header">
      <h2 className="artifact-path">
        <span>{path}</span>
        <CopyButton text={path} what={t("artifacts.path")} />
      </h2>
      <span className="muted">{facts}</span>
      <div className="artifact-actions">{children}</div>
    </header>
  );
}
