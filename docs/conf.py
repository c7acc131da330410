"""How Sphinx builds these pages: `nox -s docs`, where every warning is an error."""

import inspect
from importlib.metadata import version as installed_version
from typing import Any

import attrs
from sphinx.application import Sphinx

project = "gpuinv"
author = "The gpuinv contributors"
version = release = installed_version("gpuinv")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

default_role = "literal"  # docstrings write `code` as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
myst_heading_anchors = 3
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"gpuinv {release}"

_COLON = "\ue000"


def _fields(cls: type[Any]) -> list[attrs.Attribute[Any]]:
    """The fields of a record that say their meaning in their metadata."""
    return [field for field in attrs.fields(cls) if "doc" in field.metadata] if attrs.has(cls) else []


def _describe_fields(_app: Sphinx, what: str, _name: str, obj: object, _options: object, lines: list[str]) -> None:
    """Add a record's fields to its docstring: type, meaning, unit."""
    fields = _fields(obj) if what == "class" and isinstance(obj, type) else []
    if fields:
        bases = reversed(inspect.getmro(obj))  # type: ignore[arg-type] # a class, as it has fields
        types = {name: text for base in bases for name, text in inspect.get_annotations(base).items()}
        lines += ["", "Attributes:"]
    for field in fields:
        unit = f" Unit: {field.metadata['unit']}." if field.metadata.get("unit") else ""
        lines.append(f"    {field.name} ({types[field.name]}): {field.metadata['doc']}{unit}")


def _hide_signature(
    _app: Sphinx, what: str, _name: str, obj: object, _options: object, _signature: str, _returns: str
) -> tuple[str, str] | None:
    """A record's fields stand below it, so that its signature would only repeat them."""
    return ("", "") if what == "class" and isinstance(obj, type) and _fields(obj) else None


def _hide_colons(_app: Sphinx, what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Keep napoleon from taking the words before the first colon of an attribute's docstring for its type."""
    if what in {"attribute", "data", "property"}:
        lines[:] = [line.replace(":", _COLON) for line in lines]


def _show_colons(_app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    lines[:] = [line.replace(_COLON, ":") for line in lines]


def setup(app: Sphinx) -> None:
    """Connect the above; napoleon reads the docstrings at priority 500."""
    app.connect("autodoc-process-docstring", _describe_fields, priority=400)
    app.connect("autodoc-process-docstring", _hide_colons, priority=400)
    app.connect("autodoc-process-docstring", _show_colons, priority=600)
    app.connect("autodoc-process-signature", _hide_signature)
