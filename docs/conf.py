"""Configuration of the documentation site, built without network: ``python -m sphinx -W -b html docs site``.

The pages are Markdown that is also readable on a git host. This module adds what only a site has: mathematics becomes
MathML, links to files outside of docs/ become their names, and commands and functions are read from the code.
"""

import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import assocpriv

project, author, copyright = "assocpriv", "the assocpriv developers", "the assocpriv developers"  # noqa: A001
version = release = assocpriv.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
smartquotes = False  # the two hyphens of an option are not a dash
html_theme = "pydata_sphinx_theme"
html_title = "assocpriv"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("_static") / "scorer.js")
html_theme_options = {
    "navbar_center": [],  # all pages are in the sidebar
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["pages.html"]}
autodoc_typehints = "none"  # signatures already have them
autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # methods that scikit-learn adds to estimators, with references to its own pages
    "exclude-members": ", ".join(
        f"set_{name}_request" for name in ("fit", "predict", "predict_proba", "score", "transform")
    ),
}
napoleon_use_rtype = False
_OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\((?:\.\./)+((?:bench|examples|clients|tests)[^)#]*)(?:#[^)]*)?\)")


def _name_files(_app: Sphinx, _document: str, source: list[str]) -> None:
    """Replace links to files of the repository that are not pages by the files' names."""

    def name(found: re.Match[str]) -> str:
        text, path = found[1].strip("`"), found[2]
        return f"`{path}`" if text.rstrip("/") == path.removesuffix("README.md").rstrip("/") else f"{text} (`{path}`)"

    source[0] = _OUTSIDE.sub(name, source[0])


class _Options(SphinxDirective):
    """List the options of a command, including advanced ones: ``{options} module:command``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a definition list."""
        command = resolve_name(self.arguments[0])
        context, options = click.Context(command), nodes.definition_list()
        for option in command.params:
            option.hidden = False
            if isinstance(option, click.Option) and (record := option.get_help_record(context)):
                term = nodes.term("", "", nodes.literal(text=record[0]))
                options += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph(text=record[1])))
        also = ", ".join(f"--{name}" for name in command.taken)
        return [options, nodes.paragraph(text=f"Also {also + ', ' if also else ''}-q and -v, as in all commands.")]


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the extensions of this module."""
    app.connect("source-read", _name_files)
    app.add_directive("options", _Options)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


html_math_renderer = "mathml"
