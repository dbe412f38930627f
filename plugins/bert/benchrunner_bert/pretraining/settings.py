"""Settings of a pre-training, and the plan of its checkpoints, logs and evaluations.

The defaults are the paper's (Devlin et al. 2019, A.2) and those of its released code.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchrunner import RequestError
from benchrunner.engine import share_of_peak

PRECISIONS = ("fp32", "bf16")
POSITIONS = ("drawn", "waves")
RANDOM_TOKENS = ("ordinary", "all")
"""Replacements without special tokens, as here by default, or from the whole vocabulary, as in the released code."""
OTHER_DOCUMENTS = ("length", "uniform")
"""Documents drawn in proportion to their lengths, as here by default, or uniformly, as in the released code."""

COMPUTING = ("zero", "offload", "micro_tokens", "recompute")
"""Settings of how a run is computed. They may change when a run continues; all others decide the result."""

LARGEST = {
    "steps": 10_000_000_000,
    "batch_size": 10_000_000,
    "length": 1_000_000,
    "long_length": 1_000_000,
    "warmup": 10_000_000_000,
    "micro_tokens": 1_000_000_000,
    "seed": 2**63 - 1,
}
"""Setting -> its largest value: more is a slip of the hand, and would run for years or fill the memory."""
LARGEST_PLAN = {
    "checkpoint_steps": 10**12,
    "keep": 1_000_000,
    "log_steps": 10**12,
    "evaluate_steps": 10**12,
    "held_out_instances": 100_000_000,
}
"""Number of a plan -> its largest value."""


@dataclass(frozen=True)
class Settings:
    """Numbers that decide the result, together with the corpus, the vocabulary and the size of the model."""

    objective: str = "mlm+nsp"
    """Name of one of `objectives.OBJECTIVES`."""
    input: str = "pairs"
    """Name of one of `inputs.INPUTS`."""
    steps: int = 1_000_000
    """Optimizer steps of both phases together."""
    batch_size: int = 256
    """Sequences in one step, whatever the memory and the number of processes."""
    length: int = 128
    """Tokens of a sequence in the first phase."""
    long_length: int = 512
    """Tokens of a sequence in the second phase."""
    long_share: float = 0.1
    """The second phase's share of the steps."""
    lr: float = 1e-4
    """Peak learning rate."""
    warmup: int = 10_000
    """Steps over which the learning rate rises, at most all. It falls from step 0 to zero, over both phases: see
    `share_of_peak`."""
    weight_decay: float = 0.01
    """Decoupled decay of weights; biases and LayerNorm do not decay."""
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    bias_correction: bool = False
    """Whether Adam corrects its moments; the released code does not."""
    clip: float = 1.0
    """Largest norm of a step's gradient; 0 does not clip."""
    chosen: float = 0.15
    """Share of tokens that are predicted."""
    masking: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Shares of the predicted tokens that are replaced by [MASK], replaced by a random token, or left as they are."""
    short: float = 0.1
    """Share of instances that aim at a random shorter length."""
    random_tokens: str = "ordinary"
    """Tokens that random replacements are drawn from: one of `RANDOM_TOKENS`."""
    predict_unknown: bool = False
    """Whether [UNK] in the text can be a predicted token; [CLS] and [SEP] never are."""
    other_documents: str = "length"
    """How the document of a span that does not follow is drawn: one of `OTHER_DOCUMENTS`."""
    dropout: float = 0.1
    """Dropout rate everywhere."""
    deviation: float = 0.02
    """Standard deviation of fresh weights."""
    positions: str = "drawn"
    """Initial position embeddings: one of `POSITIONS`."""
    seed: int = 0
    precision: str = "fp32"
    """Precision of matrix products; weights and their updates are fp32."""
    zero: int = 0
    """DeepSpeed's ZeRO stage."""
    offload: bool = False
    """Whether the optimizer's state is kept in the CPU's memory, at stages 1 to 3."""
    micro_tokens: int = 16_384
    """Most tokens that a process computes at once."""
    recompute: bool = False
    """Whether only the input of each layer is stored, and the layer is computed twice."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "length", "long_length", "micro_tokens", "epsilon"):
            if not getattr(self, name) > 0:
                raise RequestError(f"{name} must be above zero, not {getattr(self, name)}.")
        check_largest(self, LARGEST)
        if not 0 < self.deviation < 1:  # a config.json with another deviation cannot be read
            raise RequestError(
                f"deviation, of the fresh weights, must be above 0 and below 1 (BERT's is 0.02), not {self.deviation}."
            )
        for name in ("long_share", "chosen", "short", "dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        if self.beta1 == 1 or self.beta2 == 1:
            raise RequestError(f"beta1 and beta2 must be below 1, not {self.beta1} and {self.beta2}.")
        if self.dropout == 1:
            raise RequestError("A dropout of 1 leaves nothing to learn from.")
        for name in ("lr", "warmup", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise RequestError(f"{name} must be a number from zero up, not {getattr(self, name)}.")
        check_masking(self.masking)
        check_drawing(self.random_tokens, self.other_documents)
        if self.precision not in PRECISIONS or self.zero not in range(4):
            raise RequestError(
                f"Precision is {' or '.join(PRECISIONS)} and ZeRO's stage 0 to 3, not {self.precision} and {self.zero}."
            )
        if self.positions not in POSITIONS:
            raise RequestError(f"Positions start as {' or '.join(POSITIONS)}, not as {self.positions}.")
        if self.offload and self.zero == 0:
            raise RequestError("The optimizer can be offloaded at ZeRO's stages 1 to 3, not at 0.")

    @property
    def border(self) -> int:
        """First step of the second phase."""
        return self.steps - round(self.steps * self.long_share)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the sequences of all phases that have a step."""
        return tuple(dict.fromkeys((self.length_at(0), self.length_at(self.steps - 1))))

    def length_at(self, step: int) -> int:
        """Give the number of tokens of a sequence at a step, counted from 0."""
        return self.length if step < self.border else self.long_length

    def lr_at(self, step: int) -> float:
        """Give the learning rate of a step, counted from 0."""
        return self.lr * share_of_peak(step, self.steps, min(self.warmup, self.steps))

    def decisive(self) -> dict[str, Any]:
        """Give the settings that decide the result: a run continues only with the same ones."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in COMPUTING}


@dataclass(frozen=True)
class Plan:
    """When the training loop does more than training steps. Nothing here changes the weights."""

    checkpoint_steps: int = 1000
    """Steps between checkpoints."""
    keep: int = 2
    """Number of checkpoints to keep."""
    shares: bool = False
    """Whether checkpoints have DeepSpeed's own format, each process its part, instead of being whole."""
    log_steps: int = 10
    """Steps between lines of the log."""
    evaluate_steps: int = 1000
    """Steps between evaluations on held-out instances."""
    held_out_instances: int = 256
    export_at: tuple[int, ...] = ()
    """Steps whose models are exported, besides the last one."""

    def __post_init__(self) -> None:
        for name in ("checkpoint_steps", "keep", "log_steps", "evaluate_steps", "held_out_instances"):
            if getattr(self, name) < 1:
                raise RequestError(f"{name} must be at least 1, not {getattr(self, name)}.")
        check_largest(self, LARGEST_PLAN)


def check_largest(settings: object, largest: Mapping[str, int]) -> None:
    """Raise a `RequestError` for the first number of the settings that is larger than its largest value."""
    for name, limit in largest.items():
        if getattr(settings, name) > limit:
            raise RequestError(f"{name} must be at most {limit:,}.")


def check_masking(rates: tuple[float, float, float]) -> None:
    """Raise a `RequestError` for rates of [MASK], random and unchanged tokens that are not shares of a whole."""
    if min(rates) < 0 or not math.isclose(sum(rates), 1.0, abs_tol=1e-9):
        raise RequestError(f"The three rates of masking must add up to 1 (100%), unlike {rates}.")


def check_drawing(random_tokens: str, other_documents: str) -> None:
    """Raise a `RequestError` for ways of drawing tokens and documents that do not exist."""
    for name, value, values in (
        ("random_tokens", random_tokens, RANDOM_TOKENS),
        ("other_documents", other_documents, OTHER_DOCUMENTS),
    ):
        if value not in values:
            raise RequestError(f"{name} is {' or '.join(values)}, not {value}.")


def check_shared(batch_size: int, processes: int) -> None:
    """Raise a `RequestError` if a process would have nothing to do."""
    if batch_size < processes:
        raise RequestError(
            f"A batch of {batch_size} sequences cannot be shared by {processes} processes: use fewer processes or a "
            "larger batch."
        )
