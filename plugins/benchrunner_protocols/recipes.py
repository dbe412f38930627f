"""Published recipes that no other plugin has: NeoBERT, EuroBERT, EncodEval and BabyLM."""

from __future__ import annotations

from benchrunner import NamedRecipe

NEOBERT = NamedRecipe(
    name="neobert-paper",
    about="NeoBERT: 10 epochs, 6 % warm-up, second beta 0.95, no clipping",
    source="Le Breton et al. 2025, Appendix C and Table 6; optimizer, schedule and head of the released code at "
    "ed75b68, conf/ and src/neobert",
    values={
        "epochs": 10,
        "max_length": 1024,
        "warmup": 0.06,
        "schedule": "after-warmup",
        "final_share": 0.1,
        "beta1": 0.9,
        "beta2": 0.95,
        "epsilon": 1e-8,
        "clip": 0.0,
        "summary": "first",
        "head_layer": "tanh",
    },
    grid={
        "batch_size": (2, 4, 8, 16, 32),
        "lr": (5e-6, 6e-6, 8e-6, 1e-5, 2e-5, 3e-5),
        "weight_decay": (1e-2, 1e-5),
    },
    notes="the authors stopped a fit after 15 evaluations on dev without a better one, within an epoch too; their "
    "learning rate ends its decay at 90 % of the steps",
)

EUROBERT = NamedRecipe(
    name="eurobert-paper",
    about="EuroBERT: 10,000 steps of batch size 32, 10 % warm-up, ten learning rates",
    source="Boizard et al. 2025, Section 3.1; optimizer of Table 4, as its footnote 7 says",
    values={
        "batch_size": 32,
        "epochs": 10_000,  # as many as the steps need
        "max_steps": 10_000,
        "warmup": 0.1,
        "schedule": "after-warmup",
        "weight_decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.95,
        "epsilon": 1e-5,
    },
    by_task={"conll": {"context": "sentence"}},
    grid={"lr": (1e-5, 1.3e-5, 1.7e-5, 2.2e-5, 2.8e-5, 3.6e-5, 4.6e-5, 6e-5, 7.7e-5, 1e-4)},
    notes="on small data, the authors stopped a fit after one epoch without a better score on the validation set; the "
    "clipping of fine-tuning is not stated",
)

ENCODEVAL = NamedRecipe(
    name="encodeval",
    about="EncodEval: one epoch or 1,000 steps of batch size 32, 10 % warm-up, six learning rates",
    source="Gisserot-Boukhlef et al. 2025, Section 2; optimizer of the released configs/SC and configs/TC at 7e03774",
    values={
        "batch_size": 32,
        "epochs": 1,
        "max_steps": 1000,
        "max_length": 512,
        "warmup": 0.1,
        "schedule": "after-warmup",
        "weight_decay": 0.1,
        "beta1": 0.9,
        "beta2": 0.95,
        "epsilon": 1e-5,
    },
    by_task={"glue": {"summary": "mean"}, "conll": {"context": "sentence"}},
    grid={"lr": (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)},
    notes="sequences have up to 99 % of the tokens that the model takes there and at most 512 here; pairs are one text "
    "with words such as 'Premise:' before their parts; weights are bf16",
)

BABYLM = NamedRecipe(
    name="babylm-strict",
    about="BabyLM 2026, Strict: the tasks' own recipes with the cosine decay and the head of the challenge",
    source="https://github.com/babylm-org/babylm-eval at 45fe2c1, strict/scripts/eval_finetuning.sh and "
    "strict/evaluation_pipeline/finetune/run.py",
    values={"schedule": "cosine", "final_share": 0.1, "summary": "first", "head_layer": "gelu"},
    notes="of each fit, the script keeps the epoch that is best on the validation file; its head has two LayerNorms",
)

RECIPES = (NEOBERT, EUROBERT, ENCODEVAL, BABYLM)
