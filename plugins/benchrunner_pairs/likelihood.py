"""The method `likelihood`: a pre-trained model chooses the text that it finds most likely; nothing is trained."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError
from benchrunner.engine import Job, Method, Outcome, Parameter, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor, nn

    from benchrunner.engine import Encoder, FlatBatch

ENDING = "ending"
"""Column of the text at the end of all choices of a row that alone is scored; an empty text: all is scored."""
WEIGHTS = "vocabulary.safetensors"
"""File with the weights of the head that predicts tokens, in the folder of a fit."""


@final
class Likelihood(Method):
    """Chooses the text with the highest sum of the logarithms of its tokens' probabilities.

    A causal model predicts each token from those before it. A masked model predicts each token in a copy of the text in
    which it is masked (pseudo-log-likelihood, Salazar et al. 2020).
    """

    name = "likelihood"
    about = "no training: the text that the pre-trained model finds most likely, masked or left to right"
    trains_encoder = False
    trains_in_steps = False
    is_random = False
    parameters = (
        Parameter(
            "masking",
            "what a masked model does not see when it predicts a token: the token (original, Salazar et al. 2020), or "
            "also the later tokens of its word (within-word, Kauf and Ivanova 2023)",
            "original",
            choices=("original", "within-word"),
        ),
    )

    def check(self, problem: Problem) -> None:
        if problem.export_kind is None or problem.export_kind.name != "multiple_choice":
            raise RequestError(
                f"The method 'likelihood' chooses among texts, and problems of the kind '{problem.name}' have no texts "
                "to choose from. Choose --method finetune."
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps, write_folder_atomically

        encoder = steps.load_encoder(job, seed=0)  # the weights do not depend on the seed
        head = _vocabulary_head(encoder, job)

        def write(folder: Path) -> None:
            from safetensors.torch import save_file

            steps.save_encoder(job, encoder, folder)
            # Copies: a published head may have one bias under two names, which the file format does not allow.
            tensors = {name: weight.detach().clone().contiguous() for name, weight in head.state_dict().items()}
            save_file(tensors, folder / WEIGHTS)

        started = time.monotonic()
        write_folder_atomically(job.model, write)
        return Outcome(
            timings={"save_seconds": time.monotonic() - started},
            numerics=steps.numerics_of_frozen(job, encoder),
            notes=encoder.notes,
        )

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from safetensors.torch import load_file

        from benchrunner.engine import steps

        encoder = steps.load_fitted_encoder(job)
        head = _vocabulary_head(encoder, job, load_file(job.model / WEIGHTS))
        texts, begins = texts_of(table)
        scores = log_likelihoods(job, encoder, head, texts, begins)
        return job.problem.gather(scores[:, None], None, table)  # type: ignore[arg-type]


def texts_of(table: pa.Table) -> tuple[list[str], list[int]]:
    """Return the texts of all choices, and the character of each from which on it is scored."""
    texts = list[str]()
    begins = list[int]()
    endings = table.column(ENDING).to_pylist() if ENDING in table.column_names else [""] * table.num_rows
    rows = zip(table.column("a").to_pylist(), table.column("choices").to_pylist(), endings, strict=True)
    for context, choices, ending in rows:
        for choice in choices:
            text = f"{context} {choice}" if context else choice
            texts.append(text)
            begins.append(len(text) - len(ending or choice))
    return texts, begins


def log_likelihoods(job: Job, encoder: Encoder, head: Any, texts: Sequence[str], begins: Sequence[int]) -> np.ndarray:
    """Compute the log-likelihood of the end of each text from a character on, given all before it: fp32 (texts,)."""
    import numpy as np

    from benchrunner.engine import arrays, steps
    from benchrunner_pairs.scored_tokens import TARGET, ScoredTokens

    scored = ScoredTokens.of(encoder, texts, begins, min(job.fit.recipe.max_length, encoder.max_length))
    if head.mask is None:
        features = scored.following()
        text = scored.text[scored.follows]
    else:
        features = scored.masked(head.mask, within_word=job.parameters["masking"] == "within-word")
        text = scored.text
    encoder.to(job.computing.device).eval()
    head.to(job.computing.device).eval()
    outputs = steps.predict(job, lambda batch: _log_probabilities(encoder, head, batch), features, "token")
    of_targets = outputs[features.token_targets[TARGET] != arrays.IGNORED, 0]  # in the order of the scored tokens
    return np.bincount(text, weights=of_targets, minlength=len(texts)).astype(np.float32)


def _log_probabilities(encoder: Encoder, head: nn.Module, batch: FlatBatch) -> Tensor:
    """Compute the logarithm of the probability of each target of a batch, and 0 at other places: (T, 1)."""
    import torch

    from benchrunner.engine import arrays
    from benchrunner_pairs.scored_tokens import TARGET

    targets = batch.targets[TARGET]
    places = (targets != arrays.IGNORED).nonzero().squeeze(1)
    states = encoder(batch).index_select(0, places)
    # In fp32: in half precision, texts of a pair would often be equally likely.
    with torch.autocast(states.device.type, enabled=False):
        logits = head(states.float()).float()
    of_targets = logits.gather(1, targets[places, None]) - logits.logsumexp(1, keepdim=True)
    result = torch.zeros(len(targets), 1, device=states.device)
    result[places] = of_targets
    return result


def _vocabulary_head(encoder: Encoder, job: Job, weights: Any = None) -> Any:
    """Return the layers that predict tokens, which an encoder may offer by a method of the name `vocabulary_head`.

    The method gets the weights of the head of a fit, or None for those of the checkpoint. It gives a module that turns
    states of tokens into logits over the vocabulary, (P, H) -> (P, V). The module's attribute `mask` is the id of the
    token that stands for a token to predict, or None if the state of a token predicts the next token.
    """
    make = getattr(encoder, "vocabulary_head", None)
    try:
        if make is None:
            raise RequestError(f"{type(encoder).__name__} has no method `vocabulary_head`")
        return make(weights)
    except RequestError as reason:
        raise RequestError(
            f"The method 'likelihood' needs a backbone that predicts tokens, and {job.fit.backbone} does not: "
            f"{str(reason).rstrip('.')}."
        ) from None
