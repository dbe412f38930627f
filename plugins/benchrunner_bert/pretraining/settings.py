"""Settings of a pre-training: what decides its result, and how it is computed.

The defaults are the paper's (Devlin et al. 2019, A.2) and those of its released code.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from benchrunner import Recipe, RequestError
from benchrunner.results import Declared, parameter
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.objectives import OBJECTIVES

COMPUTING = ("zero", "offload", "micro_tokens", "recompute")
"""Settings of how a run is computed. They may change when a run continues; all others decide the result."""
TO_COME = ("steps", "long_length", "long_share", "warmup", "schedule", "cooldown", "final_share")
"""Settings of the rates and lengths of steps. They may change when a run continues, for the steps to come."""


def _as_for_fits(name: str) -> Any:
    """Declare a setting as the field of recipes of this name is declared."""
    fields = {field.name: field for field in dataclasses.fields(Recipe)}
    return parameter(fields[name].default, **{**fields[name].metadata, "read_by": ""})


@dataclass(frozen=True)
class Settings(Declared):
    """Numbers that decide the result, together with the corpus, the vocabulary and the size of the model."""

    objective: str = parameter(
        "mlm+nsp",
        "what is predicted: masked tokens and next sentences, masked tokens alone, or the next token, the default of "
        "a GPT-like model",
        choices=tuple(OBJECTIVES),
    )
    input: str = parameter(
        "pairs",
        "what a sequence holds: [CLS] A [SEP] B [SEP], where B follows A half of the time; [CLS] text [SEP] of one "
        "document; or such a text without special tokens, the default of a GPT-like model",
        choices=tuple(INPUTS),
    )
    steps: int = parameter(1_000_000, "optimizer steps of both phases together", at_least=1, at_most=10**10)
    batch_size: int = parameter(
        256,
        "sequences in a step, whatever the memory and the number of processes",
        at_least=1,
        at_most=10**7,
    )
    length: int = parameter(128, "tokens of a sequence in the first phase", at_least=5, at_most=10**6)
    """At least three special tokens and two others."""
    long_length: int = parameter(512, "tokens of a sequence in the second phase", at_least=5, at_most=10**6)
    long_share: float = parameter(0.1, "the second phase's share of the steps", at_least=0, at_most=1)
    short: float = parameter(0.1, "share of sequences that aim at a random shorter length", at_least=0, at_most=1)
    other_documents: str = parameter(
        "length",
        "how the document of a B that does not follow A is drawn: by its length, or uniformly as in the released code",
        choices=("length", "uniform"),
    )
    chosen: float = parameter(0.15, "share of tokens that are predicted", at_least=0, at_most=1)
    masking: tuple[float, ...] = parameter(
        (80.0, 10.0, 10.0),
        "per cent of predicted tokens that become [MASK], a random token, or stay",
        float,
        at_least=0,
        separator="/",
        option="mask",
    )
    random_tokens: str = parameter(
        "ordinary",
        "tokens that random replacements are drawn from: all but special tokens, or the whole vocabulary as in the "
        "released code",
        choices=("ordinary", "all"),
    )
    predict_unknown: bool = parameter(False, "let [UNK] be a predicted token, as in the released code")
    """[CLS] and [SEP] never are."""
    whole_words: bool = parameter(False, "choose either all pieces of a word or none")
    lr: float = parameter(1e-4, "peak learning rate", at_least=0)
    warmup: int = parameter(10_000, "steps over which the learning rate rises, at most all", at_least=0, at_most=10**10)
    schedule: str = _as_for_fits("schedule")
    """The schedule runs over both phases: see `share_of_peak`."""
    cooldown: float = _as_for_fits("cooldown")
    final_share: float = _as_for_fits("final_share")
    weight_decay: float = parameter(0.01, "decoupled weight decay; biases and LayerNorm do not decay", at_least=0)
    beta1: float = parameter(0.9, "Adam's decay of the mean of the gradients", at_least=0, below=1)
    beta2: float = parameter(0.999, "Adam's decay of the mean of the squared gradients", at_least=0, below=1)
    epsilon: float = parameter(1e-6, "Adam's guard against division by zero", above=0)
    bias_correction: bool = parameter(False, "correct Adam's moments; the released code does not")
    clip: float = parameter(1.0, "largest norm of a step's gradient; 0: no limit", at_least=0)
    dropout: float = parameter(0.1, "dropout rate everywhere", at_least=0, below=1)
    deviation: float = parameter(
        0.02,
        "standard deviation of fresh weights; a narrow model learns sooner from larger ones",
        above=0,
        below=1,
    )
    """A config.json with another deviation could not be read."""
    positions: str = parameter(
        "drawn",
        "initial position embeddings: random values as in BERT, or sines, which also help at positions that no "
        "sequence has reached yet",
        choices=("drawn", "waves"),
    )
    seed: int = parameter(0, "seed of everything that is drawn", at_least=0, at_most=2**63 - 1)
    precision: str = parameter(
        "fp32", "precision of matrix products; weights and their updates are fp32", choices=("fp32", "bf16")
    )
    zero: int = parameter(0, "DeepSpeed's ZeRO stage", choices=(0, 1, 2, 3))
    offload: bool = parameter(False, "keep the optimizer's state in the CPU's memory, at stages 1 to 3")
    micro_tokens: int = parameter(16_384, "the most tokens that a process computes at once", at_least=1, at_most=10**9)
    recompute: bool = parameter(
        False, "store only the input of each layer and compute the layer twice: a third more computing time"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.masking) != 3 or not math.isclose(sum(self.masking), 100.0, abs_tol=1e-7):
            raise RequestError(
                "masking must be three rates in per cent that add up to 100, such as 80/10/10, not "
                f"{'/'.join(f'{rate:g}' for rate in self.masking)}."
            )
        if self.offload and self.zero == 0:
            raise RequestError("The optimizer can be offloaded at ZeRO's stages 1 to 3, not at 0.")
        objective = OBJECTIVES[self.objective]
        if self.whole_words and not objective.is_masked:
            raise RequestError(
                f"--whole-words is of objectives that mask tokens; {objective.name} predicts every token. Leave it out."
            )

    @property
    def mask_shares(self) -> tuple[float, ...]:
        """Shares of the predicted tokens that are replaced by [MASK], by a random token, or left as they are."""
        return tuple(rate / 100 for rate in self.masking)

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
        from benchrunner.engine import share_of_peak  # imports numpy, which the command line does without

        return self.lr * share_of_peak(
            step,
            self.steps,
            min(self.warmup, self.steps),
            schedule=self.schedule,
            cooldown=self.cooldown,
            final_share=self.final_share,
        )

    def decisive(self) -> dict[str, Any]:
        """Give the settings that decide the result: a run continues only with the same ones."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in COMPUTING}

    def check_shared(self, processes: int) -> None:
        """Raise a `RequestError` if a process would have nothing to do."""
        if self.batch_size < processes:
            raise RequestError(
                f"A batch of {self.batch_size} sequences cannot be shared by {processes} processes: use fewer "
                "processes or a larger batch."
            )
