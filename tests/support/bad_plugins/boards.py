"""Plugins whose leaderboards and named recipes are wrong."""

from collections.abc import Iterator

from bad_plugins.case import SET_ASIDE, Case, registered, wrong

RECIPES = {"with unknown fields": "{'learning': 1}", "without values": "None"}
"""What is wrong in a recipe -> its values."""


def cases() -> Iterator[Case]:
    """Give a leaderboard without a URL, and recipes with wrong values."""
    kind = "Table(('id', 'mood'), Labels({'glad': '1', 'sad': '0'}))"
    file = f"BoardFile('m.tsv', 'mine/mood', 'test', rows=20, kind={kind})"
    board = f"[Leaderboard('b', 'B', None, 'b.zip', files=({file},))]"
    yield wrong("board without a url", registered(board, "leaderboards"), SET_ASIDE)
    for name, values in RECIPES.items():
        recipe = f"[NamedRecipe(name='r', about='r', source='r', values={values})]"
        yield wrong(f"recipe {name}", registered(recipe, "recipes"), SET_ASIDE)
