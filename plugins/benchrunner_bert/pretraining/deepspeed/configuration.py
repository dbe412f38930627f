"""DeepSpeed's configuration: written from a few settings, with keys that a user may replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner import RequestError, UnknownName
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
_OF_THE_STAGE = frozenset({"bf16", "data_types", "fp16", "zero_optimization"})
"""Keys whose values choose the class of DeepSpeed that takes the steps."""
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
            raise UnknownName("key", name, known, where="that --deepspeed-config can replace")


def decisive(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keys that change the result."""
    return {name: value for name, value in options.items() if name in DECISIVE}


def stage_used(settings: Settings, options: Mapping[str, Any], *, world: int) -> int:
    """Give the ZeRO stage that a run uses: 0 if it has one process, which has no other process to share with.

    The stages 1 to 3 copy weights and gradients to partitions and back, which takes seconds for 110M weights. A run of
    one process uses the stage of the settings all the same if the optimizer is offloaded, or if `options` change the
    precision or the stage.
    """
    return settings.zero if world > 1 or settings.offload or _OF_THE_STAGE & options.keys() else 0


def clips_itself(options: Mapping[str, Any]) -> bool:
    """Whether DeepSpeed has to clip the gradients, also at stage 0: in a precision or with a limit of `options`."""
    return bool((_OF_THE_STAGE | {"gradient_clipping"}) & options.keys())


def configuration(settings: Settings, options: Mapping[str, Any], *, stage: int) -> dict[str, Any]:
    """Build the configuration that DeepSpeed is given; `options` replace our keys."""
    zero: dict[str, Any] = {"stage": stage}
    if settings.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {
        "train_micro_batch_size_per_gpu": 1,  # the training loop counts tokens and marks the end of a batch itself
        "gradient_accumulation_steps": 1,
        # At stage 0, DeepSpeed would take three kernels per weight, and Adam's kernel clips at no cost.
        "gradient_clipping": settings.clip if stage or clips_itself(options) else 0.0,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 10**9,
        **options,
    }
