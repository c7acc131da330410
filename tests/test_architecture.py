"""What the rooms of gpuinv may import and call, read off their syntax trees.

import-linter checks which room imports which; here stands what it cannot see: calls, `from gpuinv import x`, and
imports of the standard library.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = Path(__file__).parents[1] / "src"
MODULES = sorted(SRC.rglob("*.py"))

OUTER_ROOMS = {"host", "testing", "cli"}  # they may touch the machine
FACES = {"testing", "cli"}  # they may import everything, the root package too

MACHINE_MODULES = (
    {"os", "io", "open", "pathlib", "shutil", "tempfile", "fcntl"}
    | {"subprocess", "socket", "select", "signal", "threading", "asyncio"}
    | {"time", "random", "logging"}
)
MACHINE_CALLS = {"open", "input", "print"}
CLOCK_METHODS = {"now", "utcnow", "today"}  # of datetime and date, however they were imported

# Third-party modules and the only places that import them, as a prefix of the module's name.
OWNERS = {
    "click": "gpuinv.cli",
    "hypothesis": "gpuinv.testing",
    "lxml": "gpuinv.smi.query_xml",
    "pytest": "gpuinv.testing",
    "rich": "gpuinv.cli",
    "yaml": "gpuinv.cdi",
}


def module_name(path: Path) -> str:
    """The dotted name; a package keeps its `__init__`, so that relative imports count the same from every file."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def imported(tree: ast.AST, module: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, relative and dynamic ones included."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=name, level=0):
                yield node.lineno, name or ""
            case ast.ImportFrom(module=name, level=level):
                package = module.split(".")[:-level]
                yield node.lineno, ".".join([*package, name] if name else package)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def called(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every call that touches the machine or asks the clock."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in MACHINE_CALLS:
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCK_METHODS:
                yield node.lineno, name


def violations(source: str, module: str) -> list[str]:
    """Every breach of the rules in one module, as `module:line: what`."""
    tree = ast.parse(source)
    room = module.split(".")[1]
    found = []
    for line, name in imported(tree, module):
        top = name.partition(".")[0]
        if room not in OUTER_ROOMS and top in MACHINE_MODULES:
            found.append((line, f"imports {name}"))
        if room not in FACES and name == "gpuinv":
            found.append((line, "imports the root package"))
        if top in OWNERS and not f"{module}.".startswith(f"{OWNERS[top]}."):
            found.append((line, f"imports {name}, which belongs to {OWNERS[top]}"))
    if room not in OUTER_ROOMS:
        found += [(line, f"calls {name}()") for line, name in called(tree)]
    return [f"{module}:{line}: {what}" for line, what in sorted(found)]


def test_there_are_modules_to_check() -> None:
    assert MODULES


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_keeps_the_rules(path: Path) -> None:
    assert violations(path.read_text(encoding="utf-8"), module_name(path)) == []


@pytest.mark.parametrize(
    ("source", "breach"),
    [
        ("import os", "imports os"),
        ("import os.path as p", "imports os.path"),
        ("from time import monotonic", "imports time"),
        ("def f():\n    import random", "imports random"),
        ("if TYPE_CHECKING:\n    from pathlib import Path", "imports pathlib"),
        ("importlib.import_module('logging')", "imports logging"),
        ("import_module('socket')", "imports socket"),
        ("__import__('subprocess')", "imports subprocess"),
        ("open('/proc/stat')", "calls open()"),
        ("x = input()", "calls input()"),
        ("print(1)", "calls print()"),
        ("datetime.now(tz=UTC)", "calls now()"),
        ("datetime.datetime.utcnow()", "calls utcnow()"),
        ("date.today()", "calls today()"),
        ("import gpuinv", "imports the root package"),
        ("from gpuinv import seal", "imports the root package"),
        ("from .. import seal", "imports the root package"),
        ("import lxml.etree", "imports lxml.etree, which belongs to gpuinv.smi.query_xml"),
        ("from rich import table", "imports rich, which belongs to gpuinv.cli"),
        ("import click", "imports click, which belongs to gpuinv.cli"),
        ("import yaml", "imports yaml, which belongs to gpuinv.cdi"),
        ("import pytest", "imports pytest, which belongs to gpuinv.testing"),
    ],
)
def test_checker_sees(source: str, breach: str) -> None:
    assert [found.partition(": ")[2] for found in violations(source, "gpuinv.smi.topology")] == [breach]


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import os\nopen('x')\ndatetime.now()", "gpuinv.host.files"),
        ("from gpuinv import seal\nimport pytest", "gpuinv.testing.plugin"),
        ("import click\nfrom rich import table\nprint(1)", "gpuinv.cli.main"),
        ("import lxml.etree", "gpuinv.smi.query_xml"),
        ("import yaml", "gpuinv.cdi.files"),
        ("import json\nfrom importlib import resources", "gpuinv.xid.catalog"),
        ("from gpuinv.smi import records\nfrom . import records", "gpuinv.smi.topology"),
        ("def f(now, opened):\n    return now, opened.open", "gpuinv.health.findings"),
        ("timestamp = 'time'", "gpuinv.kernel.kmsg"),
    ],
)
def test_checker_lets_pass(source: str, module: str) -> None:
    assert violations(source, module) == []


def test_checker_reads_relative_imports_of_a_package() -> None:
    assert violations("from . import seal", "gpuinv.smi.__init__") == []
    (found,) = violations("from .. import seal", "gpuinv.smi.__init__")
    assert found == "gpuinv.smi.__init__:1: imports the root package"
