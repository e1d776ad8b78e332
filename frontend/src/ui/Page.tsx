import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";

export interface Crumb {
  readonly label: string;
  readonly href: string;
}

interface PageHeaderProps {
  readonly title: ReactNode;
  /** For the browser's tab; the same as `title` when that is text. */
  readonly documentTitle: string;
  readonly crumbs?: readonly Crumb[];
  /** A line of facts below the title. */
  readonly facts?: ReactNode;
  readonly actions?: ReactNode;
}

export function PageHeader({ title, documentTitle, crumbs = [], facts, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${documentTitle} · Contrail`;
  }, [documentTitle]);
  return (
    <header className="page-header">
      <div className="page-heading">
        {crumbs.length > 0 && (
          <nav className="crumbs" aria-label="Breadcrumb">
            {crumbs.map((crumb) => (
              <span key={crumb.href} className="crumb ellipsis">
                <Link href={crumb.href}>{crumb.label}</Link>
              </span>
            ))}
          </nav>
        )}
        <h1 className="page-title">{title}</h1>
        {facts && <div className="facts">{facts}</div>}
      </div>
      {actions && <div className="page-actions">{actions}</div>}
    </header>
  );
}
