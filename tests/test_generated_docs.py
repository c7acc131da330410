"""The reference pages are whole: every form is explained, every public name is there.

`test_goldens` keeps their generated tables current.
"""

from __future__ import annotations

import re

import pytest

import gpuinv
import gpuinv.host
import gpuinv.inventory
import gpuinv.testing
from gpuinv.smi.fields import FIELDS
from tests import goldens, reference_pages

API = (reference_pages.REFERENCE / "api.md").read_text(encoding="utf-8")
PUBLIC = sorted(
    {
        *gpuinv.__all__,
        *gpuinv.host.__all__,
        *gpuinv.inventory.__all__,
        *gpuinv.testing.__all__,
    }
)
NO_OBJECTS = {"Section"}  # a name for annotations only


@pytest.mark.parametrize("path", reference_pages.PAGES)
def test_every_page_is_a_golden(path: str) -> None:
    assert path in goldens.GOLDENS


def test_every_form_of_value_is_explained() -> None:
    page = reference_pages.FIELD_REFERENCE.read_text(encoding="utf-8")
    assert not {field.reader.form for field in FIELDS if f"\n| {field.reader.form} |" not in page}


def test_every_form_of_text_is_explained() -> None:
    page = reference_pages.CANONICAL.read_text(encoding="utf-8")
    forms = {name.partition(": ")[2] for name in reference_pages.SCALARS.values()} - {""}
    assert not {form for form in forms if f"\n| {form} |" not in page}


def test_a_field_has_one_source() -> None:
    filled = {target for field in FIELDS for target in field.targets}
    assert not filled & set(reference_pages.ELSEWHERE)


def test_the_api_page_has_every_public_name() -> None:
    named = set(re.findall(r"^\.\. auto\w+:: [\w.]+\.(\w+)$", API, re.MULTILINE))
    assert not set(PUBLIC) - named - NO_OBJECTS
