from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpuinv.errors import IssueKind, ParseError
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from gpuinv.smi.smi_version import SmiVersion, parse_smi_version
from gpuinv.versions import DriverVersion

if TYPE_CHECKING:
    from pathlib import Path


def test_four_versions() -> None:
    text = "NVIDIA-SMI version  : 550.54.04\nNVML version        : 550.54\nDRIVER version      : 550.54.04\n"
    assert parse_smi_version(f"{text}CUDA Version        : 12.4\n") == SmiVersion(
        smi_version=DriverVersion("550.54.04"),
        nvml_version="550.54",
        driver_version=DriverVersion("550.54.04"),
        cuda_driver_version="12.4",
    )


def test_the_driver_of_wsl_is_another_and_err_is_no_version() -> None:
    found = parse_smi_version(
        b"NVIDIA-SMI version  : 545.46\r\nNVML version : 545.46\r\nDRIVER version : 546.80\r\nCUDA Version : ERR!\r\n"
    )
    assert found.driver_version == DriverVersion("546.80")
    assert found.nvml_version == "545.46"
    assert found.cuda_driver_version is Missing.ERROR
    assert [(issue.kind, issue.place, issue.text) for issue in found.issues] == [
        (IssueKind.READ_ERROR, "line 4", "CUDA Version : ERR!")
    ]


def test_deprecated_lines_refer_to_others() -> None:
    found = parse_smi_version(
        'NVIDIA-SMI version : 611.10\nDRIVER version : Deprecated, see "KMD version" instead\n'
        'CUDA version : Deprecated, see "CUDA UMD version" instead\nKMD version : 611.10\nCUDA UMD version : 13.4\n'
    )
    assert found == SmiVersion(
        smi_version=DriverVersion("611.10"), driver_version=DriverVersion("611.10"), cuda_driver_version="13.4"
    )


def test_the_new_lines_stand_in_for_old_ones_that_are_gone() -> None:
    found = parse_smi_version("KMD version : 700.1\nCUDA UMD version : 14.0\n")
    assert (found.driver_version, found.cuda_driver_version) == (DriverVersion("700.1"), "14.0")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('Deprecated, see "Other version" instead', Missing.DEPRECATED),
        ("[N/A]", Missing.NOT_SUPPORTED),
        ("", Missing.NOT_AVAILABLE),
        ("soon", Missing.ERROR),
    ],
)
def test_a_line_without_a_version_says_why(value: str, reason: Missing) -> None:
    assert parse_smi_version(f"DRIVER version : {value}\n").driver_version is reason
    assert parse_smi_version(f"NVML version : {value}\n").nvml_version is reason


def test_other_lines_are_issues_and_the_first_of_two_stands() -> None:
    found = parse_smi_version("WARNING: noise\nDRIVER version : 1.2\nDRIVER version : 3.4\n")
    assert found.driver_version == DriverVersion("1.2")
    assert [(issue.kind, issue.place) for issue in found.issues] == [(IssueKind.TEXT_AROUND, "line 1")]


@pytest.mark.parametrize("text", ["", "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n"])
def test_no_version_is_no_answer(text: str) -> None:
    with pytest.raises(ParseError, match="no version"):
        parse_smi_version(text)


@pytest.mark.parametrize("host", ["dgx-a100-mig", "workstation-rtx-5090", "wsl2-rtx-5090"])
def test_it_agrees_with_the_snapshot(fixtures_dir: Path, host: str) -> None:
    smi = fixtures_dir / "nvidia-smi" / host / "smi"
    found = parse_smi_version((smi / "version.txt").read_bytes())
    snapshot = parse_smi_xml((smi / "q-x.xml").read_bytes())
    assert found.driver_version == snapshot.driver_version
    assert found.cuda_driver_version == snapshot.cuda_driver_version
    assert found.issues == ()
