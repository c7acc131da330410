"""What an import loads: nothing that its user did not ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "gpuinv"
EXTRAS = {"click", "hypothesis", "pytest", "rich", "yaml"}

# The rooms that verify, diff and judge: they work where lxml was never loaded.
RULES = [
    room
    for room in ("naming", "kernel", "xid", "sections", "cdi", "health", "control", "kubernetes")
    if (PACKAGE / room / "__init__.py").is_file()
]


def top_level_modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after the statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in answer.stdout.split()}


def test_the_root_package_loads_no_dependency() -> None:
    loaded = top_level_modules_after("import gpuinv")
    assert "gpuinv" in loaded
    assert loaded.isdisjoint({"lxml", "cattrs", *EXTRAS})


@pytest.mark.parametrize("room", RULES)
def test_a_room_of_rules_loads_neither_lxml_nor_an_extra(room: str) -> None:
    loaded = top_level_modules_after(f"import gpuinv.{room}")
    assert loaded.isdisjoint({"lxml", *EXTRAS})
