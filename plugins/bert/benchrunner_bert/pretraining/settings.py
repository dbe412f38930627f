"""What a pre-training is told. The defaults are the paper's: Devlin et al. 2019, A.2, and its released code."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from benchrunner import RequestError
from benchrunner.engine import share_of_peak

PRECISIONS = ("fp32", "bf16")
POSITIONS = ("drawn", "waves")


@dataclass(frozen=True)
class Settings:
    """One value each; together with the corpus, the vocabulary and the size of the model they decide the result."""

    objective: str = "mlm+nsp"
    """One of `objectives.OBJECTIVES`."""
    steps: int = 1_000_000
    """Optimizer steps of all phases together."""
    batch_size: int = 256
    """Sequences in one step, whatever the memory and the number of processes."""
    length: int = 128
    """Tokens of a sequence in the first phase."""
    long_length: int = 512
    """And in the second."""
    long_share: float = 0.1
    """The share of the steps that the second phase takes."""
    lr: float = 1e-4
    """The peak learning rate."""
    warmup: int = 10_000
    """Steps over which it rises; then it falls to zero, over both phases."""
    weight_decay: float = 0.01
    """Decoupled decay of weights; biases and LayerNorm have none."""
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    bias_correction: bool = False
    """The released code has none."""
    clip: float = 1.0
    """The largest norm of one step's gradient; 0 does not clip."""
    chosen: float = 0.15
    """The share of tokens that are predicted."""
    masking: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """What becomes of them: [MASK], a random token, the same token."""
    short: float = 0.1
    """The share of instances that aim at a random shorter length."""
    dropout: float = 0.1
    """At every site."""
    positions: str = "drawn"
    """What a fresh model's embeddings of positions are: one of `POSITIONS`."""
    seed: int = 0
    precision: str = "fp32"
    """What matrix products are computed in; weights and their updates are fp32."""
    zero: int = 0
    """DeepSpeed's ZeRO stage. This and what follows is how, not what: it may change when a run goes on."""
    offload: bool = False
    """Keep the optimizer's state in the CPU's memory: stages 1 to 3."""
    micro_tokens: int = 16_384
    """The most tokens that one process computes at once."""
    recompute: bool = False
    """Keep only the input of each layer, and compute it twice."""

    def __post_init__(self) -> None:
        positive = ("steps", "batch_size", "length", "long_length", "micro_tokens", "epsilon")
        for name in positive:
            if not getattr(self, name) > 0:
                raise RequestError(f"{name} must be above zero, not {getattr(self, name)}.")
        for name in ("long_share", "chosen", "short", "dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        if self.dropout == 1:
            raise RequestError("A dropout of 1 leaves nothing to learn from.")
        for name in ("lr", "warmup", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise RequestError(f"{name} must be a number from zero up, not {getattr(self, name)}.")
        if min(self.masking) < 0 or not math.isclose(sum(self.masking), 1.0, abs_tol=1e-9):
            raise RequestError(f"The three rates of masking add up to 1 (100%), unlike {self.masking}.")
        if self.precision not in PRECISIONS or self.zero not in range(4):
            raise RequestError(
                f"Precision is {' or '.join(PRECISIONS)} and ZeRO's stage 0 to 3, not {self.precision} and {self.zero}."
            )
        if self.positions not in POSITIONS:
            raise RequestError(f"Positions begin as {' or '.join(POSITIONS)}, not as {self.positions}.")
        if self.offload and self.zero == 0:
            raise RequestError("The optimizer can be offloaded at ZeRO's stages 1 to 3, not at 0.")

    @property
    def border(self) -> int:
        """The first step of the second phase."""
        return self.steps - round(self.steps * self.long_share)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Those of all phases that take a step."""
        return tuple(dict.fromkeys((self.length_at(0), self.length_at(self.steps - 1))))

    def length_at(self, step: int) -> int:
        """Tokens of a sequence at a step, counted from 0."""
        return self.length if step < self.border else self.long_length

    def lr_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.lr * share_of_peak(step, self.steps, min(self.warmup, self.steps))

    def asked(self) -> dict[str, Any]:
        """Everything that decides the result: a run goes on only with the same."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in HOW}


def check_shared(batch_size: int, processes: int) -> None:
    """A `RequestError` where a process would have nothing to do."""
    if batch_size < processes:
        raise RequestError(
            f"A batch of {batch_size} sequences cannot be shared by {processes} processes: use fewer processes or a "
            "larger batch."
        )


HOW = ("zero", "offload", "micro_tokens", "recompute")
