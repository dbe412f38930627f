"""A dataclass declares its fields once: checks, texts, options and help follow."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError, UnknownName
from benchrunner.parameters.declared import Declared, name_value_pairs, parameter, parameters_of


@dataclass(frozen=True)
class Cluster(Declared):
    address: str = parameter("local", "where it runs", read_by="clusters")
    max_retries: int = parameter(3, "attempts after the first", at_least=0)
    memory: float | None = parameter(None, "memory in GB", float, above=0)
    logs: Path | None = parameter(None, "folder of the logs", Path)
    files: str = parameter("shared", "way of the files", choices=("shared", "returned"), option="way")
    ports: tuple[int, ...] = parameter((80, 443), "ports", int, at_most=65_535, separator="/")
    strict: bool = parameter(False, "refuse what is not known")
    label: str = ""


def test_texts_become_values_of_the_kinds_of_the_fields() -> None:
    texts = {"max-retries": "5", "memory": "2.5", "logs": "a b", "files": "returned", "strict": "Yes", "ports": "1/2"}
    assert Cluster.read(texts) == Cluster("local", 5, 2.5, Path("a b"), "returned", (1, 2), True)
    assert Cluster.read({"max_retries": "1", "strict": "off"}) == Cluster(max_retries=1)
    assert Cluster.read({}) == Cluster()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("adress", "x", "There is no executor option 'adress'. Did you mean address?"),
        ("max-retries", "many", "The executor option max-retries must be a whole number from 0 up, not 'many'."),
        ("max-retries", "-1", "The executor option max-retries must be a whole number from 0 up, not -1."),
        ("memory", "nan", "The executor option memory must be a number above 0, not nan."),
        ("files", "returnd", "The executor option files must be one of shared, returned, not 'returnd'. Did you mean "),
        ("ports", "1/", "The executor option ports must be a whole number up to 65,535, not '1/'."),
        ("strict", "maybe", "The executor option strict must be true or false, not 'maybe'."),
    ],
)
def test_a_wrong_text_is_an_error_in_one_sentence(name: str, text: str, reason: str) -> None:
    with pytest.raises(RequestError) as raised:
        Cluster.read({name: text}, "executor option")
    assert str(raised.value).startswith(reason)
    assert isinstance(raised.value, UnknownName) == (name == "adress")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max_retries", 1.5, "max_retries must be a whole number from 0 up, not 1.5."),
        ("max_retries", True, "max_retries must be a whole number from 0 up, not True."),
        ("max_retries", -(10**4), "max_retries must be a whole number from 0 up, not -10,000."),
        ("memory", float("inf"), "memory must be a number above 0, not inf."),
        ("ports", 80, "ports must be a tuple, each part a whole number up to 65,535, not 80."),
        ("logs", "folder", "logs must be a path, not 'folder'."),
        ("address", None, "address must be a text, not None."),
    ],
)
def test_a_wrong_value_is_refused_where_it_is_built(name: str, value: Any, reason: str) -> None:
    with pytest.raises(RequestError) as raised:
        Cluster(**{name: value})
    assert str(raised.value).startswith(reason)


def test_a_whole_number_becomes_the_number_that_is_asked_for() -> None:
    assert type(Cluster(memory=2).memory) is float


def test_only_changes_from_the_defaults_are_listed() -> None:
    assert Cluster(max_retries=3, memory=2).changes() == {"memory": 2.0}


def options(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    Cluster.add_options(parser)
    return Cluster.given(parser.parse_args(words))


def test_options_give_the_values_that_users_write() -> None:
    assert options() == {}
    words = ("--max-retries", "5", "--way", "returned", "--ports", "1/2", "--strict")
    assert options(*words) == {"max_retries": 5, "files": "returned", "ports": (1, 2), "strict": True}
    assert options("--no-strict")["strict"] is False
    with pytest.raises(argparse.ArgumentError, match=r"--ports must be a whole number up to 65,535, not 'x'\."):
        options("--ports", "1/x")


def test_help_says_who_reads_an_option_and_its_default() -> None:
    parser = argparse.ArgumentParser(formatter_class=lambda prog: argparse.HelpFormatter(prog, width=120))
    Cluster.add_options(parser)
    text = parser.format_help()
    for line in (
        "--address NAME        where it runs (local); for clusters",
        "--way {shared,returned}",
        "--ports N/N           ports (80/443)",
        "--memory X            memory in GB\n",
    ):
        assert line in text
    parameters_of(Cluster)["address"].show_in(parser.add_argument_group("by --set"))
    assert "by --set:\n  address               where it runs (local); for clusters" in parser.format_help()


def test_words_are_split_at_their_first_equals_sign() -> None:
    assert name_value_pairs(["a=b=c", "d="], "--set") == {"a": "b=c", "d": ""}
    for words, reason in ((["a"], "takes NAME=VALUE, not 'a'"), (["=b"], "takes NAME"), (["a=1", "a=2"], "a twice")):
        with pytest.raises(RequestError, match=reason):
            name_value_pairs(words, "--set")
