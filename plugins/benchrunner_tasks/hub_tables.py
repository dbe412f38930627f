"""Read data sets from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from benchrunner import DataNotFound, Rows, Source, Workspace, sources
from benchrunner.engine import first_line, hub_access
from benchrunner_tasks.table_files import keys_of, value_at

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True)
class HubTable(Source):
    """A split of a data set on the Hugging Face hub."""

    repository: str
    configuration: str
    """Empty for a data set with a single configuration."""
    split: str
    columns: Mapping[str, str]
    """Name of the task's column -> name of the data set's column; "a.b" is the part b of the column a."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label on the hub, by its name if it has one -> label of the task: see `JsonTable.labels`."""
    revision: str | None = None
    """Branch of the repository; None is the main branch."""
    label_column: str = "label"
    """The task's column that `labels` applies to: labels, or lists of labels."""

    def where(self, workspace: Workspace) -> str:
        return f"hub {self.repository} ({', '.join(filter(None, (self.configuration, self.split)))})"

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        data_set = self._download(workspace)
        schema = data_set.features.arrow_schema
        places = {name: keys_of(place, schema, self.where(workspace)) for name, place in self.columns.items()}
        table = data_set.select_columns(sorted({top for top, *_ in places.values()})).with_format("arrow")[:]
        columns = {}
        for name, (top, *keys) in places.items():
            values = _original_values(table.column(top), _label_names(data_set.features[top]))
            columns[name] = [value_at(value, keys) for value in values] if keys else values
        if self.labels and self.label_column in columns:
            columns[self.label_column] = [sources.respelled(label, self.labels) for label in columns[self.label_column]]
        return Rows(pa.table(columns), self.where(workspace))

    def _download(self, workspace: Workspace) -> Any:
        import datasets
        from huggingface_hub import constants

        # The library reads HF_HUB_OFFLINE when it is imported, so it cannot be told to stay offline from here.
        if workspace.settings.offline and not constants.HF_HUB_OFFLINE:
            raise DataNotFound(f"{self.where(workspace)} is not asked: this workspace is offline")
        shows_progress = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            return self.ask(
                self.where(workspace),
                workspace,
                lambda _: datasets.load_dataset(
                    self.repository, self.configuration or None, split=self.split, revision=self.revision
                ),
            )
        finally:
            if shows_progress:
                datasets.enable_progress_bars()

    @staticmethod
    def ask(wanted: str, workspace: Workspace, ask: Callable[[bool], T]) -> T:
        """Ask the hub, or where it cannot be asked its local cache alone, which `ask` is told.

        Raises `DataNotFound` with `wanted` and the reason.
        """
        from huggingface_hub import constants

        is_offline = workspace.settings.offline or constants.HF_HUB_OFFLINE
        failure = None if is_offline else workspace.hub.failure(wanted)
        only_local = is_offline or failure is not None
        try:
            with workspace.hub.asking(wanted), hub_access.cache_only(only_local):
                return ask(only_local)
        except Exception as error:  # the hub's libraries pass on the errors of their transport, of any kind
            reason = failure or first_line(error)
            if is_offline and isinstance(error, OSError):
                reason = "it is not in the cache, and --offline or HF_HUB_OFFLINE forbids to ask the hub"
            elif isinstance(error, ConnectionError | TimeoutError):
                workspace.hub.lost(reason)
            raise DataNotFound(f"{wanted} could not be read: {reason}") from error


def _label_names(feature: Any) -> Sequence[str] | None:
    """Return the label names of a hub column of labels or of lists of labels, or None for other columns."""
    names: Sequence[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _original_values(column: pa.ChunkedArray, names: Sequence[str] | None) -> list[Any]:
    """Return a hub column's values as they were before the hub stored them: label names, and short decimals."""
    import pyarrow as pa

    if names is not None:

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(label) for label in value]
            return None if value is None or value < 0 else names[value]

        return [named(value) for value in column.to_pylist()]
    if column.type == pa.float32():
        # The hub stores the nearest float32 of a decimal: its shortest spelling is 4.2 again, not 4.199999809.
        return [None if text is None else float(text) for text in column.cast(pa.string()).to_pylist()]
    return list(column.to_pylist())
