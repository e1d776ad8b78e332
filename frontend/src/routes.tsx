import { lazy, Suspense } from "react";
import { Route, Switch } from "wouter";
import { t } from "./messages";
import { EmptyState, Loading } from "./ui/EmptyState";

/** The only place that lists pages; each is its own chunk. */
const HomePage = lazy(() => import("./features/home/HomePage"));
const ExperimentsPage = lazy(() => import("./features/experiments/ExperimentsPage"));
const ExperimentPage = lazy(() => import("./features/runs/ExperimentPage"));
const RunPage = lazy(() => import("./features/run/RunPage"));
const ComparePage = lazy(() => import("./features/compare/ComparePage"));
const JobsPage = lazy(() => import("./features/jobs/JobsPage"));
const JobPage = lazy(() => import("./features/jobs/JobPage"));
const SettingsPage = lazy(() => import("./features/settings/SettingsPage"));

export function Pages() {
  return (
    <Suspense fallback={<Loading />}>
      <Switch>
        <Route path="/" component={HomePage} />
        <Route path="/experiments" component={ExperimentsPage} />
        <Route path="/experiments/:id" component={ExperimentPage} />
        <Route path="/runs/:id/*?" component={RunPage} />
        <Route path="/compare" component={ComparePage} />
        <Route path="/jobs" component={JobsPage} />
        <Route path="/jobs/:id/*?" component={JobPage} />
        <Route path="/settings" component={SettingsPage} />
        <Route>
          <EmptyState title={t("common.notFound")}>{t("common.notFoundHint")}</EmptyState>
        </Route>
      </Switch>
    </Suspense>
  );
}
