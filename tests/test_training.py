"""The training loop and what stands around it: schedule, optimizer, words in use, checkpoints, memory, prediction."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import nn

import benchrunner.training
from benchrunner.checkpoints import Checkpoint
from benchrunner.errors import FitError
from benchrunner.features import Features
from benchrunner.flat import FlatBatch, collate
from benchrunner.heads import LinearHead
from benchrunner.optimizer import Optimizer
from benchrunner.prediction import predict
from benchrunner.problems import HeadShape
from benchrunner.problems.tag import Tag
from benchrunner.randomness import Dropout
from benchrunner.recipes import Recipe
from benchrunner.schedule import Schedule
from benchrunner.training import Training
from benchrunner.vocabulary import WordsInUse
from tiny_encoder import MOOD, TinyEncoder, features

CPU = torch.device("cpu")
RECIPE = Recipe(lr=5e-3, epochs=3, batch_size=8)
Model = Callable[[FlatBatch], torch.Tensor]


@pytest.fixture(autouse=True)
def _every_step_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchrunner.training, "LOG_STEPS", 1)


@dataclass
class Fitted:
    """A fit of the tiny encoder, to be compared with another."""

    training: Training
    encoder: TinyEncoder
    head: LinearHead

    @property
    def losses(self) -> list[float]:
        return [line["loss"] for line in self.lines]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.training.log.read_text().splitlines()]

    def weights(self) -> dict[str, torch.Tensor]:
        return {**self.encoder.state_dict(), **{f"head.{name}": one for name, one in self.head.state_dict().items()}}


def prepared(
    folder: Path,
    recipe: Recipe = RECIPE,
    *,
    data: Features | None = None,
    wrap: Callable[[Model], Model] = lambda model: model,
    dropout: float = 0.0,
    narrow: bool = True,
    **options: Any,
) -> tuple[Fitted, Callable[[], None]]:
    """A fit that has not started, and what ends it."""
    data = data or features(60)
    encoder, head = TinyEncoder(dropout=dropout), LinearHead(12, MOOD.head, seed=4)
    words = WordsInUse(encoder.word, data) if narrow else None
    training = Training(
        model=wrap(lambda batch: head(encoder, batch)),
        modules={"encoder": encoder, "head": head},
        features=words.features if words else data,
        problem=MOOD,
        recipe=recipe,
        seed=4,
        device=CPU,
        checkpoint=options.pop("checkpoint", Checkpoint(folder / "checkpoint")),
        log=folder / "log.jsonl",
        **options,
    )

    def finish() -> None:
        training.run()
        if words is not None and training.diverged is None:
            words.restore(training.schedule.untouched())

    return Fitted(training, encoder, head), finish


def fitted(folder: Path, recipe: Recipe = RECIPE, **options: Any) -> Fitted:
    one, finish = prepared(folder, recipe, **options)
    finish()
    return one


def difference(one: Fitted, other: Fitted) -> float:
    """The largest between any two weights."""
    mine, theirs = one.weights(), other.weights()
    assert mine.keys() == theirs.keys()
    return max((mine[name] - theirs[name]).abs().max().item() for name in mine)


# The schedule


@given(some.integers(1, 60), some.integers(1, 20), some.integers(1, 4))
def test_every_epoch_meets_every_unit_once(units: int, batch_size: int, epochs: int) -> None:
    schedule = Schedule(np.ones(units, dtype=np.int64), Recipe(batch_size=batch_size, epochs=epochs), seed=1)
    batches = [schedule.batch(step).tolist() for step in range(schedule.steps)]
    each = math.ceil(units / batch_size)
    assert len(batches) == each * epochs
    for epoch in range(epochs):
        assert sorted(unit for one in batches[epoch * each : (epoch + 1) * each] for unit in one) == list(range(units))
    assert all(0 < len(one) <= batch_size for one in batches)


@given(some.lists(some.integers(0, 12), min_size=1, max_size=40).filter(any), some.integers(1, 10), some.integers(1, 3))
def test_units_that_count_for_several_are_met_once_and_batches_are_of_the_asked_size_on_the_average(
    counts: list[int], batch_size: int, epochs: int
) -> None:
    schedule = Schedule(np.array(counts), Recipe(batch_size=batch_size, epochs=epochs), seed=1)
    for epoch in range(epochs):
        steps = range(schedule.first_steps[epoch], schedule.first_steps[epoch + 1])
        batches = [schedule.batch(step).tolist() for step in steps]
        assert sorted(unit for one in batches for unit in one) == list(range(len(counts)))
        assert len(batches) <= math.ceil(sum(counts) / batch_size) + 1
        assert all(sum(counts[unit] for unit in one[:-1]) <= batch_size + max(counts) for one in batches)
    assert schedule.steps == schedule.first_steps[-1]


def test_a_loss_over_words_is_their_mean_however_the_batch_is_split(tmp_path: Path) -> None:
    """Windows of one word and of many: the mean over windows would be another figure."""
    tags = Tag(("O", "B-TREE"))
    sentences = [["oak"], ["by", "the", "lake", "stood", "an", "elm"], ["no", "tree"]]
    table = pa.table(
        {"words": sentences, "labels": [["B-TREE" if one in ("oak", "elm") else "O" for one in s] for s in sentences]}
    )

    def first_loss(micro_tokens: int) -> float:
        encoder, head = TinyEncoder(), LinearHead(12, tags.head, seed=1)
        recipe = Recipe(batch_size=3, epochs=1, context="sentence", micro_tokens=micro_tokens)
        training = Training(
            model=lambda batch: head(encoder, batch),
            modules={"encoder": encoder, "head": head},
            features=tags.encode(table, encoder, recipe, training=True),
            problem=tags,
            recipe=recipe,
            seed=1,
            device=CPU,
            checkpoint=Checkpoint(tmp_path / str(micro_tokens)),
            log=tmp_path / f"{micro_tokens}.jsonl",
        )
        training.run()
        return float(json.loads(training.log.read_text().splitlines()[0])["loss"])

    def by_hand() -> float:
        encoder, head = TinyEncoder(), LinearHead(12, tags.head, seed=1)
        features = tags.encode(table, encoder, Recipe(context="sentence"), training=True)
        batch = collate(features, np.arange(3), CPU)
        targets = batch.targets["label"]
        return nn.functional.cross_entropy(head(encoder, batch)[targets >= 0], targets[targets >= 0]).item()

    assert first_loss(1) == pytest.approx(first_loss(1000), abs=1e-6) == pytest.approx(by_hand(), abs=1e-6)


def test_an_epochs_order_is_its_own_and_can_be_asked_for_out_of_turn() -> None:
    schedule, again = (Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=1) for _ in range(2))
    first, second = schedule.batch(0), schedule.batch(1)
    assert not np.array_equal(first, second)
    assert np.array_equal(again.batch(1), second) and np.array_equal(again.batch(0), first)
    assert not np.array_equal(Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=2).batch(0), first)


def test_the_rate_rises_over_the_warm_up_and_falls_to_zero() -> None:
    schedule = Schedule(np.ones(20, dtype=np.int64), Recipe(lr=8.0, batch_size=2, epochs=1, warmup=0.4), seed=0)
    assert [schedule.lr(step) for step in range(10)] == pytest.approx(
        [0, 2, 4, 6, *(8 * n / 6 for n in range(6, 0, -1))]
    )
    flat = Schedule(np.ones(4, dtype=np.int64), Recipe(lr=8.0, batch_size=1, epochs=1, warmup=0.0), seed=0)
    assert [flat.lr(step) for step in range(4)] == pytest.approx([8, 6, 4, 2])
    rising = Schedule(np.ones(4, dtype=np.int64), Recipe(lr=8.0, batch_size=1, epochs=1, warmup=1.0), seed=0)
    assert [rising.lr(step) for step in range(4)] == pytest.approx([0, 2, 4, 6])


def test_what_decay_leaves_of_an_untouched_weight_is_known_beforehand() -> None:
    schedule = Schedule(
        np.ones(4, dtype=np.int64), Recipe(lr=0.5, batch_size=1, epochs=1, warmup=0.5, weight_decay=0.1), seed=0
    )
    assert schedule.untouched() == pytest.approx(1 * 0.975 * 0.95 * 0.975)


# The optimizer


class Pair(nn.Module):
    """A matrix, which decays, and a bias and a norm, which do not."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Linear(3, 2), nn.LayerNorm(2)
        for at, one in enumerate(self.parameters()):
            nn.init.normal_(one, generator=torch.Generator().manual_seed(at))


def gradients(steps: int) -> Iterable[list[torch.Tensor]]:
    source = torch.Generator().manual_seed(9)
    for step in range(steps):
        yield [torch.randn(one.shape, generator=source) * 10.0 ** (step % 4 - 2) for one in Pair().parameters()]


def optimized(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    module = Pair()
    optimizer = Optimizer({"pair": module}, recipe)
    for step, (lr, found) in enumerate(zip(rates, gradients(len(rates)), strict=True)):
        optimizer.clear()
        for one, gradient in zip(module.parameters(), found, strict=True):
            one.grad = gradient
        optimizer.step(step, lr)
    return [one.detach() for one in module.parameters()]


def by_the_book(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    weights = [one.detach().double() for one in Pair().parameters()]
    means, squares = ([torch.zeros_like(one) for one in weights] for _ in range(2))
    for step, (lr, found) in enumerate(zip(rates, gradients(len(rates)), strict=True), start=1):
        norm = math.sqrt(sum(one.double().pow(2).sum().item() for one in found))
        factor = min(1.0, recipe.clip / norm) if recipe.clip else 1.0
        for at, gradient in enumerate(found):
            g = gradient.double() * factor
            means[at] = recipe.beta1 * means[at] + (1 - recipe.beta1) * g
            squares[at] = recipe.beta2 * squares[at] + (1 - recipe.beta2) * g * g
            m, v = means[at], squares[at]
            if recipe.bias_correction:
                m, v = m / (1 - recipe.beta1**step), v / (1 - recipe.beta2**step)
            decay = recipe.weight_decay if weights[at].ndim > 1 else 0.0
            weights[at] = weights[at] - lr * (m / (v.sqrt() + recipe.epsilon) + decay * weights[at])
    return [one.float() for one in weights]


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_adam_with_and_without_correction_is_the_ten_line_one(
    bias_correction: bool, clip: float, epsilon: float
) -> None:
    recipe = Recipe(weight_decay=0.1, clip=clip, bias_correction=bias_correction, epsilon=epsilon)
    rates = [0.0, 0.01, 0.02, 0.03, *(0.03 * left / 20 for left in range(20, 0, -1))]
    for mine, theirs in zip(optimized(recipe, rates), by_the_book(recipe, rates), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-6, atol=2e-6)


def test_uncorrected_adam_is_another_adam() -> None:
    rates = [0.01] * 5
    corrected, raw = (optimized(Recipe(bias_correction=one), rates) for one in (True, False))
    assert (corrected[0] - raw[0]).abs().max() > 1e-2


def test_biases_and_norms_do_not_decay() -> None:
    module = Pair()
    before = {name: one.detach().clone() for name, one in module.named_parameters()}
    optimizer = Optimizer({"pair": module}, Recipe(weight_decay=0.5))
    for one in module.parameters():
        one.grad = torch.zeros_like(one)
    optimizer.step(0, 0.1)
    for name, one in module.named_parameters():
        torch.testing.assert_close(one.detach(), before[name] * (0.95 if name == "dense.weight" else 1.0))


# The loop


def test_the_loss_falls(tmp_path: Path) -> None:
    losses = fitted(tmp_path, RECIPE.changed(epochs=12)).losses
    assert len(losses) == 12 * 8
    assert np.mean(losses[:8]) > 0.65 and np.mean(losses[-8:]) < 0.3


def test_the_log_has_one_line_in_ten_steps_and_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchrunner.training, "LOG_STEPS", 10)
    one = fitted(tmp_path)
    assert [line["step"] for line in one.lines] == [10, 20, 24]
    assert one.lines[0]["lr"] == one.training.schedule.lr(9)


def test_progress_is_reported_step_by_step(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fitted(tmp_path, report=lambda step, steps: seen.append((step, steps)))
    assert seen == [(step, 24) for step in range(1, 25)]


@pytest.mark.parametrize("micro_tokens", [1, 20, 50])
def test_a_batch_computed_in_parts_is_the_same_batch(tmp_path: Path, micro_tokens: int) -> None:
    whole = fitted(tmp_path / "whole")
    parts = fitted(tmp_path / "parts", RECIPE.changed(micro_tokens=micro_tokens))
    assert parts.losses == pytest.approx(whole.losses, abs=2e-6)
    assert difference(whole, parts) < 1e-5


def test_training_the_words_in_use_is_training_the_whole_table(tmp_path: Path) -> None:
    data = features(60)
    assert len(np.unique(data.tokens)) < 60 < TinyEncoder().vocabulary
    recipe = RECIPE.changed(weight_decay=0.1)
    small, whole = fitted(tmp_path / "small", recipe), fitted(tmp_path / "whole", recipe, narrow=False)
    assert small.losses == pytest.approx(whole.losses, abs=1e-6)
    assert difference(small, whole) < 1e-6
    unused = np.setdiff1d(np.arange(97), data.tokens)
    shrunk = TinyEncoder().word.weight.detach()[unused] * small.training.schedule.untouched()
    torch.testing.assert_close(small.encoder.word.weight.detach()[unused], shrunk)
    assert small.training.schedule.untouched() < 0.999


def test_the_words_in_use_are_a_small_table_while_training() -> None:
    data, encoder = features(60), TinyEncoder()
    before = encoder.word.weight.detach().clone()
    words = WordsInUse(encoder.word, data)
    assert len(encoder.word.weight) == len(np.unique(data.tokens))
    again = encoder.word(torch.from_numpy(words.features.tokens).long())
    assert torch.equal(again, before[torch.from_numpy(data.tokens).long()])
    words.restore(1.0)
    assert torch.equal(encoder.word.weight.detach(), before)


def test_dropout_changes_the_losses_and_two_runs_do_not(tmp_path: Path) -> None:
    without = fitted(tmp_path / "without")
    first, second = (fitted(tmp_path / name, dropout=0.1) for name in ("first", "second"))
    assert first.losses == second.losses != without.losses
    assert difference(first, second) == 0.0


def test_half_precision_runs_and_stays_near(tmp_path: Path) -> None:
    single = fitted(tmp_path / "single", dropout=0.1)
    half = fitted(tmp_path / "half", RECIPE.changed(precision="bf16"), dropout=0.1)
    assert half.losses != single.losses
    assert half.losses == pytest.approx(single.losses, abs=0.02)
    assert all(one.dtype == torch.float32 for one in half.weights().values())


# Going on after a kill


class Killed(Exception):
    """Stands in for a process that is gone."""


class At(Checkpoint):
    """Checkpoints after some steps only, as if two minutes had passed there."""

    def __init__(self, folder: Path, *steps: int) -> None:
        super().__init__(folder)
        self.steps = steps

    def save(self, step: int, micro_tokens: int, optimizer: Optimizer) -> None:
        if step in self.steps:
            super().save(step, micro_tokens, optimizer)


def killed_after(last: int) -> Callable[[int, int], None]:
    def report(step: int, steps: int) -> None:
        if step == last:
            raise Killed

    return report


@pytest.mark.parametrize(("saved", "killed"), [(3, 3), (8, 11), (11, 15), (23, 23)])
@pytest.mark.parametrize("bias_correction", [True, False])
def test_a_killed_fit_goes_on_bit_for_bit(tmp_path: Path, saved: int, killed: int, bias_correction: bool) -> None:
    recipe = RECIPE.changed(micro_tokens=40, bias_correction=bias_correction)
    unbroken = fitted(tmp_path / "unbroken", recipe, dropout=0.1)
    options: dict[str, Any] = {"dropout": 0.1, "checkpoint_seconds": -1.0}
    folder = tmp_path / "broken"
    checkpoint = At(folder / "checkpoint", saved)
    with pytest.raises(Killed):
        fitted(folder, recipe, checkpoint=checkpoint, report=killed_after(killed), **options)
    log = folder / "log.jsonl"
    assert len(log.read_text().splitlines()) == killed
    log.write_text(log.read_text() + '{"step": 9')  # the line that was being written
    steps: list[int] = []
    again = fitted(folder, recipe, checkpoint=checkpoint, report=lambda step, _: steps.append(step), **options)
    assert steps == list(range(saved + 1, 25))
    assert difference(unbroken, again) == 0.0
    assert log.read_bytes() == (tmp_path / "unbroken" / "log.jsonl").read_bytes()


def test_a_kill_before_the_first_checkpoint_starts_again(tmp_path: Path) -> None:
    unbroken = fitted(tmp_path / "unbroken")
    with pytest.raises(Killed):
        fitted(tmp_path / "broken", report=killed_after(5))
    again = fitted(tmp_path / "broken")
    assert difference(unbroken, again) == 0.0 and again.losses == unbroken.losses


def test_where_checkpoints_fall_changes_nothing(tmp_path: Path) -> None:
    never, always = (
        fitted(tmp_path / str(seconds), dropout=0.1, checkpoint_seconds=seconds) for seconds in (math.inf, -1.0)
    )
    assert difference(never, always) == 0.0
    assert not (tmp_path / "inf" / "checkpoint").exists()
    assert [path.name for path in (tmp_path / "-1.0" / "checkpoint").iterdir()] == ["state.safetensors"]


def test_a_part_without_gradient_does_not_hinder_going_on(tmp_path: Path) -> None:
    """A head over tokens leaves the summary's dense layer alone."""

    def trained(folder: Path, *, kill: bool = False) -> TinyEncoder:
        encoder, head = TinyEncoder(), LinearHead(12, HeadShape("token", 2), seed=1)
        training = Training(
            model=lambda batch: head(encoder, batch)[batch.starts[:-1].long()][batch.restore],
            modules={"encoder": encoder, "head": head},
            features=features(60),
            problem=MOOD,
            recipe=RECIPE,
            seed=1,
            device=CPU,
            checkpoint=At(folder, 7),
            log=folder / "log.jsonl",
            report=killed_after(9) if kill else lambda step, steps: None,
            checkpoint_seconds=-1.0,
        )
        training.run()
        return encoder

    unbroken = trained(tmp_path / "unbroken")
    with pytest.raises(Killed):
        trained(tmp_path / "broken", kill=True)
    again = trained(tmp_path / "broken")
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in unbroken.state_dict().items())
    assert torch.equal(again.dense.weight, TinyEncoder().dense.weight)


def test_no_checkpoint_is_no_checkpoint(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path).load(Optimizer({"pair": Pair()}, RECIPE)) is None


# Memory


def torchs_own(tokens: int) -> RuntimeError:
    return torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate for {tokens} tokens")


def the_allocators(tokens: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {tokens} bytes. Error code 12 (Cannot allocate memory)"
    )


def room_for(limit: int, fault: Callable[[int], RuntimeError] = torchs_own) -> Callable[[Model], Model]:
    """A device with memory for so many tokens."""

    def wrap(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            if len(batch.tokens) > limit:
                raise fault(len(batch.tokens))
            return model(batch)

        return limited

    return wrap


@pytest.mark.parametrize("fault", [torchs_own, the_allocators])
def test_a_batch_that_is_too_large_is_halved_and_that_is_the_same_as_having_asked_for_it(
    tmp_path: Path, fault: Callable[[int], RuntimeError]
) -> None:
    even = features(60, shortest=9, longest=9)  # 10 tokens each, 80 a batch
    one = fitted(tmp_path / "halved", data=even, dropout=0.1, wrap=room_for(25, fault))
    assert one.training.micro_tokens == 20
    assert one.training.recipe.micro_tokens == 8192
    asked = fitted(tmp_path / "asked", RECIPE.changed(micro_tokens=20), data=even, dropout=0.1)
    assert difference(one, asked) == 0.0 and one.losses == asked.losses
    free = fitted(tmp_path / "free", data=even)
    tight = fitted(tmp_path / "tight", data=even, wrap=room_for(25, fault))
    assert tight.losses == pytest.approx(free.losses, abs=2e-6)


def test_memory_that_runs_out_half_way_through_a_batch_counts_nothing_twice(tmp_path: Path) -> None:
    calls = 0

    def fails_once(model: Model) -> Model:
        def limited(batch: FlatBatch) -> torch.Tensor:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise torchs_own(0)
            return model(batch)

        return limited

    ragged = features(60)
    one = fitted(tmp_path / "one", RECIPE.changed(micro_tokens=40), data=ragged, wrap=fails_once)
    assert one.training.micro_tokens == 20
    assert one.losses == pytest.approx(fitted(tmp_path / "free", data=ragged).losses, abs=2e-6)


def test_the_halved_budget_outlives_a_kill(tmp_path: Path) -> None:
    even = features(60, shortest=9, longest=9)
    options: dict[str, Any] = {"data": even, "dropout": 0.1, "wrap": room_for(25), "checkpoint_seconds": -1.0}
    unbroken = fitted(tmp_path / "unbroken", **options)
    with pytest.raises(Killed):
        fitted(tmp_path / "broken", report=killed_after(9), **options)
    again = fitted(tmp_path / "broken", **options)
    assert again.training.micro_tokens == 20
    assert difference(unbroken, again) == 0.0


def test_one_unit_that_does_not_fit_is_an_error_that_says_so(tmp_path: Path) -> None:
    data = features(60, shortest=9, longest=9)
    with pytest.raises(FitError, match="single unit of 10 tokens: use a shorter max_length"):
        fitted(tmp_path, data=data, wrap=room_for(9))


def test_other_errors_are_not_taken_for_a_lack_of_memory(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes do not match"):
        fitted(tmp_path, wrap=room_for(9, lambda tokens: RuntimeError("shapes do not match")))


# Divergence


def not_finite_at(call: int, value: float) -> Callable[[Model], Model]:
    def wrap(model: Model) -> Model:
        calls = 0

        def counted(batch: FlatBatch) -> torch.Tensor:
            nonlocal calls
            calls += 1
            return model(batch) * (value if calls == call else 1.0)

        return counted

    return wrap


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_a_number_ends_the_fit_with_its_step(tmp_path: Path, value: float) -> None:
    steps: list[int] = []
    one = fitted(tmp_path, wrap=not_finite_at(6, value), report=lambda step, _: steps.append(step))
    assert one.training.diverged == 6
    assert steps == [1, 2, 3, 4, 5]
    assert [line["step"] for line in one.lines] == [1, 2, 3, 4, 5, 6]
    assert one.lines[-1]["loss"] in ("nan", "inf")


def test_a_fit_that_ends_well_did_not_diverge(tmp_path: Path) -> None:
    assert fitted(tmp_path).training.diverged is None


# The head and the prediction loop


def test_fresh_heads_come_from_the_seed_and_are_cut_at_two_deviations() -> None:
    shape = HeadShape("sequence", 500)
    first, again, other = (LinearHead(64, shape, seed=seed).output.weight for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert first.abs().max() <= 0.04 and 0.016 < first.std().item() < 0.019  # a cut normal is narrower than 0.02
    assert not LinearHead(64, shape, seed=1).output.bias.any()


def test_a_head_over_sequences_answers_in_the_order_of_the_units_and_one_over_tokens_in_the_batchs() -> None:
    data, encoder = features(9), TinyEncoder()
    head = LinearHead(12, MOOD.head, seed=1)
    units = np.array([5, 0, 8, 3])
    together = head(encoder, collate(data, units, CPU))
    alone = torch.cat([head(encoder, collate(data, np.array([unit]), CPU)) for unit in units])
    torch.testing.assert_close(together, alone)
    batch = collate(data, units, CPU)
    assert LinearHead(12, HeadShape("token", 3), seed=1)(encoder, batch).shape == (len(batch.tokens), 3)


@pytest.mark.parametrize("micro_tokens", [1, 30, 10_000])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_predictions_stand_in_the_order_of_the_rows_however_they_were_computed(
    micro_tokens: int, precision: str
) -> None:
    data, encoder = features(40), TinyEncoder(dropout=0.5)
    head = LinearHead(12, MOOD.head, seed=1)
    nn.init.normal_(head.output.weight, generator=torch.Generator().manual_seed(1))
    seen: list[tuple[int, int]] = []
    found = predict(
        lambda batch: head(encoder, batch),
        data,
        CPU,
        level="sequence",
        precision=precision,
        micro_tokens=micro_tokens,
        report=lambda done, total: seen.append((done, total)),
    )
    alone = [head(encoder, collate(data, np.array([unit]), CPU)).detach() for unit in range(40)]
    assert found.dtype == np.float32 and found.shape == (40, 2)
    near = 1e-5 if precision == "fp32" else 0.1
    np.testing.assert_allclose(found, torch.cat(alone).numpy(), atol=near)
    assert seen[-1] == (40, 40)


def test_dropout_is_drawn_for_each_step_and_each_part_of_it() -> None:
    """What makes a fit that goes on draw what the unbroken one drew."""
    places = [(4, 0, 0), (4, 0, 1), (4, 1, 0)]
    masks = [Dropout(*place)(torch.ones(512), 0.5, "head") for place in places]
    assert not any(torch.equal(one, other) for at, one in enumerate(masks) for other in masks[at + 1 :])


def test_a_memory_mapped_features_folder_trains_like_the_arrays(tmp_path: Path) -> None:
    data = features(60)
    (tmp_path / "features").mkdir()
    data.save(tmp_path / "features")
    mapped = fitted(tmp_path / "mapped", data=Features.open(tmp_path / "features"))
    assert difference(mapped, fitted(tmp_path / "arrays", data=data)) == 0.0
    assert replace(data).units == 60
