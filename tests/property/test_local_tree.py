"""No path and no link leads a `LocalTree` out of its root, or makes it raise anything but `OSError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuinv.host import LocalTree

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.property

OUTSIDE = b"outside the root"
NAMES = ("file", "link", "other", "directory", "secret")
parts = st.sampled_from((*NAMES, "..", ".", "", "root"))
paths = st.lists(parts, max_size=12).map(lambda some: "/" + "/".join(some))
targets = st.lists(parts, min_size=1, max_size=6).map("/".join).filter(bool) | paths


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("tree")
    (base / "secret").write_bytes(OUTSIDE)
    directory = base / "root" / "directory"
    directory.mkdir(parents=True)
    for path in (base / "root" / "file", directory / "file"):
        path.write_bytes(b"inside")
    return base


def point(link: Path, target: str) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


@given(target=targets, other=targets, path=paths | st.text().map("/".__add__) | st.text())
def test_nothing_outside_is_ever_read(place: Path, target: str, other: str, path: str) -> None:
    root = place / "root"
    point(root / "link", target)
    point(root / "directory" / "other", other)
    point(root / "directory" / "link", f"{place}/secret")
    tree = LocalTree(root)
    for method in (tree.read, tree.list, tree.link, tree.exists):
        try:
            answer = method(path)
        except OSError:
            continue
        assert answer != OUTSIDE
        if method == tree.list:
            assert answer in (("directory", "file", "link"), ("file", "link", "other"))
