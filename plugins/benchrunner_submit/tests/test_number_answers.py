"""Numbers as answers in files for boards: clipped, rounded, and refused if not finite."""

import pytest

from benchrunner_submit.file_kinds.spellings import Number


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (2.34567, "2.346"),
        (-3.0, "0.000"),
        (-0.0, "0.000"),
        (7, "5.000"),
        (4.9999, "5.000"),
        (1e-9, "0.000"),
        (5e300, "5.000"),
    ],
)
def test_numbers_are_clipped_and_rounded(answer: float, text: str) -> None:
    assert Number(0, 5, 3).write(answer) == text


@pytest.mark.parametrize(
    ("answer", "text"), [(0, "0.0"), (-0.0, "0.0"), (1e-20, "1e-20"), (1 / 3, repr(1 / 3)), (2, "1.0")]
)
def test_without_decimals_a_number_keeps_all_of_its_own(answer: float, text: str) -> None:
    assert Number(0, 1).write(answer) == text and Number(0, 1).advice(text) is None


def test_a_small_negative_number_is_not_written_as_minus_zero() -> None:
    assert Number(-1, 1, 2).write(-0.001) == "0.00"


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), float("-inf"), None, "warm"])
def test_what_is_no_finite_number_is_not_written(answer: object) -> None:
    with pytest.raises(ValueError, match="expected a finite number"):
        Number(0, 5, 3).write(answer)
