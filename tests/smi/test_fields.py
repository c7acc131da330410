"""The field table, and the trie that is compiled from it."""

from __future__ import annotations

import attrs
import pytest

import gpuinv.values as v
from gpuinv.inventory import Gpu, GpuSample
from gpuinv.readings import Missing
from gpuinv.smi import _trie
from gpuinv.smi._trie import Leaf, Node, Special, choose, compile_shape
from gpuinv.smi.fields import FIELDS, NOUNS, ROOTS, Field, nested_record


def test_every_field_says_what_it_means() -> None:
    assert all(field.meaning for field in FIELDS)


def test_a_place_has_one_form_of_value() -> None:
    forms: dict[tuple[str, str], set[str]] = {}
    for field in FIELDS:
        for path in field.paths:
            forms.setdefault((field.root, path), set()).add(field.reader.form)
    assert {place: found for place, found in forms.items() if len(found) > 1} == {}


def test_every_target_is_a_field_of_a_noun_of_its_root() -> None:
    for field in FIELDS:
        for target in field.targets:
            noun, *names = target.split(".")
            assert noun in ROOTS[field.root]
            cls = NOUNS[noun]
            for name in names[:-1]:
                cls = nested_record(cls, name)
            assert names[-1] in {attribute.name for attribute in attrs.fields(cls)}


def test_a_target_is_filled_by_one_row() -> None:
    targets = [target for field in FIELDS for target in field.targets]
    assert len(targets) == len(set(targets))


def test_a_nested_record_may_be_a_reading() -> None:
    @attrs.frozen
    class Outer:
        plain: Gpu
        maybe: GpuSample | Missing

    assert nested_record(Gpu, "mig_mode").__name__ == "MigMode"
    Outer.__annotations__.update(plain=Gpu, maybe=GpuSample | Missing)
    assert nested_record(Outer, "plain") is Gpu
    assert nested_record(Outer, "maybe") is GpuSample


@pytest.mark.parametrize("paths", [("serial", "serial/inner"), ("serial/inner", "serial")])
def test_a_value_cannot_contain_another(monkeypatch: pytest.MonkeyPatch, paths: tuple[str, str]) -> None:
    rows = tuple(Field("gpu", (path,), v.TEXT, ("Gpu.serial",)) for path in paths)
    monkeypatch.setattr(_trie, "FIELDS", rows)
    with pytest.raises(TypeError):
        compile_shape("gpu")


def test_the_trie_knows_its_paths_and_every_value_below_a_container() -> None:
    shape = compile_shape("gpu", "processes")
    children = shape.trie.children
    assert isinstance(children["processes"], Special)
    pci, uuid = children["pci"], children["uuid"]
    assert isinstance(pci, Node)
    assert isinstance(uuid, Leaf)
    assert (pci.path, uuid.path) == ("gpu/pci/", "gpu/uuid")
    assert {leaf.path for leaf in pci.leaves} >= {
        "gpu/pci/pci_bus_id",
        "gpu/pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    }
    assert len(shape.trie.leaves) == len({path for field in FIELDS if field.root == "gpu" for path in field.paths})


@pytest.mark.parametrize(
    ("any_yes", "readings", "expected"),
    [
        (False, [(0, 1), (1, 2)], 1),
        (False, [(1, 2), (0, 1)], 1),
        (False, [(2, 3), (1, 2)], 2),
        (False, [(0, Missing.ERROR), (1, 2)], 2),
        (False, [(1, 2), (0, Missing.ERROR)], 2),
        (False, [(0, Missing.ERROR), (1, Missing.ABSENT)], Missing.ERROR),
        (False, [(1, Missing.ABSENT), (0, Missing.ERROR)], Missing.ERROR),
        (False, [(0, 1), (0, 2)], 1),
        (True, [(0, False), (1, True)], True),
        (True, [(1, True), (0, False)], True),
        (True, [(1, False), (0, False)], False),
        (True, [(0, True), (1, Missing.ERROR)], True),
        (True, [(0, Missing.ERROR), (1, False)], False),
    ],
)
def test_which_of_several_places_a_field_is_read_from(
    any_yes: bool,  # noqa: FBT001
    readings: list[tuple[int, object]],
    expected: object,
) -> None:
    leaf = Leaf("gpu/x", v.TEXT.read, [], any_yes)
    bags: _trie.Bags = [{}]
    ranks: dict[tuple[int, str], int] = {}
    for rank, value in readings:
        choose(leaf, (0, "x", rank), value, bags, ranks)
    assert bags[0]["x"] == expected
