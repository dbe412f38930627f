"""Settings are read from texts by the types of a dataclass; a mistake is answered with what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from benchrunner import RequestError, UnknownName
from benchrunner.parameters.text_settings import name_value_pairs
from benchrunner.results import read_settings


@dataclass(frozen=True)
class Cluster:
    address: str = "local"
    max_retries: int = 3
    memory: float | None = None
    logs: Path | None = None
    files: Literal["shared", "returned"] = "shared"
    strict: bool = False

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise RequestError("max_retries must be at least 0.")


def test_texts_become_values_of_the_types_of_the_fields() -> None:
    texts = {"max-retries": "5", "memory": "2.5", "logs": "a b", "files": "returned", "strict": "Yes"}
    assert read_settings(Cluster, texts) == Cluster("local", 5, 2.5, Path("a b"), "returned", True)
    assert read_settings(Cluster, {"max_retries": "1", "strict": "off"}) == Cluster(max_retries=1)
    assert read_settings(Cluster, {}) == Cluster()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("adress", "x", "There is no executor option 'adress'. Did you mean address?"),
        ("max-retries", "many", "The executor option max-retries: 'many' is not a whole number."),
        ("memory", "much", "The executor option memory: 'much' is not a number."),
        ("files", "returnd", "The executor option files: there is no choice 'returnd'. Did you mean returned?"),
        ("strict", "maybe", "The executor option strict: 'maybe' is neither yes nor no."),
        ("max-retries", "-1", "max_retries must be at least 0."),
    ],
)
def test_a_wrong_setting_is_an_error_in_one_sentence(name: str, text: str, reason: str) -> None:
    with pytest.raises(RequestError) as raised:
        read_settings(Cluster, {name: text}, "executor option")
    assert str(raised.value) == reason
    assert isinstance(raised.value, UnknownName) == (name == "adress")


def test_words_are_split_at_their_first_equals_sign() -> None:
    assert name_value_pairs(["a=b=c", "d="], "--set") == {"a": "b=c", "d": ""}
    for words, reason in ((["a"], "takes NAME=VALUE, not 'a'"), (["=b"], "takes NAME"), (["a=1", "a=2"], "a twice")):
        with pytest.raises(RequestError, match=reason):
            name_value_pairs(words, "--set")
