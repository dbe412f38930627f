"""`compare --study` refuses wrong arguments and faulty study files before it builds anything."""

import pytest

from kitchen import STUDY, Kitchen

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


REFUSED: dict[str, tuple[list[str], str]] = {
    "backbones": (["words"], "and --systems and --columns choose from it: leave backbones out."),
    "tasks": (["--tasks", "mood"], "The study study.toml says what is compared and shown"),
    "method": (["--method", "features"], "The study study.toml says which methods are used"),
    "metric": (["--select-by", "accuracy"], "In the study study.toml, the metric of each column selects"),
    "parameter": (["--set", "dough=rye"], "study.toml has no parameter 'dough' (did you mean doughs?). Its"),
    "system": (["--systems", "rie"], "has no system 'rie'. Did you mean rye? It has: rye, spelt"),
    "column": (["--columns", "cost"], "has no column 'cost'. Did you mean crust or loss? It has: taste, crust, loss"),
    "scale": (["--scale", "crum"], "There is no scale 'crum'. Did you mean crumb? The scales of study.toml: crumb"),
    "unread": (["--set", "stride=3"], "The option stride is for tasks that mark answers in long texts: no fit"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_study_arguments_are_refused_before_making_anything(name: str, kitchen: Kitchen) -> None:
    words, reason = REFUSED[name]
    assert reason in kitchen.refused(*words)
    assert kitchen.made() == []


FAULTY = {
    "no such task": ('task = "mood"', 'task = "moods"', "column taste: There is no task 'moods'. Did you mean mine/mo"),
    "no such metric": ('metric = "matthews"', 'metric = "f1"', "column crust: mine/mood has no metric 'f1'; it has"),
    "unknown split": ('task = "mood"', 'task = "mood"\nsplit = "tset"', "no split 'tset'; it has train, dev"),
    "no data": ('task = "mood"', 'task = "pairs"', "column taste: No data for mine/pairs"),
    "no such method": ('"features"\n', '"feature"\n', "There is no method 'feature'. Did you mean features"),
    "bad option": ('lr = "2e-3"', 'lr = "low"', "study.toml: column taste: lr must be a number from 0 up, not 'low'"),
    "bad option of a stage": (
        'make = "bake rye out/rye {more}"',
        'first = {task = "mood", recipe = {lr = "low"}}\nmake = "bake rye out/rye {more}"',
        ": first: lr must be a number from 0 up, not 'low'",
    ),
    "unknown column of a stage": (
        'make = "bake rye out/rye {more}"',
        'first = {task = "mood", columns = ["tast"]}\nmake = "bake rye out/rye {more}"',
        ": first: columns: study.toml has no column 'tast'. Did you mean taste? It has: taste, crust, loss",
    ),
    "bad command": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'make = "bark rye out/bread"\nbackbone = "out/bread"',
        "system rye (sliced): This command cannot work: benchrunner bark rye out/bread\n"
        "benchrunner: there is no command 'bark'. Did you mean bake?",
    ),
    "command that refuses": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'make = "bake stone out/bread"\nbackbone = "out/bread"',
        "system rye (sliced): This command cannot work: benchrunner bake stone out/bread\n"
        "benchrunner: stones cannot be baked",
    ),
    "no such backbone": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'backbone = "out/wheat"',
        "system rye (sliced): There is no backbone 'out/wheat'",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_study_entries_are_refused_before_making_anything(name: str, kitchen: Kitchen) -> None:
    old, new, reason = FAULTY[name]
    (kitchen.folder / "study.toml").write_text(STUDY.replace(old, new, 1))
    error = kitchen.refused()
    assert reason in error
    assert error.count("study.toml") <= 1
    assert name != "no data" or "\nTo leave this column out, name the others: --columns A,B.\n" in error
    assert kitchen.made() == []


def test_compare_says_which_argument_is_missing(kitchen: Kitchen) -> None:
    for words, reason in (
        ([], "Give the backbones, before --tasks: all words after it are tasks. Write 'compare B1"),
        (["words"], "Give --tasks. Write "),
        (["words", "--tasks", "mood", "--set", "a=b"], "There is no parameter 'a'. Known: "),
        (["words", "--tasks", "mood", "--scale", "tiny"], "Without --study, no study file is named: leave scale out."),
        (["words", "--tasks", "mood", "--systems", "a"], "no study file is named: leave systems out."),
        (["--study", "stuudy"], "There is no study 'stuudy'"),
    ):
        code, out, err = kitchen(*words)
        assert (code, out) == (2, "") and reason in err
