"""The golden files of the project: `python -m tests.goldens` writes them, `--check` says which differ.

A golden is a file that the code made and a person read. To add one, give its path, from the root of the checkout, and
the function that makes its text.
"""

from __future__ import annotations

import difflib
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpuinv.host.gpus import read_gpus
from gpuinv.sections.seal import decoded_view, seal
from gpuinv.testing import replay
from tests import reference_pages
from tests.cli import hosts
from tests.cli.outputs import OUTPUTS
from tests.cli.running import gpuinv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["GOLDENS", "ROOT", "difference", "main"]

ROOT = Path(__file__).parents[1]
_SHOWN = "tests/cli/golden"


def expected(name: str) -> str:
    """What a whole host comes to: its section decoded, the hash of its bytes, the issues met."""
    snapshot = read_gpus(replay(hosts.FIXTURES / name))
    sealed = seal(snapshot.section)
    content = {
        "section": decoded_view(sealed),
        "sha256": sealed.sha256,
        "issues": [str(issue) for issue in snapshot.issues],
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def inventory_page(name: str, width: int) -> str:
    return gpuinv("inventory", "--replay", hosts.FIXTURES / name, width=width).text


def samples_page(name: str, width: int) -> str:
    return gpuinv("samples", "--replay", hosts.FIXTURES / name, width=width).text


def page_of(host: Callable[[Path], Path], width: int) -> str:
    """What a person sees of a host that is made for it, standard error last."""
    with tempfile.TemporaryDirectory() as directory:
        outcome = gpuinv("inventory", "--replay", host(Path(directory)), width=width)
    return outcome.text + outcome.stderr


def parsed_page(kind: str) -> str:
    return gpuinv("parse", kind, "-", stdin=OUTPUTS[kind]).text


GOLDENS: dict[str, Callable[[], str]] = {
    **{f"fixtures/nvidia-smi/{name}/expected.json": partial(expected, name) for name in hosts.HOSTS},
    **{
        f"{_SHOWN}/{name}.{width}.txt": partial(inventory_page, name, width)
        for name in hosts.HOSTS
        for width in (80, 120)
    },
    f"{_SHOWN}/troubled.80.txt": partial(page_of, hosts.troubled_host, 80),
    f"{_SHOWN}/troubled.120.txt": partial(page_of, hosts.troubled_host, 120),
    f"{_SHOWN}/without-smi.80.txt": partial(page_of, hosts.without_smi, 80),
    f"{_SHOWN}/stopped-driver.80.txt": partial(page_of, hosts.stopped_driver, 80),
    **{f"{_SHOWN}/samples-{name}.80.txt": partial(samples_page, name, 80) for name in hosts.HOSTS},
    f"{_SHOWN}/samples-dgx-a100-mig.120.txt": partial(samples_page, "dgx-a100-mig", 120),
    **{f"{_SHOWN}/parse-{kind}.80.txt": partial(parsed_page, kind) for kind in OUTPUTS},
    **reference_pages.PAGES,
}


def difference(path: str) -> str:
    """What would change in a golden, as a unified diff; empty where it is current."""
    file = ROOT / path
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    made = GOLDENS[path]()
    return "".join(
        difflib.unified_diff(there.splitlines(keepends=True), made.splitlines(keepends=True), path, "made now")
    )


def main(argv: Sequence[str]) -> int:
    """Write every golden, or with `--check` only say what differs: exit code 1."""
    differences = {path: text for path in GOLDENS if (text := difference(path))}
    sys.stdout.write("".join(differences.values()))
    if "--check" in argv:
        return int(bool(differences))
    for path in differences:
        file = ROOT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(GOLDENS[path](), encoding="utf-8")
    sys.stdout.write(f"{len(GOLDENS)} golden files, {len(differences)} of them written anew\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
