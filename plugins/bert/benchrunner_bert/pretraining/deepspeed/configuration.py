"""DeepSpeed's own configuration: written by us from a few settings, with a user's keys in the place of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner import RequestError, closest_names
from benchrunner_bert.pretraining.settings import Settings

DECISIVE = (
    "bf16",
    "communication_data_type",
    "data_types",
    "fp16",
    "gradient_clipping",
    "gradient_predivide_factor",
    "prescale_gradients",
)
"""Keys that may be replaced, and that change what is learnt: a run goes on only with the same."""
OTHERS = (
    "aio",
    "checkpoint",
    "comms_logger",
    "csv_monitor",
    "dump_state",
    "flops_profiler",
    "memory_breakdown",
    "steps_per_print",
    "tensorboard",
    "timers",
    "wall_clock_breakdown",
    "wandb",
    "zero_force_ds_cpu_optimizer",
    "zero_optimization",
)
"""Keys that may be replaced, and say only how it is computed or watched."""
OURS = {
    "train_batch_size": "--batch-size says how many sequences a step has",
    "train_micro_batch_size_per_gpu": "--micro-tokens says how much is computed at once",
    "gradient_accumulation_steps": "it follows from --batch-size and --micro-tokens",
    "optimizer": "the optimizer is the paper's",
    "scheduler": "--lr and --warmup are the schedule",
}
"""Keys that a run says in another way."""


def check_keys(overrides: Mapping[str, Any]) -> None:
    """A `RequestError` for a key that would be ignored, or would break what the options say."""
    known = (*DECISIVE, *OTHERS)
    for name in overrides:
        if name in OURS:
            raise RequestError(f"--deepspeed-config cannot replace {name}: {OURS[name]}.")
        if name not in known:
            close = closest_names(name, known)
            hint = f"Did you mean {close[0]}?" if close else f"It may have: {', '.join(sorted(known))}."
            raise RequestError(f"--deepspeed-config: '{name}' is no key that can be replaced. {hint}")


def decisive(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The part that decides the result."""
    return {name: value for name, value in overrides.items() if name in DECISIVE}


def configuration(settings: Settings, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What DeepSpeed is told."""
    zero: dict[str, Any] = {"stage": settings.zero}
    if settings.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {
        "train_micro_batch_size_per_gpu": 1,  # batches are counted in tokens, and their borders are set by hand
        "gradient_accumulation_steps": 1,
        "gradient_clipping": settings.clip,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 10**9,
        **overrides,
    }
