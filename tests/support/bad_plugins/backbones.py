"""Plugins whose backbones and families of backbones are wrong."""

from collections.abc import Iterator

from bad_plugins.case import RUN, SET_ASIDE, Case, registered, wrong
from bad_plugins.places import FAMILY

BACKBONE = (
    "class B(Backbone):\n    name, about = 'bad/b', 'b'\n    {}\n    def revision(self, workspace): return ''\n"
    "    def load(self, workspace, *, seed): ...\n" + registered("[OneBackbone(B(), lambda folder: None)]", "backbones")
)
FIELDS = {
    "about None": "about = None",
    "about that fails": "about = property(lambda self: 1 / 0)",
    "name None": "name = None",
}
"""What is changed in a backbone -> the line of its class."""


def family(listed: str, result: str) -> str:
    """Write a family that lists and finds these values."""
    return FAMILY.format(f"def listed(self): return {listed}", f"def find(self, reference, workspace): return {result}")


def cases() -> Iterator[Case]:
    """Give backbones with wrong fields, and families with wrong results."""
    for name, line in FIELDS.items():
        yield wrong(f"backbone with {name}", BACKBONE.format(line), SET_ASIDE)
    yield wrong("family that lists None", family("None", "None"), SET_ASIDE)
    yield wrong("family that lists texts", family("['a']", "None"), SET_ASIDE)
    yield wrong(
        "family that finds a text",
        family("[]", "'a'") + registered("[task()]"),
        "The plugin 'bad' failed on x/y",
        (*RUN, "--method", "finetune", "--backbone", "x/y"),
        (2,),
    )
