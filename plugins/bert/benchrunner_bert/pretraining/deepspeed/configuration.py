"""DeepSpeed's configuration: written from a few settings, with keys that a user may replace."""

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
"""Keys that a user may replace and that change the result: a run continues only with the same values."""
NEUTRAL = (
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
"""Keys that a user may replace and that only change how the result is computed or watched."""
OPTIONS = {
    "train_batch_size": "--batch-size says how many sequences a step has",
    "train_micro_batch_size_per_gpu": "--micro-tokens says how much is computed at once",
    "gradient_accumulation_steps": "it follows from --batch-size and --micro-tokens",
    "optimizer": "the optimizer is the paper's",
    "scheduler": "--lr and --warmup are the schedule",
}
"""Keys that no user may replace -> the reason, such as the option that has the same meaning."""


def check_keys(options: Mapping[str, Any]) -> None:
    """Raise a `RequestError` for a key that DeepSpeed would ignore, or that would contradict an option."""
    known = (*DECISIVE, *NEUTRAL)
    for name in options:
        if name in OPTIONS:
            raise RequestError(f"--deepspeed-config cannot replace {name}: {OPTIONS[name]}.")
        if name not in known:
            close = closest_names(name, known)
            hint = f"Did you mean {close[0]}?" if close else f"It may have: {', '.join(sorted(known))}."
            raise RequestError(f"--deepspeed-config: '{name}' is no key that can be replaced. {hint}")


def decisive(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keys that change the result."""
    return {name: value for name, value in options.items() if name in DECISIVE}


def configuration(settings: Settings, options: Mapping[str, Any]) -> dict[str, Any]:
    """Build the configuration that DeepSpeed is given; `options` replace our keys."""
    zero: dict[str, Any] = {"stage": settings.zero}
    if settings.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {
        "train_micro_batch_size_per_gpu": 1,  # the training loop counts tokens and marks the end of a batch itself
        "gradient_accumulation_steps": 1,
        "gradient_clipping": settings.clip,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 10**9,
        **options,
    }
