"""The project's checks, one session each; plain `nox` runs all of them but `bench` and `live`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # a Python that is not on the machine is a skip that shows
nox.options.sessions = ["lint", "types", "layers", "tests", "property", "corpus", "docs"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PYPROJECT = nox.project.load_toml("pyproject.toml")

# Rooms whose every line and branch is covered: text goes in here, and facts that others trust come out.
FULLY_COVERED = [
    "src/gpuinv/errors.py",
    "src/gpuinv/ids.py",
    "src/gpuinv/kernel/*",
    "src/gpuinv/naming/*",
    "src/gpuinv/readings.py",
    "src/gpuinv/sections/*",
    "src/gpuinv/smi/*",
    "src/gpuinv/text.py",
    "src/gpuinv/values.py",
    "src/gpuinv/versions.py",
]


def _runs(interpreter: str | Path, version: str) -> bool:
    """Whether it starts and is of that version: a shim of pyenv's is on PATH even where it refuses to run."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([interpreter, "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.stdout.strip() == version


def _find(version: str) -> Path | None:
    """Return a working interpreter of that version, from PATH or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    name = f"python{version}"
    candidates = [shutil.which(name), *sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"))]
    return next((Path(each) for each in candidates if each and _runs(each, version)), None)


FOUND = {version: path for version in PYTHONS if (path := _find(version))}
MEASURED = next(iter(FOUND), None)  # coverage is measured on one Python

# nox looks interpreters up on PATH; pyenv's versions go to its end, so that nothing else changes its meaning.
os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *(str(path.parent) for path in FOUND.values())])


def _group(name: str) -> tuple[str, ...]:
    """Return the requirements of a dependency group of pyproject.toml."""
    return nox.project.dependency_groups(PYPROJECT, name)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff: rules and format."""
    session.install(*_group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict, over the library, its tests and its tools."""
    session.install(*PYPROJECT["project"]["dependencies"], *_group("lint"))
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Import-linter: which room may import which."""
    session.install(*_group("lint"))
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": "src"})


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Pytest on every Python found, with coverage on one; arguments after `--` go to pytest, without coverage."""
    session.install(".", *_group("tests"))
    pytest = ["pytest", "-m", "not corpus and not live"]
    if session.python != MEASURED or session.posargs:
        session.run(*pytest, *session.posargs)
        return
    session.run("coverage", "erase")
    # Not pytest-cov: a plugin of ours is imported before it starts, and the lines run by then would count as missed.
    session.run("coverage", "run", "-m", *pytest)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")
    session.run("coverage", "report", "--fail-under=100", f"--include={','.join(FULLY_COVERED)}")


@nox.session
def property(session: nox.Session) -> None:  # noqa: A001 - the session's name
    """Run the hypothesis suites, with far more examples than `tests` takes."""
    session.install(".", *_group("tests"))
    session.run(
        "pytest", "-m", "property and not corpus and not live", *session.posargs, env={"HYPOTHESIS_PROFILE": "long"}
    )


@nox.session
def corpus(session: nox.Session) -> None:
    """Read every captured output below $GPUINV_CORPUS."""
    if not os.environ.get("GPUINV_CORPUS"):
        session.skip("GPUINV_CORPUS is not set: no captured outputs to read")
    session.install(".", *_group("tests"))
    session.run("pytest", "-m", "corpus", *session.posargs)


@nox.session
def live(session: nox.Session) -> None:
    """Read the GPUs of this machine; without nvidia-smi the tests are skipped, and say so."""
    session.install(".", *_group("tests"))
    session.run("pytest", "-m", "live", "-s", "tests/live", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Sphinx, warnings as errors, into docs/_build."""
    session.install(".[cli,cdi,testing]", *_group("docs"))
    session.run("sphinx-build", "-W", "--keep-going", "-E", "-b", "html", "docs", "docs/_build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """Compare the benchmarks with their budgets."""
    session.install(".[cli,cdi,testing]", *_group("bench"))
    session.run("python", "-m", "benchmarks.run", *session.posargs)
