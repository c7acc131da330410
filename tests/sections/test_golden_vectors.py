"""The frozen vectors of the canonical form.

Hashes of this form are stored by those who use it. A vector that fails here is a change of the form: it needs a
decision record in docs/decisions/ before the file is touched. New vectors may be added by hand.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from gpuinv.inventory import SECTION_NAMES, SECTION_TYPES, OpaqueSection, Section
from gpuinv.readings import Missing
from gpuinv.sections._structure import structure
from gpuinv.sections.canonical import canonical_bytes
from gpuinv.sections.seal import seal, verify

VECTORS: list[dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("data", "canonical_vectors.json").read_text("ascii")
)["vectors"]
every_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])


def section_of(vector: dict[str, Any]) -> Section:
    if "input_base64" in vector:
        return OpaqueSection(vector["section_name"], base64.b64decode(vector["input_base64"], validate=True))
    section: Section = structure(vector["input"], SECTION_TYPES[vector["section_name"]])
    return section


def canonical_of(vector: dict[str, Any]) -> bytes:
    if "canonical_base64" in vector:
        return base64.b64decode(vector["canonical_base64"], validate=True)
    text: str = vector["canonical"]
    return text.encode()


@every_vector
def test_the_input_has_exactly_these_bytes_and_this_hash(vector: dict[str, Any]) -> None:
    assert canonical_bytes(section_of(vector)) == canonical_of(vector)
    sealed = seal(section_of(vector))
    assert (sealed.name, sealed.sha256) == (vector["section_name"], vector["sha256"])


@every_vector
def test_the_bytes_verify_and_are_their_own_canonical_form(vector: dict[str, Any]) -> None:
    content = canonical_of(vector)
    assert hashlib.sha256(content).hexdigest() == vector["sha256"]
    assert canonical_bytes(verify(vector["section_name"], content, vector["sha256"])) == content


@pytest.mark.parametrize("vector", [each for each in VECTORS if "canonical" in each], ids=lambda vector: vector["name"])
def test_the_text_is_rfc_8785_by_another_implementation(vector: dict[str, Any]) -> None:
    assert rfc8785.dumps(json.loads(vector["canonical"])) == vector["canonical"].encode()


def test_the_vectors_cover_every_section_and_every_reason() -> None:
    assert {vector["section_name"] for vector in VECTORS} == set(SECTION_NAMES)
    inputs = json.dumps([vector.get("input") for vector in VECTORS])
    assert all(f'"reason": "{reason.value}"' in inputs for reason in Missing)
    assert len({vector["name"] for vector in VECTORS}) == len(VECTORS)
    assert all(vector["why"].endswith((".", ")")) for vector in VECTORS)
