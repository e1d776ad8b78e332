"""Searching runs and data sets the way MLflow's clients do."""

from __future__ import annotations

from collections.abc import Sequence

from contrail.model.errors import InvalidParameterValue
from contrail.model.tracking import Run
from contrail.store import search as store
from contrail.store.database import Database
from contrail.tracking.experiments import listing_name
from contrail.wire import filters, page_tokens, validation
from contrail.wire.tracking import SearchDatasets, SearchRuns, experiment_id, view_type


class Search:
    """Searches that span runs."""

    def __init__(self, database: Database):
        self._database = database

    def runs(self, message: SearchRuns) -> tuple[list[Run], str | None]:
        """One page of runs with their data, and the token of the next one."""
        experiments = experiment_ids(message.experiment_ids)
        limit = validation.check_max_results(message.max_results, validation.SEARCH_RESULTS_MAX)
        tree = filters.parse(message.filter, filters.RUNS)
        order_by = filters.parse_order_by(message.order_by, filters.RUNS)
        view = view_type(message.run_view_type, "run_view_type")
        listing = listing_name("runs", message.order_by)
        after = page_tokens.decode(listing, message.page_token) if message.page_token else None
        if not experiments:
            return [], None
        with self._database.read() as connection:
            runs, last = store.search_runs(
                connection, experiments, filter=tree, order_by=order_by, view=view, limit=limit, after=after
            )
        return runs, None if last is None else page_tokens.encode(listing, last)

    def datasets(self, message: SearchDatasets) -> list[store.DatasetSummary]:
        """The data sets that runs of up to 20 experiments used."""
        count, most = len(message.experiment_ids), validation.SEARCH_DATASETS_EXPERIMENTS_MAX
        if not count:
            raise InvalidParameterValue("SearchDatasets request must specify at least one experiment_id.")
        if count > most:
            raise InvalidParameterValue(
                f"SearchDatasets request cannot specify more than {most} experiment_ids. "
                f"Received {count} experiment_ids."
            )
        with self._database.read() as connection:
            return store.search_datasets(connection, experiment_ids(message.experiment_ids))


def experiment_ids(given: Sequence[str]) -> list[int]:
    """Ids of a search, each once."""
    ids = [experiment_id(text, f"experiment_ids[{index}]") for index, text in enumerate(given)]
    return list(dict.fromkeys(ids))
