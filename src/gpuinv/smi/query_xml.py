"""`nvidia-smi -q -x`: one tolerant reader for every driver branch, driven by the field table.

It walks the tree once along a trie built from `smi.fields`, so that a value is only found at its own place (a MIG
device's memory is never taken for its GPU's), and whatever the table does not name ends up in `unread`. lxml is used
strictly: its recover mode loses GPUs without a word.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from lxml import etree

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.inventory import Gpu, GpuProcess, GpuSample, Layer, MigInstance, MigSample
from gpuinv.readings import COUNTS_AS_FAULT, Missing, Reading, is_known, missing_reason
from gpuinv.smi._document import Document, find_document
from gpuinv.smi._trie import Leaf, Shape, compile_shape
from gpuinv.smi._walk import REPORTED, Trouble, Walk
from gpuinv.smi.queries import FULL
from gpuinv.smi.records import SmiSnapshot
from gpuinv.smi.sentences import MAX_GPUS
from gpuinv.values import FLAG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["parse_smi_xml"]

_SOURCE = FULL.source
_LOST = "GPU is lost"
_MESSAGES = {
    IssueKind.BAD_VALUE: "a value does not have the form of its field",
    IssueKind.READ_ERROR: "the driver could not read a value",
    IssueKind.NO_PERMISSION: "a value needs more permissions",
    IssueKind.NEEDS_RESET: "the GPU answers only after a reset",
    IssueKind.GPU_LOST: "the GPU is lost",
}
_REMAP_FACTS = ("remapped_row_corr", "remapped_row_unc", "row_remap_pending", "row_remap_failure")
"""What every driver that remaps rows prints, and none does while MIG is on."""
_PROCESS_NAME = "process_name"
_REASON_ELEMENTS = {
    "clocks_event_reasons": "clocks_event_reason_",
    "clocks_throttle_reasons": "clocks_throttle_reason_",
}


@lru_cache(maxsize=1)
def _shapes() -> tuple[Shape, Shape, Shape, Shape]:
    """The shapes of the document, a GPU, a MIG device and a process."""
    return (
        compile_shape("", "gpu", "error_string"),
        compile_shape("gpu", "mig_devices", "processes", *_REASON_ELEMENTS),
        compile_shape("gpu/mig_devices/mig_device"),
        compile_shape("gpu/processes/process_info"),
    )


def parse_smi_xml(data: bytes | str) -> SmiSnapshot:
    """Read the output of `nvidia-smi -q -x`.

    Accepts drivers R340 and later, with or without declaration and DOCTYPE, with text around the document. The snapshot
    has one `Gpu` and one `GpuSample` for each `gpu` element, in the document's order; units are in the fields' names. A
    value that is missing carries its reason. What is wrong with one GPU is an issue; the others are complete.

    Raises:
        ParseError: no complete, well-formed `nvidia_smi_log` document, or more than 64 MiB. Nothing else is raised, on
            any input.
    """
    document = find_document(data, _SOURCE)
    document, root = _tree(document)
    shape, *_ = _shapes()
    unread = {"gpu/supported_clocks"} if document.clocks_cut else set()
    walk = Walk(shape, unread)
    walk.start(root)
    issues = [*document.issues]
    issues += _issues_of(walk.trouble, place="", uuid=None, pci_bus_id=None)
    lost_somewhere = _LOST.encode() in document.body
    gpus: list[Gpu] = []
    samples: list[GpuSample] = []
    if len(walk.specials) > MAX_GPUS:
        raise ParseError(_SOURCE, f"more than {MAX_GPUS} GPUs; this is no host")
    for name, element in walk.specials:
        if name == "error_string":
            issues.append(_issue(IssueKind.READ_ERROR, "the tool reports an error", name, element.text or ""))
            continue
        gpu, sample, found = _gpu(element, len(gpus), unread, lost_somewhere=lost_somewhere)
        gpus.append(gpu)
        samples.append(sample)
        issues += found
    issues += _whole(walk.found("SmiSnapshot", "attached_gpus"), gpus)
    return SmiSnapshot(
        **walk.bags[0],
        dtd=document.dtd or Missing.ABSENT,
        gpus=tuple(gpus),
        samples=tuple(samples),
        issues=tuple(issues),
        unread=tuple(sorted(unread)),
    )


def _tree(document: Document) -> tuple[Document, _Element]:
    """The document as a tree, and the document as it could be read; nothing is fetched.

    The body has no DOCTYPE, so that a reference to any entity but XML's own five is an error.
    """
    try:
        root = etree.fromstring(document.body, _parser())
    except etree.XMLSyntaxError as error:
        repaired = document.repaired()
        if repaired is None:
            raise _not_well_formed(document, error) from None
        document = repaired
        root = _strict_tree(document)
    if root.tag != "nvidia_smi_log":
        raise ParseError(_SOURCE, "the root element is not nvidia_smi_log", text=str(root.tag))
    return document, root


def _strict_tree(document: Document) -> _Element:
    try:
        return etree.fromstring(document.body, _parser())
    except etree.XMLSyntaxError as error:
        raise _not_well_formed(document, error) from None


@lru_cache(maxsize=1)
def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
    )


def _not_well_formed(document: Document, error: etree.XMLSyntaxError) -> ParseError:
    """The error at its line of the source, which the cut of the clocks had moved."""
    if document.clocks_cut:
        try:
            etree.fromstring(document.body_in_place, _parser())
        except etree.XMLSyntaxError as in_place:
            error = in_place
    line, column = document.place(*error.position)
    message = str(error.msg).rpartition(", line ")[0] or str(error.msg)
    place = f"line {line}, column {column}"
    return ParseError(_SOURCE, f"not well-formed XML ({message})", place=place, text=document.line(line))


def _gpu(
    element: _Element, position: int, unread: set[str], *, lost_somewhere: bool
) -> tuple[Gpu, GpuSample, list[Issue]]:
    shape = _shapes()[1]
    walk = Walk(shape, unread)
    walk.start(element)
    _read_address(walk, element)
    _read_specials(walk)
    if walk.found("Gpu.mig_mode", "current_mig") is True:
        _hide_remapping(walk)
    lost = any(reason is Missing.LOST for reason, _, _ in walk.trouble)
    if lost_somewhere and not lost and _says_lost(element):
        walk.trouble.append((Missing.LOST, "gpu", _LOST))
        lost = True
    shape.close(walk.bags)
    gpu = Gpu(gpu_index=position, layers=(Layer.NVIDIA_SMI,), gpu_lost=lost, **walk.bags[0])
    return gpu, GpuSample(**walk.bags[1]), _gpu_issues(walk, gpu, position, element)


def _hide_remapping(walk: Walk) -> None:
    """A GPU in MIG mode does not say that it has no remapped rows; it does not show them."""
    for name in _REMAP_FACTS:
        if walk.found("Gpu.remapped_rows", name) is Missing.NOT_SUPPORTED:
            walk.set_found("Gpu.remapped_rows", name, Missing.HIDDEN_BY_MIG)


def _read_address(walk: Walk, element: _Element) -> None:
    """Read the bus id of the GPU's own tag, which may be the only place that has it."""
    identifier = element.get("id")
    leaf = walk.shape.trie.children["@id"]
    if identifier is not None and isinstance(leaf, Leaf):
        value = leaf.read(identifier)
        if isinstance(value, Missing):
            walk.note(value, leaf.path, identifier)
        walk.fill(leaf, value)


def _says_lost(element: _Element) -> bool:
    """Whether an element that the table does not name says that the GPU is lost; a process may call itself so."""
    return any((child.text or "").strip() == _LOST and child.tag != _PROCESS_NAME for child in element.iter())


def _read_specials(walk: Walk) -> None:
    """Read the elements that have no table. Of one that stands twice, the first counts."""
    gpu, sample = walk.bags[0], walk.bags[1]
    for name, child in walk.specials:
        if name == "mig_devices" and "mig_instances" not in gpu:
            gpu["mig_instances"], sample["mig_samples"] = _mig_devices(child, walk)
        elif name == "processes" and name not in sample:
            sample["processes"] = _processes(child, walk)
        elif name in _REASON_ELEMENTS and "clocks_event_reasons" not in sample:
            sample["clocks_event_reasons"] = _clock_reasons(child, name, walk)
        else:
            walk.unread.add(f"gpu/{name}")


def _mig_devices(element: _Element, parent: Walk) -> tuple[Reading[tuple[MigInstance, ...]], tuple[MigSample, ...]]:
    """The MIG devices. The element says `None` where there are none, also with MIG off."""
    if not len(element):
        text = element.text or ""
        return (() if text.strip() in {"", "None"} else parent.reason(text, "gpu/mig_devices")), ()
    walk = Walk(_shapes()[2], parent.unread)
    children = _children(element, "mig_device", "gpu/mig_devices/", parent.unread)
    devices = [_mig_device(child, walk) for child in children]
    parent.trouble += walk.trouble
    found = [device for device in devices if device is not None]
    if devices and not found:
        return Missing.ERROR, ()
    return tuple(instance for instance, _ in found), tuple(sample for _, sample in found)


def _mig_device(element: _Element, walk: Walk) -> tuple[MigInstance, MigSample] | None:
    """One MIG device; without both of its ids it cannot be told from the others, and is trouble."""
    walk.start(element)
    if not all(is_known(walk.found("MigInstance", f"{part}_instance_id")) for part in ("gpu", "compute")):
        walk.note(Missing.ERROR, "gpu/mig_devices/mig_device", "without its instance ids")
        return None
    walk.shape.close(walk.bags)
    return MigInstance(**walk.bags[0]), MigSample(**walk.bags[1])


def _processes(element: _Element, parent: Walk) -> Reading[tuple[GpuProcess, ...]]:
    """The processes. What they call themselves may look like anything, and is no trouble of the driver's."""
    if not len(element):
        text = element.text or ""
        return parent.reason(text, "gpu/processes") if text.strip() else ()
    walk, processes = Walk(_shapes()[3], parent.unread), []
    for child in _children(element, "process_info", "gpu/processes/", parent.unread):
        walk.start(child)
        processes.append(GpuProcess(**walk.bags[0]))
    parent.trouble += (found for found in walk.trouble if not found[1].endswith(_PROCESS_NAME))
    return tuple(processes)


def _clock_reasons(element: _Element, name: str, parent: Walk) -> Reading[tuple[str, ...]]:
    """The reasons that read `Active`, without their prefix; drivers add new ones, so they have no table.

    Where none is active and one could not be read, or all are missing, there is no list but a reason.
    """
    if not len(element):
        return parent.reason(element.text or "", f"gpu/{name}")
    active, missing = [], []
    for child in element:
        value = FLAG.read(child.text or "")
        if value is True:
            active.append(str(child.tag).removeprefix(_REASON_ELEMENTS[name]))
        elif value is not False:
            parent.note(value, f"gpu/{name}/{child.tag}", child.text or "")
            missing.append(value)
    if not active and (len(missing) == len(element) or not COUNTS_AS_FAULT.isdisjoint(missing)):
        return max(missing, key=COUNTS_AS_FAULT.__contains__)
    return tuple(sorted(active))


def _children(element: _Element, tag: str, path: str, unread: set[str]) -> Iterator[_Element]:
    for child in element:
        if child.tag == tag:
            yield child
        else:
            unread.add(f"{path}{child.tag}")


def _gpu_issues(walk: Walk, gpu: Gpu, position: int, element: _Element) -> list[Issue]:
    uuid = str(gpu.uuid) if is_known(gpu.uuid) else None
    bus_id = str(gpu.pci_bus_id) if is_known(gpu.pci_bus_id) else None
    issues = _issues_of(walk.trouble, place=f"gpu[{position}]", uuid=uuid, pci_bus_id=bus_id)
    if uuid is None:
        text = element.findtext("uuid") or ""
        message = "the GPU has no usable UUID"
        issues.append(_issue(IssueKind.NO_UUID, message, f"gpu[{position}]/uuid", text.strip(), pci_bus_id=bus_id))
    return issues


def _place_and_text(trouble: Trouble) -> tuple[str, str]:
    return trouble[1:]


def _issues_of(trouble: list[Trouble], *, place: str, uuid: str | None, pci_bus_id: str | None) -> list[Issue]:
    """One issue for each kind of trouble, naming every element concerned."""
    groups: dict[IssueKind, list[tuple[str, str]]] = {}
    for reason, path, text in sorted(trouble, key=_place_and_text):
        kind = REPORTED[reason]
        if kind is IssueKind.READ_ERROR and missing_reason(text.strip()) is None:
            kind = IssueKind.BAD_VALUE
        where = f"{place}{path.removeprefix('gpu')}" if place else path
        groups.setdefault(kind, []).append((where, text.strip()))
    about = {"uuid": uuid, "pci_bus_id": pci_bus_id}
    return [
        _issue(kind, _MESSAGES[kind], ", ".join(dict.fromkeys(where for where, _ in found)), found[0][1], **about)
        for kind, found in groups.items()
    ]


def _issue(kind: IssueKind, message: str, place: str, text: str = "", **about: str | None) -> Issue:
    return Issue(kind=kind, source=_SOURCE, message=message, place=place, text=text, **about)


def _whole(attached: Reading[int], gpus: list[Gpu]) -> list[Issue]:
    """What is wrong with the list of GPUs as a whole."""
    issues = []
    if is_known(attached) and attached != len(gpus):
        message = f"the tool says that {attached} GPUs are attached and lists {len(gpus)}"
        issues.append(_issue(IssueKind.COUNT_MISMATCH, message, "attached_gpus", str(attached)))
    seen: set[str] = set()
    for gpu in gpus:
        if is_known(gpu.uuid) and gpu.uuid in seen:
            message = "more than one GPU has this UUID"
            issues.append(_issue(IssueKind.DUPLICATE_UUID, message, f"gpu[{gpu.gpu_index}]/uuid", uuid=str(gpu.uuid)))
        elif is_known(gpu.uuid):
            seen.add(gpu.uuid)
    return issues
