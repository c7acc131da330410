from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# `ci` finds the same examples each time, so that a run that passed passes again; `long` looks for new ones.
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The whole hosts and the files that were written for these tests."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The captured outputs of real hosts, which are not part of the project."""
    directory = os.environ.get("GPUINV_CORPUS")
    if not directory:
        pytest.skip("GPUINV_CORPUS is not set: no captured outputs to read")
    path = Path(directory)
    assert path.is_dir(), f"GPUINV_CORPUS={directory} is not a directory"
    return path
