"""Pages of HTML from templates: every text is escaped, and style and scripts are inside the page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def page_environment(*packages: str, shown: Callable[[str], str] = str) -> Environment:
    """Return an environment for the templates of packages, of which the first with a template's name has it.

    Every text is escaped, and `shown` may change every text that is no HTML yet.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalized(value: Any) -> Any:
        return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalized,
    )


def inside(environment: Environment, styles: Iterable[str], scripts: Iterable[str]) -> dict[str, Markup | str]:
    """Return the style and the script of a page, with the hash by which the page's security policy allows the script.

    `styles` and `scripts` name files among the templates.
    """
    from markupsafe import Markup

    script = "".join(_source(environment, name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = "".join(_source(environment, name) for name in styles)
    return {"style": Markup(style), "script": Markup(script), "script_hash": digest}


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    text, *_ = environment.loader.get_source(environment, name)
    return text
