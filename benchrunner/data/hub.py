"""Read data sets from the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound, Source
from benchrunner.errors import DataError
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class HubTable(Source):
    """One split of a data set on the hub, read through `datasets`."""

    repository: str
    configuration: str
    """Empty where there is but one."""
    split: str
    columns: Mapping[str, str]
    """Our column -> the data set's column."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The hub's name of a label -> the task's. Numbers are never mapped: their order is the hub's own affair."""
    revision: str | None = None
    """A branch of the repository, where it is not the main one."""

    def where(self, workspace: Workspace) -> str:
        return f"hub {self.repository} ({', '.join(filter(None, (self.configuration, self.split)))})"

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        found = self._download(workspace)
        missing = [name for name in self.columns.values() if name not in found.column_names]
        if missing:
            has = ", ".join(found.column_names)
            raise DataError(f"{self.where(workspace)} has no column {', '.join(missing)}; it has {has}.")
        table = found.select_columns(list(self.columns.values())).with_format("arrow")[:]
        columns = {
            ours: _written(table.column(theirs), _label_names(found.features[theirs]))
            for ours, theirs in self.columns.items()
        }
        if "label" in columns and self.labels:
            columns["label"] = [self.labels.get(one, one) for one in columns["label"]]
        return Rows(pa.table(columns), self.where(workspace))

    def _download(self, workspace: Workspace) -> Any:
        import datasets
        from huggingface_hub import constants

        if (
            workspace.settings.offline and not constants.HF_HUB_OFFLINE
        ):  # read when it was imported: too late to keep it offline
            raise DataNotFound(f"{self.where(workspace)} is not asked: these workspace are offline")
        quiet = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(
                self.repository, self.configuration or None, split=self.split, revision=self.revision
            )
        except Exception as error:  # datasets raises whatever its transport raised
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise DataNotFound(f"{self.where(workspace)} could not be read: {reason}") from error
        finally:
            if quiet:
                datasets.enable_progress_bars()


def _label_names(feature: Any) -> Sequence[str] | None:
    """The names of a hub column of labels, or of lists of labels."""
    names: Sequence[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _written(column: pa.ChunkedArray, names: Sequence[str] | None) -> list[Any]:
    """A hub column's values as they were written before the hub stored them: label names, and short decimals."""
    import pyarrow as pa

    if names is not None:

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(one) for one in value]
            return None if value is None or value < 0 else names[value]

        return [named(value) for value in column.to_pylist()]
    if column.type == pa.float32():
        # The nearest float32 of somebody's decimal: its shortest spelling gives 4.2 back, not 4.199999809.
        return [None if one is None else float(one) for one in column.cast(pa.string()).to_pylist()]
    return list(column.to_pylist())
