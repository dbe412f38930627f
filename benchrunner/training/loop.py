"""The training loop of fits. Plugins that pre-train a backbone bring a loop of their own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.backbones.finite_numbers import check_outputs, check_weights
from benchrunner.errors import DamagedFile, Diverged
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate, micro_batches, rounding
from benchrunner.features.kernels import Kernels
from benchrunner.features.randomness import Dropout
from benchrunner.fits.computing import Computing
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.process.interrupts import HeldBack
from benchrunner.training import step_log
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.denormals import Denormals, flushed_denormals
from benchrunner.training.gradients import Eager, NotStatic, Steps, Work
from benchrunner.training.half_weights import HalfWeights
from benchrunner.training.memory import halved, keep_freed_memory, out_of_memory
from benchrunner.training.optimizer import Optimizer
from benchrunner.training.precision import emulation_note, precise
from benchrunner.training.schedule import Schedule

LOG_STEPS = 10
"""Steps between two lines of the log, and between two reads of the losses from an accelerator."""


@dataclass
class Training:
    """One model that learns from one set of features. `run` goes on from the checkpoint of an earlier process."""

    model: Callable[[FlatBatch], Tensor]
    modules: Mapping[str, nn.Module]
    """The modules that take part in training, by name. Their weights that need a gradient are trained, and are kept in
    checkpoints; the others stay as they are."""
    features: Features
    problem: Problem
    recipe: Recipe
    seed: int
    computing: Computing
    """How steps are computed; its device is one that torch has."""
    checkpoint: Checkpoint
    log: Path
    last_state: Checkpoint | None = None
    """File for the state after the steps that a longer fit takes alike; None if no longer fit goes on from it."""
    report: Callable[[int, int, Mapping[str, float]], None] = lambda step, steps, figures: None
    """Called after each step with its number, the number of all steps, and its figures: see `Event.figures`."""
    note: Callable[[str], None] = lambda text: None
    """Called with a remark for the user, at once."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Factors of the learning rate by the name of a weight in `modules`, such as `encoder.pooler.bias`; else 1."""
    kernels: Kernels | None = None
    """What computes some operators on a CPU in place of torch; part of the numerics."""
    shared: bool = False
    """Whether a team of processes computes the steps. It adds up the gradients of the weights themselves."""
    budgets: dict[int, int] = field(init=False)
    """Step, counted from 0 -> largest number of tokens in a micro-batch from there on: the recipe's, halved when memory
    runs out. Part of the numerics, since dropout is drawn for each micro-batch."""
    compute: Callable[[int], Tensor] = field(init=False)
    """Computes the gradients of a step and returns its mean loss. A `Team` sets it; otherwise it is `gradients`."""
    fixed_shapes: Callable[[], Steps] | None = field(init=False, default=None)
    """Makes what computes steps in fixed shapes, such as by CUDA graphs. A `Team` sets it; else steps are `Eager`."""
    diverged: int | None = field(init=False, default=None)
    """The step, counted from 1, whose loss was not a finite number, or after which the model no longer was one."""
    first: int = field(init=False, default=0)
    """The step, counted from 0, that `run` began with: above 0 if `run` went on from a checkpoint."""
    denormals: Denormals = field(init=False, default="kept")
    """What became of denormal numbers in `run`; part of the numerics."""
    seconds: float = field(init=False, default=0.0)
    """Time that `run` took."""

    def __post_init__(self) -> None:
        self.device = torch.device(self.computing.device)
        self.budgets = {0: self.recipe.micro_tokens}
        self.compute = self.gradients
        self.schedule = Schedule(self.features.batch_counts(self.recipe.batch_unit), self.recipe, self.seed)
        encoders = tuple(module for module in self.modules.values() if isinstance(module, Encoder))
        self.halves = self._halves_of(encoders)
        """Copies of weights in bf16 that stay from step to step; None if autocast casts weights in each step."""
        self.optimizer = Optimizer(self.modules, self.recipe, self.rates, self.halves)
        label_weights = None
        if self.recipe.class_weights == "balanced":
            weights = self.features.balanced_weights(self.problem.head.width)
            self.features = self.features.weighted(weights)
            label_weights = torch.from_numpy(weights).float().to(self.device)
        self.means = Work(
            model=self.model,
            problem=self.problem,
            features=self.features,
            device=self.device,
            precision=self.recipe.precision,
            optimizer=self.optimizer,
            encoders=encoders,
            label_smoothing=self.recipe.label_smoothing,
            label_weights=label_weights,
            kernels=self.kernels,
            halves=self.halves,
        )
        """What batches and their losses are computed with."""
        self._way: Steps = Eager(self.means)
        self._unit_tokens = self.features.unit_tokens
        self._pending: list[tuple[int, Tensor]] = []
        self._loss = math.nan
        self._fault = ""
        self.notes: list[str] = []
        """Remarks for the record."""
        self._examples = self.features.batch_counts("sentences")
        self._lap = (0, 0.0)
        """The first step since the last figures, and when it began."""

    def _halves_of(self, encoders: Sequence[Encoder]) -> HalfWeights | None:
        if self.shared or self.recipe.precision != "bf16" or self.kernels is None:
            return None
        return HalfWeights(encoders, self.kernels) if "adamw" in self.kernels.operators else None

    def run(self) -> None:
        """Take all steps that are left. The weights are useless if `diverged` is set afterwards.

        On Ctrl-C, finish the current step, save a checkpoint, and raise `KeyboardInterrupt`.
        """
        for note in () if self.kernels is None else self.kernels.notes:
            self.remark(note)
        if self.recipe.precision == "bf16" and (note := emulation_note(self.device)):
            self.remark(note)
        started = time.perf_counter()
        with HeldBack() as interrupt, self.prepared():
            try:
                self._steps(interrupt)
            finally:  # graphs keep memory of the GPU, and refer to this training, which would be freed late
                self._way = Eager(self.means)
        self.seconds = time.perf_counter() - started

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare this process and the modules for the computation of steps inside a `with` block."""
        keep_freed_memory()
        for module in self.modules.values():
            module.train()
        with flushed_denormals() as self.denormals:
            yield

    @property
    def micro_tokens(self) -> int:
        """Largest number of tokens in a micro-batch now."""
        return list(self.budgets.values())[-1]

    @property
    def captured(self) -> Mapping[int, bool]:
        """Step, counted from 0 -> whether batches have fixed shapes, for CUDA graphs, from there on.

        Part of the numerics. The steps of earlier processes are included.
        """
        return self.checkpoint.captured

    @property
    def divergence_reason(self) -> str:
        """Reason that a record gives for a diverged training."""
        return self._fault or f"the loss was not a finite number at step {self.diverged} of {self.schedule.steps}"

    @property
    def timings(self) -> dict[str, float]:
        """Time and speed of `run`, for the record."""
        rows = self._sum_over_steps(self._examples, self.first)
        return {"train_seconds": self.seconds, "examples_per_second": rows / self.seconds}

    def _sum_over_steps(self, values: np.ndarray, first: int = 0, stop: int | None = None) -> int:
        """Add up values of the units, (units,), over the batches of the steps from `first` on, and before `stop`."""
        total = 0
        for step in range(first, self.schedule.steps if stop is None else stop):
            units = self.schedule.batch(step)
            total += int(values[units].sum())
        return total

    @property
    def work(self) -> dict[str, float]:
        """What the whole training read, also in steps before a resumption: see `Record.work`."""
        return {"train_tokens": self._sum_over_steps(self._unit_tokens)}

    def decay_without_gradient(self, weight: nn.Parameter) -> float:
        """Give the factor by which weight decay shrinks the rows of a trained weight that have no gradient."""
        return self.schedule.decay_without_gradient(self.optimizer.rate_of(weight))

    def _steps(self, interrupt: HeldBack) -> None:
        self.first = self._resume()
        saved = time.monotonic()
        self._lap = (self.first, time.perf_counter())
        for step in range(self.first, self.schedule.steps):
            loss = self._learn(step)
            self._pending.append((step, loss))
            last = step + 1 == self.schedule.steps
            is_left = self.last_state is not None and step + 1 == self.schedule.free_steps
            logged = last or is_left or (step + 1) % LOG_STEPS == 0
            if loss.device.type == "cpu" or logged or interrupt.asked:
                if not self._settle():
                    return
                waited = time.monotonic() - saved
                is_due = not last and waited >= self.computing.checkpoint_seconds
                if is_due or interrupt.asked:
                    self.checkpoint.save(step + 1, self.budgets, self.optimizer)
                    saved = time.monotonic()
                if is_left:
                    self._leave_state(step + 1)
                if interrupt.asked:
                    return
            figures = self._figures(step) if logged else {}
            self.report(step + 1, self.schedule.steps, figures)
        self._check_result()

    def _leave_state(self, step: int) -> None:
        """Write the state after `step` steps for a longer fit."""
        assert self.last_state is not None
        self.last_state.computed = self.checkpoint.computed
        self.last_state.captured = self.checkpoint.captured
        self.last_state.save(step, self.budgets, self.optimizer)

    def _check_result(self) -> None:
        """Set `diverged` if the last step left weights that are not finite, or too large for finite outputs.

        The loss of a step is computed before the step changes the weights, so that no loss shows this.
        """
        steps = self.schedule.steps
        try:
            check_weights(self.optimizer.named.items(), f"after the last of {steps} steps, the weights")
            check_outputs(self._outputs_of_one_unit(), f"a training example after all {steps} steps")
        except Diverged as fault:
            self.diverged = steps
            self._fault = str(fault)

    def _outputs_of_one_unit(self) -> np.ndarray:
        """Compute the outputs of the first unit without dropout."""
        for module in self.modules.values():
            module.eval()
        unit = np.arange(1)
        multiple = rounding(self.recipe.precision, self.features.tokens_in(unit))
        batch = collate(self.features, unit, self.device, multiple=multiple)
        with torch.inference_mode(), precise(self.device, self.recipe.precision):
            outputs: np.ndarray = self.model(batch).float().cpu().numpy()
        return outputs

    def _figures(self, step: int) -> dict[str, float]:
        """Give the figures of the last step whose loss was read from the device."""
        first, began = self._lap
        now = time.perf_counter()
        self._lap = (step + 1, now)
        examples = self._sum_over_steps(self._examples, first, step + 1)
        return {
            "loss": self._loss,
            "lr": self.schedule.lr(step),
            "examples_per_second": examples / max(now - began, 1e-9),
        }

    def _resume(self) -> int:
        """Load the checkpoint, cut the log back to its step, and return the step to go on with.

        A damaged checkpoint is left out, and all steps are taken again.
        """
        try:
            found = self.checkpoint.load(self.optimizer, self.schedule.steps)
        except DamagedFile as error:
            found = None
            self.remark(str(error))
        step, self.budgets = found or (0, self.budgets)
        if self.halves is not None:
            self.halves.refresh()
        self._go_on_with(self._first_way(), step)
        step_log.cut_back(self.log, step)
        return step

    def _first_way(self) -> Steps:
        """Choose how gradients are computed. After memory ran out, it is by `Eager`, also in later processes."""
        if self.fixed_shapes is None or self.budgets != {0: self.recipe.micro_tokens}:
            return Eager(self.means)
        return self.fixed_shapes()

    def _go_on_with(self, way: Steps, step: int) -> None:
        """Compute gradients by `way` from the step number `step` on."""
        self._way = way
        fixed = not isinstance(way, Eager)
        history = {first: earlier for first, earlier in self.captured.items() if first < step}
        if not history or list(history.values())[-1] != fixed:
            history[step] = fixed
        self.checkpoint.captured = history

    def remark(self, text: str) -> None:
        """Tell the user at once, and keep the remark for the record."""
        self.notes.append(text)
        self.note(text)

    def _learn(self, step: int) -> Tensor:
        """Take one optimizer step and return the mean loss of its batch, as a tensor on the device."""
        units = self.schedule.batch(step)
        while True:
            try:
                loss = self.compute(step)
                self.optimizer.allocate()
                break
            except NotStatic:
                self._go_on_with(Eager(self.means), step)
                continue
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            # Not inside `except`: there, the traceback of the error keeps the tensors of the failed part in memory.
            self.optimizer.clear()
            if not isinstance(self._way, Eager):
                self._go_on_with(Eager(self.means), step)
                self.remark(f"no CUDA graphs from step {step + 1} on, where memory ran out: their memory is given back")
            self.budgets[step] = halved(units, self._unit_tokens, self.micro_tokens, self.device)
        self.optimizer.step(step, self.schedule.lr(step))
        return loss

    def parts(self, step: int) -> list[np.ndarray]:
        """Give the units of the micro-batches of a step."""
        return micro_batches(self.schedule.batch(step), self._unit_tokens, self.micro_tokens)

    def gradients(self, step: int, numbers: Sequence[int] | None = None) -> Tensor:
        """Add up the gradients of some micro-batches of a step, by default of all.

        Return what these micro-batches add to the mean loss of the step.
        """
        self._way.clear()
        # The mean is taken over the recipe's batch, not over the micro-batch.
        divisor = self.loss_divisor(step)
        total = torch.zeros((), device=self.device)
        parts = self.parts(step)
        dropouts = [Dropout(self.seed, step, number) for number in range(len(parts))]
        if numbers is None and self.problem.of_whole_batches and len(parts) > 1:
            return Eager(self.means).add_together(parts, dropouts, divisor)
        for number in range(len(parts)) if numbers is None else numbers:
            total += self._way.add(parts[number], dropouts[number], divisor)
        return total

    def loss_divisor(self, step: int) -> float:
        """Return the number by which the summed loss of a step's batch is divided."""
        if self.recipe.loss_divisor == "own-words":
            return self.features.loss_weight(self.schedule.batch(step))
        words = self.features.loss_weight(np.arange(self.features.units))
        first_steps = self.schedule.first_steps
        return words * (len(first_steps) - 1) / first_steps[-1]

    def _settle(self) -> bool:
        """Read the pending losses and log them; return False if one is not a finite number."""
        values = torch.stack([loss for _, loss in self._pending]).tolist()  # one read from an accelerator
        for (step, _), value in zip(self._pending, values, strict=True):
            self._loss = value
            if not math.isfinite(value):
                self.diverged = step + 1
                self._write(step + 1, value)
                return False
            if (step + 1) % LOG_STEPS == 0 or step + 1 == self.schedule.steps:
                self._write(step + 1, value)
        self._pending.clear()
        return True

    def _write(self, step: int, loss: float) -> None:
        written = loss if math.isfinite(loss) else str(loss)
        step_log.append(self.log, step, {"loss": written, "lr": self.schedule.lr(step - 1)})
