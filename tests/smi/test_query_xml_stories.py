"""Whole documents as they have misled other programs: each told once, from the bytes to the right facts."""

from __future__ import annotations

from gpuinv.errors import IssueKind
from gpuinv.inventory import MigMode
from gpuinv.readings import Missing
from gpuinv.smi.query_xml import parse_smi_xml
from tests.smi import xml_builder as build


def test_a_new_driver_that_renames_deprecates_and_fails() -> None:
    gpu = build.gpu(
        display_mode=build.DEPRECATED,
        persistence_mode="Enabled",
        serial="Unknown Error",
        minor_number="Unknown Error",
        gpu_power_readings={
            "power_state": build.DEPRECATED,
            "average_power_draw": "8.81 W",
            "instant_power_draw": "8.44 W",
            "current_power_limit": "70.00 W",
            "requested_power_limit": "70.00 W",
        },
    )
    snapshot = parse_smi_xml(build.document(gpu, driver_version="610.12"))
    found, sample = snapshot.gpus[0], snapshot.samples[0]
    assert found.serial is found.minor_number is Missing.ERROR
    assert found.power_limits.current_power_limit_mw == 70000
    assert sample.power.power_draw_mw == 8810
    assert found.persistence_mode is True
    (issue,) = snapshot.issues
    assert (issue.kind, issue.text) == (IssueKind.READ_ERROR, "Unknown Error")
    assert issue.place == "gpu[0]/minor_number, gpu[0]/serial"


def test_a_reset_that_is_due_while_every_counter_is_zero() -> None:
    none: build.Tree = {
        "volatile": build.split_sram(0, 0, 0, 0, 0),
        "aggregate": build.split_sram(0, 0, 0, 0, 0),
        "channel_repair_pending": "No",
        "tpc_repair_pending": "Yes",
        "unrepairable_memory": "No",
    }
    rows: build.Tree = {
        "remapped_row_corr": "0",
        "remapped_row_unc": "0",
        "remapped_row_pending": "No",
        "remapped_row_failure": "No",
    }
    older: build.Tree = {"volatile": build.sram_dram(0, 0, 0, 0)}
    snapshot = parse_smi_xml(
        build.document(
            build.gpu(1, gpu_recovery_action="Reset", ecc_errors=none, remapped_rows=rows),
            build.gpu(
                2, ecc_errors=older, remapped_rows={**rows, "remapped_row_unc": "4", "remapped_row_pending": "Yes"}
            ),
        )
    )
    due, pending = snapshot.gpus
    assert due.gpu_recovery_action == "Reset"
    assert due.ecc_errors.volatile.uncorrected_total == 0
    assert (due.ecc_errors.channel_repair_pending, due.ecc_errors.tpc_repair_pending) == (False, True)
    assert due.ecc_errors.unrepairable_memory is False
    assert due.remapped_rows.row_remap_pending is False
    assert pending.gpu_recovery_action is Missing.ABSENT
    assert pending.remapped_rows.remapped_row_unc == 4
    assert (pending.remapped_rows.row_remap_pending, pending.remapped_rows.row_remap_failure) == (True, False)
    assert snapshot.issues == ()


def test_mig_of_a_driver_that_prints_neither_uuids_nor_profiles() -> None:
    gpu = build.gpu(
        product_name="A100-PCIE-40GB",
        mig_mode={"current_mig": "Enabled", "pending_mig": "Enabled"},
        mig_devices={"mig_device": [build.mig_device(7, 0), build.mig_device(8, 0, index=1)]},
        remapped_rows="N/A",
    )
    snapshot = parse_smi_xml(build.document(gpu, driver_version="460.73.01"))
    found = snapshot.gpus[0]
    assert found.product_name == "A100-PCIE-40GB"
    assert [(mig.gpu_instance_id, mig.mig_uuid, mig.mig_profile) for mig in found.mig_instances] == [  # type: ignore[union-attr]
        (7, Missing.ABSENT, Missing.ABSENT),
        (8, Missing.ABSENT, Missing.ABSENT),
    ]
    assert found.remapped_rows.row_remap_failure is Missing.HIDDEN_BY_MIG


def test_mig_that_is_on_with_nothing_to_use() -> None:
    mode: build.Tree = {"current_mig": "Enabled", "pending_mig": "Enabled"}
    found = parse_smi_xml(build.document(build.gpu(mig_mode=mode, mig_devices="None"))).gpus[0]
    assert found.mig_mode == MigMode(current_mig=True, pending_mig=True)
    assert found.mig_instances == ()


def test_gpus_of_one_host_that_disagree_about_their_fabric() -> None:
    def fabric(state: str, status: str, clique: str, cluster: str, summary: str = "N/A") -> build.Tree:
        return {
            "state": state,
            "status": status,
            "cliqueId": clique,
            "clusterUuid": cluster,
            "health": {"summary": summary, "bandwidth": "Full"},
        }

    fabrics = [
        fabric("Completed", "Success", "0", build.NO_CLUSTER),
        fabric("Completed", "Insufficient Resources", "0", build.NO_CLUSTER),
        fabric("Completed", "Success", "32766", "00112233-4455-6677-8899-aabbccddeeff", "Healthy"),
        fabric("Completed", "Success", "2", build.CLUSTER, "Unhealthy"),
        fabric("In Progress", "N/A", "N/A", "N/A"),
        fabric("N/A", "N/A", "N/A", "N/A"),
    ]
    gpus = [build.gpu(number, fabric=fabric) for number, fabric in enumerate(fabrics, 1)]
    found = [gpu.fabric for gpu in parse_smi_xml(build.document(*gpus)).gpus]
    none = Missing.NOT_SUPPORTED
    assert [fabric.clique for fabric in found] == [
        none,
        none,
        ("00112233-4455-6677-8899-aabbccddeeff", 32766),
        (build.CLUSTER, 2),
        Missing.NOT_AVAILABLE,
        none,
    ]
    assert [fabric.status for fabric in found[:2]] == ["Success", "Insufficient Resources"]
    assert [fabric.state for fabric in found[3:]] == ["Completed", "In Progress", none]
    assert [fabric.health.summary for fabric in found[2:4]] == ["Healthy", "Unhealthy"]
