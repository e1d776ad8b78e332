import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { formatBytes } from "../../lib/format";
import { t } from "../../messages";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/icons";
import { ancestorsOf, baseName } from "./kinds";
import { type Artifact, folderQuery, sorted } from "./queries";

interface TreeProps {
  readonly runId: string;
  readonly current: string;
  readonly hrefOf: (path: string) => string;
}

/** Folders open in place; each is listed when it is opened. */
export function ArtifactTree({ runId, current, hrefOf }: TreeProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set([...ancestorsOf(current), current]));
  useEffect(() => {
    setOpen((before) => new Set([...before, ...ancestorsOf(current)]));
  }, [current]);
  const toggle = (path: string) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  return (
    <nav className="tree" aria-label={t("artifacts.tree")}>
      <Folder runId={runId} path="" depth={0} current={current} hrefOf={hrefOf} open={open} toggle={toggle} />
    </nav>
  );
}

interface FolderProps extends TreeProps {
  readonly path: string;
  readonly depth: number;
  readonly open: ReadonlySet<string>;
  readonly toggle: (path: string) => void;
}

function Folder({ path, depth, ...rest }: FolderProps) {
  const folder = useInfiniteQuery(folderQuery(rest.runId, path));
  const artifacts = sorted(folder.data?.pages.flatMap((page) => page.artifacts) ?? []);
  const indent = { paddingInlineStart: 8 + depth * 16 };
  return (
    <ul>
      {artifacts.map((artifact) => (
        <li key={artifact.path}>
          <Row artifact={artifact} indent={indent} {...rest} />
          {artifact.isDir && rest.open.has(artifact.path) && (
            <Folder path={artifact.path} depth={depth + 1} {...rest} />
          )}
        </li>
      ))}
      {folder.isError && (
        <li className="tree-note" style={indent}>
          {folder.error.message}
        </li>
      )}
      {folder.isSuccess && artifacts.length === 0 && depth > 0 && (
        <li className="tree-note" style={indent}>
          {t("artifacts.empty")}
        </li>
      )}
      {folder.hasNextPage && (
        <li style={indent}>
          <Button kind="quiet" onClick={() => void folder.fetchNextPage()}>
            {t("artifacts.more")}
          </Button>
        </li>
      )}
    </ul>
  );
}

interface RowProps extends Pick<FolderProps, "current" | "hrefOf" | "open" | "toggle"> {
  readonly artifact: Artifact;
  readonly indent: { readonly paddingInlineStart: number };
}

function Row({ artifact, indent, current, hrefOf, open, toggle }: RowProps) {
  const { path, isDir, size } = artifact;
  const chosen = path === current;
  return (
    <div className={chosen ? "tree-row chosen" : "tree-row"} style={indent}>
      {isDir ? (
        <button
          type="button"
          className="tree-fold"
          aria-expanded={open.has(path)}
          aria-label={baseName(path)}
          onClick={() => toggle(path)}
        >
          <Icon name={open.has(path) ? "chevronDown" : "chevronRight"} size={14} />
        </button>
      ) : (
        <span className="tree-fold" />
      )}
      <Link
        href={hrefOf(path)}
        className="tree-name ellipsis"
        aria-current={chosen ? "true" : undefined}
        onClick={() => isDir && !open.has(path) && toggle(path)}
        title={baseName(path)}
      >
        <Icon name={isDir ? "folder" : "file"} size={14} />
        <span className="ellipsis">{baseName(path)}</span>
      </Link>
      {size !== null && <span className="tree-size">{formatBytes(size)}</span>}
    </div>
  );
}
