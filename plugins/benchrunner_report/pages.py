"""Pages of HTML from templates: every text is escaped, and style and scripts are inside the page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from benchrunner import Recipe
from benchrunner.results import comparison
from benchrunner_report.drawings import series
from benchrunner_report.drawings.frame import Frame
from benchrunner_report.gathering import duration

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(
    package: str, styles: Iterable[str] = (), scripts: Iterable[str] = (), shown: Callable[[str], str] = str
) -> Environment:
    """Return an environment for the templates of a package, which may use and replace the templates of reports.

    Every text is escaped, and `shown` may change every text that is no HTML yet. `styles` and `scripts` name templates
    that stand inside each page, as `style` and `script`; the page's security policy allows the script by `script_hash`.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalized(value: Any) -> Any:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("benchrunner_report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalized,
    )
    style = "".join(_source(environment, name) for name in styles)
    script = "".join(_source(environment, name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals |= {"style": Markup(style), "script": Markup(script), "script_hash": digest}
    environment.globals |= {"framed": Frame, "outline": series.outline, "look": series.look}
    environment.filters |= {"large": comparison.prefixed, "duration": duration, "recipe": _shown_recipe}
    return environment


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    text, *_ = environment.loader.get_source(environment, name)
    return text


def _shown_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a recipe that a page shows: those that differ from the defaults, and some always."""
    shown = {name: getattr(recipe, name) for name in ("lr", "epochs", "batch_size", "max_length", "precision")}
    return shown | recipe.as_json()
