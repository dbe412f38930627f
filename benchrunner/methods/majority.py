"""The baseline that does not read the questions: it predicts the most frequent training answer, or the mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.io.files import write_atomically
from benchrunner.methods.method import Job, Method, Outcome

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@final
class Majority(Method):
    """Predicts one answer for all rows. Any other method must score higher."""

    name = "majority"
    about = "always the most frequent training answer (numbers: the mean); no learning"
    needs_backbone = False
    trains_in_steps = False

    def fit(self, job: Job) -> Outcome:
        import numpy as np

        assert job.train is not None
        output = job.problem.majority_output(job.train.table)

        def write(part: Path) -> None:
            with part.open("wb") as file:
                np.save(file, output)

        write_atomically(job.model / "constant.npy", write)
        return Outcome()

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        import numpy as np

        output = np.load(job.model / "constant.npy", allow_pickle=False)
        count = job.problem.output_count(table)
        return np.broadcast_to(output, (count, *output.shape))
