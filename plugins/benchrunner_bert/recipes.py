"""Published recipes for fine-tuning BERT."""

from __future__ import annotations

from benchrunner import NamedRecipe

BERT = NamedRecipe(
    name="bert-paper",
    about="the default: each task's own recipe, with the optimizer of the paper but for bias correction",
    source="Devlin et al. 2019, Appendix A.3, and the released code",
    values={
        "warmup": 0.1,
        "schedule": "released",
        "weight_decay": 0.01,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-6,
        "clip": 1.0,
    },
    grid={"lr": (5e-5, 4e-5, 3e-5, 2e-5)},
    notes="Adam has bias correction here; the paper's optimizer has none, which --set bias-correction=no repeats",
)

MOSBACH = NamedRecipe(
    name="mosbach",
    about="stable fine-tuning on small data: 20 epochs, small learning rate, Adam with bias correction",
    source="Mosbach et al. 2021, and the released configurations for CoLA, MRPC and RTE",
    values={
        "lr": 2e-5,
        "epochs": 20,
        "batch_size": 16,
        "max_length": 128,
        "warmup": 0.1,
        "schedule": "after-warmup",
        "weight_decay": 0.01,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-6,
        "bias_correction": True,
        "clip": 1.0,
    },
    grid={"lr": (1e-5, 2e-5, 3e-5)},
    notes="for BERT-LARGE on small sentence tasks; of each fit, the authors kept the best checkpoint on dev",
)
