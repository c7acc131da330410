"""`nvidia-smi -q -x`: one tolerant reader for every driver branch, driven by the field table.

It walks the tree once along a trie built from `smi.fields`, so that a value is only found at its own place (a MIG
device's memory is never taken for its GPU's), and whatever the table does not name ends up in `unread`. lxml is used
strictly: its recover mode loses GPUs without a word.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lxml import etree

from gpuinv.errors import Issue, IssueKind, ParseError
from gpuinv.inventory import Gpu, GpuProcess, GpuSample, Layer, MigInstance, MigSample
from gpuinv.readings import Missing, Reading, is_known, missing_reason
from gpuinv.smi._document import Document, bad_characters, find_document
from gpuinv.smi._trie import Bags, Leaf, Node, Shape, Special, choose, compile_shape
from gpuinv.smi.queries import FULL
from gpuinv.smi.records import SmiSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

__all__ = ["parse_smi_xml"]

_SOURCE = FULL.source
_LOST = b"GPU is lost"
_REPORTED = {
    IssueKind.BAD_VALUE: "a value does not have the form of its field",
    IssueKind.READ_ERROR: "the driver could not read a value",
    IssueKind.NO_PERMISSION: "a value needs more permissions",
    IssueKind.NEEDS_RESET: "the GPU answers only after a reset",
    IssueKind.GPU_LOST: "the GPU is lost",
}
_KINDS = {
    Missing.ERROR: IssueKind.READ_ERROR,
    Missing.NO_PERMISSION: IssueKind.NO_PERMISSION,
    Missing.NEEDS_RESET: IssueKind.NEEDS_RESET,
    Missing.LOST: IssueKind.GPU_LOST,
}
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


class _Walk:
    """One element being read: what was found, what stood in the way, and what the table does not name."""

    def __init__(self, shape: Shape, unread: set[str]) -> None:
        self.shape = shape
        self.bags: Bags = shape.bags()
        self.unread = unread
        self.trouble: list[tuple[Missing, str, str]] = []
        self.specials: list[tuple[str, _Element]] = []
        self._ranks: dict[tuple[int, str], int] = {}

    def read(self, element: _Element, node: Node | None = None) -> _Walk:
        """Fill the bags from the children of an element; the loop that nearly all the time of a reading goes into."""
        node = node or self.shape.trie
        entry_of, bags = node.children.get, self.bags
        for child in element:
            entry = entry_of(child.tag)
            if isinstance(entry, Leaf):
                value = entry.read(child.text or "")
                if value.__class__ is Missing and value in _KINDS:
                    self.trouble.append((value, entry.path, child.text or ""))
                for bag, name, rank in entry.targets:
                    if rank or name in bags[bag]:
                        choose(entry, (bag, name, rank), value, bags, self._ranks)
                    else:
                        bags[bag][name] = value
            elif entry is None:
                self.unread.add(f"{node.path}{child.tag}")
            elif isinstance(entry, Special):
                self.specials.append((entry.name, child))
            elif len(child):
                self.read(child, entry)
            else:
                self._word(entry, child.text or "")
        return self

    def fill(self, leaf: Leaf, value: Reading[Any]) -> None:
        """Give a value, wherever it was found, to the fields of a leaf."""
        for target in leaf.targets:
            choose(leaf, target, value, self.bags, self._ranks)

    def _word(self, node: Node, text: str) -> None:
        """A container that holds one word instead of its children: the reason of every value in it."""
        word = text.strip()
        if not word:
            return
        reason = _reason_of(word)
        if reason in _KINDS:
            self.trouble.append((reason, node.path.rstrip("/"), text))
        for leaf in node.leaves:
            self.fill(leaf, reason)

    def set_reason(self, record: str, old: Missing, new: Missing) -> None:
        """Replace one reason by another in a record that was found."""
        fields = self.bags[self.shape.bag[record]]
        fields.update({name: new for name, value in fields.items() if value is old})

    def found(self, record: str, name: str) -> Any:  # noqa: ANN401 - any field's type
        return self.bags[self.shape.bag[record]].get(name, Missing.ABSENT)


def parse_smi_xml(data: bytes | str) -> SmiSnapshot:
    """Read the output of `nvidia-smi -q -x`.

    Accepts drivers R340 and later, with or without declaration and DOCTYPE, with text around the document. What is
    wrong with one GPU is an issue; the others are complete.

    Raises:
        ParseError: no complete, well-formed `nvidia_smi_log` document. Nothing else is raised, on any input.
    """
    document = find_document(data, _SOURCE)
    root, repairs = _tree(document)
    shape, *_ = _shapes()
    unread = {"gpu/supported_clocks"} if document.clocks_cut else set()
    walk = _Walk(shape, unread).read(root)
    issues = [*document.issues, *repairs]
    issues += _issues_of(walk.trouble, place="", uuid=None, pci_bus_id=None)
    lost_somewhere = _LOST in document.body
    gpus: list[Gpu] = []
    samples: list[GpuSample] = []
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


def _tree(document: Document) -> tuple[_Element, list[Issue]]:
    """The document as a tree; entities are neither loaded nor expanded, and nothing is fetched."""
    issues = []
    try:
        root = etree.fromstring(document.body, _parser())
    except etree.XMLSyntaxError as error:
        cleaned = document.without_control_characters()
        if cleaned is None:
            raise _not_well_formed(document, error) from None
        document = cleaned
        issues = [bad_characters(_SOURCE, "control characters were dropped")]
        root = _strict_tree(cleaned)
    if root.tag != "nvidia_smi_log":
        raise ParseError(_SOURCE, "the root element is not nvidia_smi_log", text=str(root.tag))
    if b"&" in document.body and next(root.iter(etree.Entity), None) is not None:
        raise ParseError(_SOURCE, "a reference to an entity that XML does not define")
    return root, issues


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
    line, column = error.position
    line += document.first_line - 1
    message = error.msg.rpartition(", line ")[0] or error.msg
    place = f"line {line}, column {column}"
    return ParseError(_SOURCE, f"not well-formed XML ({message})", place=place, text=document.line(line))


def _gpu(
    element: _Element, position: int, unread: set[str], *, lost_somewhere: bool
) -> tuple[Gpu, GpuSample, list[Issue]]:
    shape = _shapes()[1]
    walk = _Walk(shape, unread)
    bus_id = shape.trie.children["@id"]
    identifier = element.get("id")
    if identifier is not None and isinstance(bus_id, Leaf):
        walk.fill(bus_id, bus_id.read(identifier))
    walk.read(element)
    gpu, sample = walk.bags[0], walk.bags[1]
    for name, child in walk.specials:
        if name == "mig_devices":
            gpu["mig_instances"], sample["mig_samples"] = _mig_devices(child, walk)
        elif name == "processes":
            sample["processes"] = _processes(child, walk.unread)
        else:
            sample["clocks_event_reasons"] = _clock_reasons(child, _REASON_ELEMENTS[name])
    if walk.found("Gpu.mig_mode", "current_mig") is True:
        walk.set_reason("Gpu.remapped_rows", Missing.NOT_SUPPORTED, Missing.HIDDEN_BY_MIG)
    lost = any(reason is Missing.LOST for reason, _, _ in walk.trouble)
    if lost_somewhere and not lost and any((text or "").strip() == _LOST.decode() for text in element.itertext()):
        walk.trouble.append((Missing.LOST, "gpu", _LOST.decode()))
        lost = True
    shape.close(walk.bags)
    record = Gpu(gpu_index=position, layers=(Layer.NVIDIA_SMI,), gpu_lost=lost, **gpu)
    return record, GpuSample(**sample), _gpu_issues(walk, record, position, element)


def _mig_devices(element: _Element, parent: _Walk) -> tuple[Reading[tuple[MigInstance, ...]], tuple[MigSample, ...]]:
    """The MIG devices. The element says `None` where there are none, also with MIG off."""
    if not len(element):
        word = (element.text or "").strip()
        return (() if word in {"", "None"} else _reason_of(word)), ()
    shape = _shapes()[2]
    instances, samples = [], []
    for child in _children(element, "mig_device", "gpu/mig_devices/", parent.unread):
        walk = _Walk(shape, parent.unread).read(child)
        parent.trouble += walk.trouble
        if not all(is_known(walk.found("MigInstance", f"{part}_instance_id")) for part in ("gpu", "compute")):
            parent.trouble.append((Missing.ERROR, "gpu/mig_devices/mig_device", "without its instance ids"))
            continue
        shape.close(walk.bags)
        instances.append(MigInstance(**walk.bags[0]))
        samples.append(MigSample(**walk.bags[1]))
    return tuple(instances), tuple(samples)


def _processes(element: _Element, unread: set[str]) -> Reading[tuple[GpuProcess, ...]]:
    """The processes. What they call themselves may look like anything, and is no trouble of the driver's."""
    if not len(element):
        word = (element.text or "").strip()
        return _reason_of(word) if word else ()
    shape = _shapes()[3]
    walks = (_Walk(shape, unread).read(child) for child in _children(element, "process_info", "gpu/processes/", unread))
    return tuple(GpuProcess(**walk.bags[0]) for walk in walks)


def _clock_reasons(element: _Element, prefix: str) -> Reading[tuple[str, ...]]:
    """The reasons that read `Active`, without their prefix; drivers add new ones, so they have no table."""
    if not len(element):
        return _reason_of((element.text or "").strip())
    active = (str(child.tag) for child in element if (child.text or "").strip() == "Active")
    return tuple(sorted(tag.removeprefix(prefix) for tag in active))


def _reason_of(word: str) -> Missing:
    """The reason that a word states; a word that states none is an error of the tool."""
    reason = missing_reason(word)
    return Missing.ERROR if reason is None else reason


def _children(element: _Element, tag: str, path: str, unread: set[str]) -> Iterator[_Element]:
    for child in element:
        if child.tag == tag:
            yield child
        else:
            unread.add(f"{path}{child.tag}")


def _gpu_issues(walk: _Walk, gpu: Gpu, position: int, element: _Element) -> list[Issue]:
    uuid = str(gpu.uuid) if is_known(gpu.uuid) else None
    bus_id = str(gpu.pci_bus_id) if is_known(gpu.pci_bus_id) else None
    issues = _issues_of(walk.trouble, place=f"gpu[{position}]", uuid=uuid, pci_bus_id=bus_id)
    if uuid is None:
        text = element.findtext("uuid") or ""
        message = "the GPU has no usable UUID"
        issues.append(_issue(IssueKind.NO_UUID, message, f"gpu[{position}]/uuid", text.strip(), pci_bus_id=bus_id))
    return issues


def _issues_of(
    trouble: list[tuple[Missing, str, str]], *, place: str, uuid: str | None, pci_bus_id: str | None
) -> list[Issue]:
    """One issue for each kind of trouble, naming every element concerned."""
    groups: dict[IssueKind, list[tuple[str, str]]] = {}
    for reason, path, text in trouble:
        kind = _KINDS[reason]
        if kind is IssueKind.READ_ERROR and missing_reason(text.strip()) is None:
            kind = IssueKind.BAD_VALUE
        where = f"{place}{path.removeprefix('gpu')}" if place else path
        groups.setdefault(kind, []).append((where, text.strip()))
    about = {"uuid": uuid, "pci_bus_id": pci_bus_id}
    return [
        _issue(kind, _REPORTED[kind], ", ".join(dict.fromkeys(where for where, _ in found)), found[0][1], **about)
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
