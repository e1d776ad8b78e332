import { useMemo, useState } from "react";
import { t } from "../../messages";
import { IconButton } from "../../ui/Button";
import { CopyButton, copyText } from "../../ui/CopyButton";
import { Icon } from "../../ui/icons";
import { toast, toastError } from "../../ui/Toast";
import { type Branch, type Param, paramTree, searchParams } from "./params";

const SEARCH_FROM = 12;
/** A value longer than this is cut until asked for. */
const VALUE_CHARS = 240;

export function Params({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const [text, setText] = useState("");
  const tree = useMemo(() => paramTree(params), [params]);
  const shown = searchParams(tree, text);
  const count = Object.keys(params).length;
  const copyAll = () =>
    copyText(JSON.stringify(params, null, 2)).then(
      () => toast({ message: t("run.paramsCopied", { count }) }),
      toastError,
    );
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("run.params")}</h2>
        <div className="section-tools">
          {count >= SEARCH_FROM && (
            <input
              type="search"
              className="field"
              value={text}
              placeholder={t("run.paramsSearch")}
              aria-label={t("run.paramsSearch")}
              onChange={(event) => setText(event.target.value)}
            />
          )}
          {count > 0 && <IconButton icon="copy" label={t("run.paramsCopy")} onClick={() => void copyAll()} />}
        </div>
      </div>
      {count === 0 && <p className="muted">{t("run.paramsNone")}</p>}
      {count > 0 && shown.length === 0 && <p className="muted">{t("run.noMatch")}</p>}
      {shown.length > 0 && (
        <div className="params">
          {shown.map((branch) => (
            <BranchRows key={branch.prefix} branch={branch} />
          ))}
        </div>
      )}
    </section>
  );
}

function BranchRows({ branch }: { readonly branch: Branch }) {
  const [folded, setFolded] = useState(false);
  const inner = branch.prefix !== "";
  return (
    <>
      {inner && (
        <button type="button" className="param-branch" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          <Icon name={folded ? "chevronRight" : "chevronDown"} size={14} />
          {branch.prefix.slice(0, -1)}
          <span className="faint">{branch.params.length}</span>
        </button>
      )}
      {!folded && (
        <dl>
          {branch.params.map((param) => (
            <ParamRow key={param.key} param={param} inner={inner} />
          ))}
        </dl>
      )}
    </>
  );
}

function ParamRow({ param, inner }: { readonly param: Param; readonly inner: boolean }) {
  const { key, label, value } = param;
  const [whole, setWhole] = useState(false);
  const cut = !whole && value.length > VALUE_CHARS;
  return (
    <div className={inner ? "param param-inner" : "param"}>
      <dt title={key}>{label}</dt>
      <dd>
        <span className="param-value">{cut ? value.slice(0, VALUE_CHARS) : value}</span>
        {cut && (
          <button type="button" className="param-more" onClick={() => setWhole(true)}>
            {t("common.more")}
          </button>
        )}
        <CopyButton text={value} what={t("run.value", { key })} />
      </dd>
    </div>
  );
}
