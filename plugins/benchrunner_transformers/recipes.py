"""Published recipes for fine-tuning models of transformers. Each says in its notes what it cannot express."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from benchrunner import NamedRecipe

ROWS = {
    "glue/cola": 8_551,
    "glue/mnli": 392_702,
    "glue/mrpc": 3_668,
    "glue/qnli": 104_743,
    "glue/qqp": 363_846,
    "glue/rte": 2_490,
    "glue/sst2": 67_349,
    "glue/stsb": 5_749,
}
"""Training rows of GLUE. With them, a published number of warm-up steps becomes a share of all steps."""


@final
@dataclass(frozen=True)
class Script:
    """The settings of a released script that fine-tunes a model for one task."""

    task: str
    lr: float
    epochs: int
    batch_size: int
    warmup_steps: int
    max_length: int

    def values(self) -> dict[str, Any]:
        """Return the settings as recipe fields."""
        steps = self.epochs * math.ceil(ROWS[self.task] / self.batch_size)
        return {
            "lr": self.lr,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "warmup": round(self.warmup_steps / steps, 4),
            "max_length": self.max_length,
        }


def _by_task(*scripts: Script) -> dict[str, dict[str, Any]]:
    return {script.task: script.values() for script in scripts}


ADAM = {"weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "clip": 1.0}
"""Optimizer of BERT, which most later models kept."""

ROBERTA = NamedRecipe(
    name="roberta-paper",
    about="RoBERTa: 10 epochs, 6 % warm-up, weight decay 0.1, second beta 0.98, no clipping",
    source="Liu et al. 2019, Section 5.1 and Table 10; learning rates and batch sizes as in fairseq's configurations",
    values={
        "lr": 1e-5,
        "epochs": 10,
        "batch_size": 32,
        "warmup": 0.06,
        "schedule": "after-warmup",
        "weight_decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.98,
        "epsilon": 1e-6,
        "clip": 0.0,
    },
    by_task={
        "glue": {"max_length": 512},
        "glue/cola": {"batch_size": 16},
        "glue/mrpc": {"batch_size": 16},
        "glue/rte": {"batch_size": 16, "lr": 2e-5},
        "glue/stsb": {"batch_size": 16, "lr": 2e-5},
        "squad": {"lr": 1.5e-5, "batch_size": 48, "epochs": 2, "weight_decay": 0.01},
    },
    grid={"lr": (1e-5, 2e-5, 3e-5), "batch_size": (16, 32)},
    notes="the authors kept the best checkpoint on dev of each fit; fairseq's configuration of QQP has 25 % warm-up; "
    "the paper's classifier of unanswerable questions is not part of the recipe",
)

ALBERT = NamedRecipe(
    name="albert-paper",
    about="ALBERT: learning rate, batch size, steps and warm-up of each task",
    source="Lan et al. 2020, Table 14; optimizer of the released code",
    values={**ADAM, "schedule": "released", "bias_correction": False},
    by_task={
        "glue": {"max_length": 512},
        "glue/cola": {"lr": 1e-5, "batch_size": 16, "epochs": 10, "warmup": 0.06},  # 5,336 steps, 320 of warm-up
        "glue/stsb": {"lr": 2e-5, "batch_size": 16, "epochs": 10, "warmup": 0.0595},  # 3,598, 214
        "glue/sst2": {"lr": 1e-5, "batch_size": 32, "epochs": 10, "warmup": 0.06},  # 20,935, 1,256
        "glue/mnli": {"lr": 3e-5, "batch_size": 128, "epochs": 3, "warmup": 0.1},  # 10,000, 1,000
        "glue/qnli": {"lr": 1e-5, "batch_size": 32, "epochs": 10, "warmup": 0.06},  # 33,112, 1,986
        "glue/qqp": {"lr": 5e-5, "batch_size": 128, "epochs": 5, "warmup": 0.0714},  # 14,000, 1,000
        "glue/rte": {"lr": 3e-5, "batch_size": 32, "epochs": 10, "warmup": 0.25},  # 800, 200
        "glue/mrpc": {"lr": 2e-5, "batch_size": 32, "epochs": 7, "warmup": 0.25},  # 800, 200
        "glue/wnli": {"lr": 2e-5, "batch_size": 16, "epochs": 50, "warmup": 0.125},  # 2,000, 250
        "squad/1.1": {"lr": 5e-5, "batch_size": 48, "epochs": 2, "warmup": 0.1, "max_length": 384},  # 3,649, 365
        "squad/2.0": {"lr": 3e-5, "batch_size": 48, "epochs": 3, "warmup": 0.1, "max_length": 512},  # 8,144, 814
    },
    notes="the paper counts steps, which are rounded to whole epochs here (MNLI: 3 for 3.26); its dropout of 0.1 in "
    "the encoder for QQP, RTE and WNLI alone is left to the backbone's configuration",
)

XLNET = NamedRecipe(
    name="xlnet-paper",
    about="XLNet: the tasks whose settings are published, MNLI, STS-B and SQuAD; other tasks keep their own",
    source="Yang et al. 2019, Table 8; STS-B, warm-up and schedule as in the released code",
    values={**ADAM, "schedule": "after-warmup"},
    by_task={
        "glue/mnli": {"lr": 2e-5, "batch_size": 128, "epochs": 3, "max_length": 128},  # 10,000 steps
        "glue/stsb": {"lr": 5e-5, "batch_size": 32, "epochs": 7, "warmup": 0.1, "max_length": 128},  # 1,200, 120
        "squad/2.0": {"lr": 3e-5, "batch_size": 48, "epochs": 3, "warmup": 0.125, "max_length": 512},  # 8,000, 1,000
    },
    notes="the publication counts steps, which are rounded to whole epochs here (MNLI: 3 for 3.26, STS-B: 7 for "
    "6.68); the layer-wise decay of 0.75 for SQuAD begins at the highest layer, which layer_decay does not",
)


def _electra(name: str, sizes: str, lr: float, layer_decay: float) -> NamedRecipe:
    return NamedRecipe(
        name=name,
        about=f"ELECTRA {sizes}: layer-wise decay {layer_decay}, learning rate {lr:g}, 3 epochs, 10 for RTE and STS-B",
        source="Clark et al. 2020, configure_finetuning.py of the released code",
        values={
            **ADAM,
            "lr": lr,
            "layer_decay": layer_decay,
            "epochs": 3,
            "batch_size": 32,
            "warmup": 0.1,
            "schedule": "released",
            "bias_correction": False,
        },
        by_task={
            "glue": {"max_length": 128},
            "glue/rte": {"epochs": 10},
            "glue/stsb": {"epochs": 10},
            "squad": {"epochs": 2, "max_length": 512},
        },
        notes="the released code also trains on swapped texts of pairs whose order has no meaning, and its span head "
        "predicts start and end together",
    )


ELECTRA = _electra("electra-paper", "small and base", 1e-4, 0.8)
ELECTRA_LARGE = _electra("electra-large-paper", "large", 5e-5, 0.9)

DEBERTA_NOTES = (
    "the dropout of 0.1 to 0.3 before the output layer is left to the backbone's configuration; for RTE, MRPC and "
    "STS-B the scripts start from the model fitted to MNLI (--backbone run:RUN)"
)

DEBERTA = NamedRecipe(
    name="deberta-paper",
    about="DeBERTa base: learning rate, epochs and warm-up of each task",
    source="He et al. 2021, Table 9, and the released scripts experiments/glue",
    values={**ADAM, "schedule": "released", "bias_correction": False},
    by_task=_by_task(
        Script("glue/cola", 2e-5, 6, 32, 100, 64),
        Script("glue/mnli", 3e-5, 3, 64, 1000, 256),
        Script("glue/mrpc", 2e-5, 6, 32, 50, 128),
        Script("glue/qnli", 2e-5, 4, 32, 500, 512),
        Script("glue/qqp", 2e-5, 8, 64, 500, 320),
        Script("glue/rte", 2e-5, 6, 32, 100, 320),
        Script("glue/sst2", 2e-5, 6, 32, 500, 128),
        Script("glue/stsb", 2e-5, 6, 32, 100, 128),
    ),
    grid={"lr": (1.5e-5, 2e-5, 3e-5, 4e-5), "batch_size": (16, 32, 48, 64)},
    notes=DEBERTA_NOTES,
)

DEBERTA_LARGE = NamedRecipe(
    name="deberta-large-paper",
    about="DeBERTa large: learning rate, epochs and warm-up of each task",
    source="He et al. 2021, Table 9, and the released scripts experiments/glue",
    values={**ADAM, "schedule": "released", "bias_correction": False},
    by_task=_by_task(
        Script("glue/cola", 7e-6, 6, 32, 100, 64),
        Script("glue/mnli", 1e-5, 3, 64, 1000, 256),
        Script("glue/mrpc", 1e-5, 6, 32, 50, 128),
        Script("glue/qnli", 1e-5, 4, 32, 500, 512),
        Script("glue/qqp", 1e-5, 8, 64, 500, 320),
        Script("glue/rte", 1e-5, 6, 32, 50, 320),
        Script("glue/sst2", 1e-5, 6, 32, 500, 128),
        Script("glue/stsb", 7e-6, 4, 32, 100, 128),
    ),
    grid={"lr": (5e-6, 8e-6, 9e-6, 1e-5), "batch_size": (16, 32, 48, 64)},
    notes=DEBERTA_NOTES,
)

DEBERTA_V3 = NamedRecipe(
    name="deberta-v3-paper",
    about="DeBERTaV3 large: learning rate, epochs and warm-up of each task",
    source="He et al. 2023, the released scripts experiments/glue for deberta-v3-large",
    values={**ADAM, "schedule": "released", "bias_correction": False},
    by_task=_by_task(
        Script("glue/cola", 5.5e-6, 10, 32, 50, 64),
        Script("glue/mnli", 7e-6, 2, 64, 500, 256),
        Script("glue/mrpc", 6e-6, 6, 32, 50, 128),
        Script("glue/qnli", 7e-6, 6, 64, 200, 512),
        Script("glue/qqp", 1e-5, 6, 64, 1000, 320),
        Script("glue/rte", 1e-5, 6, 32, 50, 320),
        Script("glue/sst2", 6e-6, 8, 32, 500, 128),
        Script("glue/stsb", 7e-6, 4, 32, 50, 128),
    ),
    notes="the smaller sizes have a script for MNLI alone: 3 epochs, batch size 64, learning rate 1.5e-5 (base) or "
    "4.5e-5 (small); the dropout before the output layer is left to the backbone's configuration",
)


def _modernbert(name: str, size: str, tasks: dict[str, tuple[float, float, int]]) -> NamedRecipe:
    """Make the recipe of a size from the learning rate, the weight decay and the epochs of each task."""
    by_task: dict[str, dict[str, Any]] = {"glue": {"max_length": 256}}
    for task, (lr, weight_decay, epochs) in tasks.items():
        by_task[f"glue/{task}"] = {"lr": lr, "weight_decay": weight_decay, "epochs": epochs}
    return NamedRecipe(
        name=name,
        about=f"ModernBERT {size}: learning rate, weight decay and epochs of each task, batch size 64",
        source="Warner et al. 2024, Appendix E.1 and Table 6; optimizer and warm-up of the released code",
        values={
            "batch_size": 64,
            "warmup": 0.1,
            "schedule": "after-warmup",
            "decay_by": "share",
            "beta1": 0.9,
            "beta2": 0.98,
            "epsilon": 1e-6,
        },
        by_task=by_task,
        notes="every fit stopped early; RTE, MRPC and STS-B began from the model fitted to MNLI (--backbone run:RUN)",
    )


MODERNBERT = _modernbert(
    "modernbert-paper",
    "base",
    {
        "cola": (8e-5, 1e-6, 5),
        "mnli": (5e-5, 5e-6, 1),
        "mrpc": (5e-5, 5e-6, 10),
        "qnli": (8e-5, 5e-6, 2),
        "qqp": (5e-5, 5e-6, 10),
        "rte": (5e-5, 1e-5, 3),
        "sst2": (8e-5, 1e-5, 2),
        "stsb": (8e-5, 5e-6, 10),
    },
)
MODERNBERT_LARGE = _modernbert(
    "modernbert-large-paper",
    "large",
    {
        "cola": (3e-5, 8e-6, 5),
        "mnli": (3e-5, 1e-5, 1),
        "mrpc": (8e-5, 5e-6, 2),
        "qnli": (3e-5, 5e-6, 2),
        "qqp": (5e-5, 8e-6, 2),
        "rte": (5e-5, 8e-6, 3),
        "sst2": (1e-5, 1e-6, 3),
        "stsb": (8e-5, 1e-5, 10),
    },
)

RECIPES = (
    *(ROBERTA, ALBERT, XLNET, ELECTRA, ELECTRA_LARGE, DEBERTA, DEBERTA_LARGE, DEBERTA_V3, MODERNBERT),
    MODERNBERT_LARGE,
)
