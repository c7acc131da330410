from __future__ import annotations

import pytest

from gpuinv.errors import ParseError
from gpuinv.smi.query_help import HelpField, QueryHelp, parse_help_query_gpu

HELP = """List of valid properties to query for the switch "--query-gpu":

"timestamp"
When the query was made.

"uuid" or "gpu_uuid" or "third_name"
The identity.

Section about compute properties
About the section, and none of its fields.

"compute_mode"
One or many.
"0: Default" means many.
"1: Alone", as a value.
"two words"
"""


def test_fields_with_their_aliases_and_descriptions() -> None:
    assert parse_help_query_gpu(HELP.encode()) == QueryHelp(
        fields=(
            HelpField(field_name="timestamp", description="When the query was made."),
            HelpField(field_name="uuid", aliases=("gpu_uuid", "third_name"), description="The identity."),
            HelpField(
                field_name="compute_mode",
                description='One or many.\n"0: Default" means many.\n"1: Alone", as a value.\n"two words"',
            ),
        )
    )


def test_every_name_may_be_asked_for() -> None:
    assert parse_help_query_gpu(HELP).names == {"timestamp", "uuid", "gpu_uuid", "third_name", "compute_mode"}


@pytest.mark.parametrize(
    "text", ["", "Failed to initialize NVML: Unknown Error", HELP.replace("--query-gpu", "--query-compute-apps")]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="field"):
        parse_help_query_gpu(text)
