"""Pages of the documentation's site that are no files of docs/: read-mes, and references of public names (MkDocs hook).

Links to files of the repository become links to pages of the site, or to the repository if the site has no such page.
"""

import ast
import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_LINKS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
READ_MES = [*sorted(ROOT.glob("plugins/*/README.md")), *ROOT.glob("leaderboards/*/README.md")]
PLUGINS = {file.parent.name.removeprefix("benchrunner_"): file for file in READ_MES}
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{str(file.relative_to(ROOT)): f"plugin/{name}.md" for name, file in PLUGINS.items()},
}
"""File of the repository -> page of the site; those below docs/ keep their names."""
REFERENCES = {
    "benchrunner": ROOT / "benchrunner/__init__.pyi",
    "engine": ROOT / "benchrunner/engine.pyi",
    "results": ROOT / "benchrunner/results.pyi",
    "checkpoints": ROOT / "plugins/benchrunner_checkpoints/__init__.pyi",
    "clusters": ROOT / "plugins/benchrunner_clusters/__init__.pyi",
    "kinds": ROOT / "plugins/benchrunner_kinds/__init__.pyi",
    "statistics": ROOT / "plugins/benchrunner_statistics/__init__.pyi",
    "tasks": ROOT / "plugins/benchrunner_tasks/__init__.pyi",
    "submit": ROOT / "plugins/benchrunner_submit/__init__.pyi",
    "testing": ROOT / "plugins/benchrunner_kit/testing/__init__.py",
}
"""Page of public names -> the file that imports them."""
_TITLES = {
    "benchrunner": "benchrunner",
    "checkpoints": "benchrunner_checkpoints",
    "clusters": "benchrunner_clusters",
    "kinds": "benchrunner_kinds",
    "statistics": "benchrunner_statistics",
    "submit": "benchrunner_submit",
    "tasks": "benchrunner_tasks",
    "testing": "benchrunner_kit.testing",
}
_OTHER_WORKER = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"(?<=\]\()(?!https?:)([^)#\s]*)(#[^)\s]*)?(?=\))")
_NAMED = re.compile(r"(?<!\[)`((?:docs|plugins|leaderboards)/[\w./-]+\.md|[A-Z]+\.md)`(?!\])")
_DRAWING = re.compile(r"```mermaid\n(.*?)```\n", re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are no files of docs/."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, file in REFERENCES.items():
        files.append(File.generated(config, f"api/{name}.md", content=reference(name, file)))
    return files


def on_config(config: Any) -> Any:
    """List the read-mes of all plugins in the navigation."""
    for section in config["nav"]:
        if "First-party plugins" in section:
            section["First-party plugins"] = [f"plugin/{name}.md" for name in sorted(PLUGINS)]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to pages of the site, and write drawings as tables: their library would need a network."""
    source = next((file for file, here in PAGES.items() if here == page.file.src_uri), f"docs/{page.file.src_uri}")
    folder = posixpath.dirname(source)

    folder_here = posixpath.dirname(page.file.src_uri) or "."

    def from_here(path: str) -> str:
        aim = PAGES.get(path, path.removeprefix("docs/"))
        if path not in PAGES and not (path.startswith("docs/") and path.endswith((".md", ".png"))):
            return f"{_LINKS['Homepage']}/blob/main/{path}"
        return posixpath.relpath(aim, folder_here)

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1])) if match[1] else ""
        return (from_here(path) if path else "") + (match[2] or "")

    def named(match: re.Match[str]) -> str:
        return f"[{match[0]}]({from_here(match[1])})" if (ROOT / match[1]).is_file() else match[0]

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    for number in range(0, len(parts), 2):
        text = _LINK.sub(link, parts[number]).replace(_LINKS["Documentation"], "SITE/")
        text = re.sub(r"SITE/([\w/]+)\.html", lambda match: from_here(f"docs/{match[1]}.md"), text)
        parts[number] = _NAMED.sub(
            named, text.replace("SITE/", posixpath.relpath("index.md", posixpath.dirname(page.file.src_uri) or "."))
        )
    return _DRAWING.sub(drawn, "".join(parts))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Let the search on pages that are read from disk use the site's own script, not one of another server."""
    folder = posixpath.dirname(page.file.src_uri) or "."
    return output.replace(_OTHER_WORKER, posixpath.relpath("site_worker.js", folder))


def on_post_template(output: str, **_: Any) -> str:
    """Let the page for absent addresses load nothing from another server."""
    return output.replace(_OTHER_WORKER, "/benchrunner/site_worker.js")


def drawn(match: re.Match[str]) -> str:
    """Write a drawing of arrows as a table: what imports what."""
    titles = dict(re.findall(r'(\w+)\["([^"]*)"\]', match[1]))
    arrows: dict[str, list[str]] = {}
    for importer, imported in re.findall(r"^ *(\w+)(?:\[.*?\])? --> (\w+)", match[1], re.MULTILINE):
        arrows.setdefault(titles.get(importer, importer), []).append(titles.get(imported, imported))
    rows = [f"| {importer} | {', '.join(imported)} |" for importer, imported in arrows.items()]
    return "\n".join(["| package | imports |", "| --- | --- |", *rows]) + "\n"


def reference(name: str, file: Path) -> str:
    """Write the page of a list of public names, grouped by the package that defines them."""
    title = _TITLES.get(name, f"benchrunner.{name}")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                groups.setdefault(_package(str(node.module)), []).append(f"{node.module}.{alias.asname or alias.name}")
    text = f"# {title}\n\n{ast.get_docstring(ast.parse(_code(file).read_text(encoding='utf-8')))}\n"
    for group in sorted(groups):
        text += f"\n## {group}\n\n"
        for own in sorted(groups[group], key=lambda own: own.rsplit(".", 1)[1].lower()):
            text += f"::: {own}\n\n"
    return text


def _code(file: Path) -> Path:
    """Return the module beside a stub."""
    return file.with_suffix(".py")


def _package(module: str) -> str:
    """Return the name of the package that a module is in, below the top."""
    return module.split(".")[1] if "." in module else module
