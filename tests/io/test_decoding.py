"""Dataclasses are read from TOML and JSON and written to JSON; every mistake names file and key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from benchrunner.errors import DataError, RequestError
from benchrunner.io.decoding import Table, decoded, from_json
from benchrunner.io.json_files import read_toml
from benchrunner.io.json_form import WHEN_GIVEN, Mistake, as_json, fields_json, key_of


@dataclass(frozen=True)
class Spice:
    name: str
    grams: float
    kind: Literal["seed", "leaf"] = "seed"


@dataclass(frozen=True)
class Oven:
    degrees: int

    def __post_init__(self) -> None:
        if self.degrees > 300:
            raise RequestError(f"An oven has at most 300 degrees, not {self.degrees}.")


@dataclass(frozen=True)
class Fraction:
    """Written as a text of its own."""

    over: int
    under: int

    def as_json(self) -> dict[str, Any]:
        return {"text": f"{self.over}/{self.under}"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fraction:
        over, _, under = data["text"].partition("/")
        return cls(int(over), int(under))


@dataclass(frozen=True)
class Dish:
    name: str
    minutes: int
    spices: tuple[Spice, ...] = field(default=(), metadata=key_of("spice", "herb"))
    oven: Oven | None = None
    share: Fraction | None = None
    tastes: Mapping[str, float] = field(default_factory=dict)
    guests: Mapping[int, str] = field(default_factory=dict)
    drinks: Mapping[str, Spice] = field(default_factory=dict)
    size: tuple[int, str] = (1, "pan")
    words: Sequence[str] = ()
    amount: int | float | str = 1
    is_hot: bool = False
    picture: Path | None = None
    notes: Any = None
    parts: tuple[Dish, ...] = ()


@dataclass(frozen=True)
class Wine:
    kind: str
    years: int = field(default=0, metadata=WHEN_GIVEN)


DISH = """
name = "curry"
minutes = 30
is_hot = true
oven = {degrees = 200}
tastes = {sweet = 1, sour = 2.5}
guests = {4 = "four"}
words = ["a", "b"]
[[spice]]
grams = 2
name = "cumin"
[[spice]]
grams = 0.5
name = "bay"
kind = "leaf"
[drinks.chai]
name = "cardamom"
grams = 1
"""


def read(folder: Path, text: str) -> Dish:
    path = folder / "dish.toml"
    path.write_text(text)
    return decoded(Dish, read_toml(path, RequestError), path, RequestError)


def test_keys_of_a_file_become_fields(tmp_path: Path) -> None:
    assert read(tmp_path, DISH) == Dish(
        name="curry",
        minutes=30,
        spices=(Spice("cumin", 2.0), Spice("bay", 0.5, "leaf")),
        oven=Oven(200),
        tastes={"sweet": 1.0, "sour": 2.5},
        guests={4: "four"},
        drinks={"chai": Spice("cardamom", 1.0)},
        words=("a", "b"),
        is_hot=True,
    )


MISTAKES = {
    "missing": ("minutes = 30", "", "minutes: is missing; expected a whole number."),
    "missing inside": ("grams = 2", "", "[[spice]] 1 (cumin): grams: is missing; expected a number."),
    "empty": ('name = "curry"', 'name = ""', "name: must not be empty."),
    "misspelled": ("minutes", "minuts", "minutes: is missing"),
    "unknown": ("grams = 2", "grams = 2\ngram = 3", "[[spice]] 1 (cumin): gram: is not a key of this table. Did you"),
    "known": ("grams = 1", "grams = 1\nxyz = 3", "drinks.chai.xyz: is not a key of this table. Known here: grams"),
    "text for a number": ("grams = 0.5", 'grams = "x"', "[[spice]] 2 (bay): grams: expected a number, found text"),
    "number for a text": ('name = "bay"', "name = 5", "[[spice]] 2 (5): name: expected text, found a whole number: 5."),
    "truth for a number": ("minutes = 30", "minutes = true", "minutes: expected a whole number, found true or false"),
    "fraction": ("minutes = 30", "minutes = 30.0", "minutes: expected a whole number, found a number: 30.0."),
    "number for truth": ("is_hot = true", "is_hot = 1", "is_hot: expected true or false, found a whole number: 1."),
    "infinite": ("sour = 2.5", "sour = inf", "tastes.sour: expected a finite number, found inf."),
    "no number": ("sour = 2.5", "sour = nan", "tastes.sour: expected a finite number, found nan."),
    "too many digits": ("sour = 2.5", f"sour = {2**53 + 1}", "tastes.sour: 9007199254740993 has more digits"),
    "too large": ("sour = 2.5", f"sour = 1{'0' * 400}", "tastes.sour: expected a finite number, found inf"),
    "no choice": ('"leaf"', '"root"', "[[spice]] 2 (bay): kind: expected 'seed' or 'leaf', found text: 'root'."),
    "no whole key": ("{4 = ", "{four = ", "guests.four: expected a whole number as key."),
    "texts": ('["a", "b"]', '["a", 5]', "words: entry 2: expected text, found a whole number: 5."),
    "no texts": ('["a", "b"]', '"a"', "words: expected a list of texts, found text: 'a'."),
    "no table": ("{degrees = 200}", "200", "oven: expected a table, found a whole number: 200."),
    "wrong in itself": ("degrees = 200", "degrees = 999", "oven: An oven has at most 300 degrees, not 999."),
    "wrong count": ("is_hot = true", "size = [1]", "size: expected 2 entries, found 1: [1]."),
    "wrong amount": ("is_hot = true", "amount = []", "amount: expected a whole number or a number or text, found a"),
    "date": ("minutes = 30", "minutes = 2020-01-01", "minutes: expected a whole number, found date:"),
    "long key": ("is_hot", "m" * 100, f"'{'m' * 75}...': is not a key of this table."),
}


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_names_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DISH
    with pytest.raises(RequestError, match=re.escape(message)) as error:
        read(tmp_path, DISH.replace(old, new, 1))
    assert str(error.value).startswith(f"{tmp_path / 'dish.toml'}: ")


FULL = Dish(
    name="",
    minutes=-3,
    spices=(Spice("cumin", 2.0),),
    oven=Oven(100),
    share=Fraction(1, 3),
    tastes={"sweet": 0.1},
    guests={-4: "four"},
    drinks={"chai": Spice("cardamom", 1e-300, "leaf")},
    size=(2, "pot"),
    words=("",),
    amount=2.0,
    is_hot=True,
    picture=Path("a/b.png"),
    notes={"any": [1, None, {"deep": "value"}]},
    parts=(Dish("inner", 1, parts=(Dish("innermost", 2),)),),
)


@pytest.mark.parametrize("dish", [FULL, Dish("plain", 0)], ids=["full", "plain"])
@pytest.mark.parametrize("defaults", [True, False])
def test_reading_is_the_inverse_of_writing(dish: Dish, defaults: bool) -> None:
    text = json.dumps(as_json(dish, defaults=defaults), allow_nan=False)
    read = from_json(Dish, json.loads(text), "dish.json")
    assert read == dish
    assert type(read.amount) is type(dish.amount)


def test_fields_at_their_defaults_may_be_left_out() -> None:
    dish = Dish("plain", 0, parts=(Dish("inner", 1),))
    assert as_json(dish, defaults=False) == {"name": "plain", "minutes": 0, "parts": [{"name": "inner", "minutes": 1}]}
    assert as_json(Wine("red")) == {"kind": "red"} and as_json(Wine("red", 5)) == {"kind": "red", "years": 5}
    assert as_json(Spice("cumin", 2)) == {"name": "cumin", "grams": 2, "kind": "seed"}


def test_a_class_may_have_its_own_form() -> None:
    assert as_json({"share": Fraction(1, 3)}) == {"share": {"text": "1/3"}}
    assert fields_json(Fraction(1, 3)) == {"over": 1, "under": 3}
    with pytest.raises(DataError, match=re.escape("dish.json: share: invalid literal for int")):
        from_json(Dish, {"name": "", "minutes": 1, "share": {"text": "x"}}, "dish.json")


def test_a_key_without_value_is_no_value_of_its_type() -> None:
    with pytest.raises(DataError, match=re.escape("dish.json: name: expected text, found null: None.")):
        from_json(Dish, {"name": None, "minutes": 1}, "dish.json")
    with pytest.raises(DataError, match=re.escape("dish.json: expected a table, found a list: [].")):
        from_json(Dish, [], "dish.json")


def test_values_that_json_cannot_hold_are_refused() -> None:
    with pytest.raises(Mistake, match=re.escape("a.b: expected a finite number, found nan.")):
        as_json({"a": {"b": [math.nan]}})
    with pytest.raises(Mistake, match=re.escape("grams: expected a finite number, found -inf.")):
        as_json(Spice("cumin", -math.inf))
    with pytest.raises(Mistake, match=re.escape("a: JSON has no set, found {1, 2}.")):
        as_json({"a": {1, 2}})
    with pytest.raises(DataError, match=re.escape("here: notes.a: JSON has no set, found {1}. Mend it.")):
        from_json(Dish, {"name": "", "minutes": 1, "notes": {"a": {1}}}, "here", advice="Mend it.")


def test_a_field_may_be_made_from_several_keys() -> None:
    def spice(table: Table) -> Spice:
        return Spice(table.value("of", str), table.value("grams", float)) if "of" in table else table.made(Spice)

    @dataclass(frozen=True)
    class Pot:
        spice: object
        lid: bool
        origin: str

    def pot(data: Mapping[str, Any]) -> Pot:
        return decoded(Pot, data, "pot.toml", RequestError, {object: spice}, origin="here")

    assert pot({"lid": True, "of": "bay", "grams": 1}) == Pot(Spice("bay", 1.0), True, "here")
    assert pot({"lid": True, "name": "bay", "grams": 1}) == Pot(Spice("bay", 1.0), True, "here")
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"lid": True, "of": "bay"}, "grams: is missing; expected a number."),
        ({"lid": True, "of": "bay", "grams": 1, "name": "x"}, "name: is not a key of this table."),
        ({"lid": True, "of": "bay", "grams": 1, "origin": "x"}, "origin: is not a key of this table."),
    ]
    for data, message in mistakes:
        with pytest.raises(RequestError, match=re.escape(f"pot.toml: {message}")):
            pot(data)


FAULTS = {
    "no file": (None, "cannot be read: No such file"),
    "no TOML": (b"name = curry", "not valid TOML: Invalid value (at line 1, column 8)."),
    "no text": (b"\xff", "is it a TOML file?"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_file_that_is_no_toml_is_an_error(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "dish.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RequestError, match=re.escape(message)) as error:
        read_toml(path, RequestError)
    assert str(error.value).startswith(f"{path}:")
