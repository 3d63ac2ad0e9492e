"""Opens documents that are zip archives of XML, and checks their unpacked size first."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from pathlib import Path
from typing import Any

from citeproof.tools.documents.base import unusable

_MOST_UNPACKED = 1 << 30
_MOST_ENTRIES = 20_000
_MOST_RATIO = 200
_SMALL = 20 << 20
"""Unpacked bytes up to which any compression ratio is accepted."""
_HEAD = 2048
_XML = (".xml", ".rels", ".vml")
_MACROS = ("Basic/", "Dialogs/")
"""Folders of OpenDocument that no reader opens; LibreOffice's macros declare a document type."""
_RELATIONS = "_rels/.rels"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_USUAL = rb"http://schemas.openxmlformats.org/\1/2006/"
"""The names that Office files have unless they are saved as "Strict Open XML"."""


class Archive:
    """A zip archive that is safe to unpack."""

    def __init__(self, data: bytes, path: Path, fix: str, *, has_doctypes: bool = False) -> None:
        """Open and check the archive; errors advise `fix`.

        Its XML may declare document types only with `has_doctypes`, as in EPUB.

        Raises:
            DocumentError: The file is not a zip archive, is encrypted, declares a document type
                without `has_doctypes`, holds more than 20,000 files, or unpacks to more than a
                gigabyte, or to more than 20 MB and 200 times its packed size.
        """
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # a damaged directory breaks zipfile in many ways
            if data.startswith(b"\xd0\xcf\x11\xe0"):
                why = "it is encrypted, or in the format of Office 97"
                raise unusable(path, why, "Save it again without a password.") from error
            raise unusable(path, f"it is not a valid zip archive ({error})", fix) from error
        self._path, self._fix = path, fix
        entries = self._zip.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        packed = sum(entry.compress_size for entry in entries)
        if unpacked > _MOST_UNPACKED:
            raise unusable(path, "it unpacks to more than a gigabyte", "Split it.")
        if len(entries) > _MOST_ENTRIES:
            raise unusable(path, f"it holds more than {_MOST_ENTRIES:,} files", "Split it.")
        if unpacked > max(_SMALL, _MOST_RATIO * packed):
            why = f"it unpacks to more than {_MOST_RATIO} times its size, as malicious archives do"
            raise unusable(path, why, fix)
        if any(entry.flag_bits & 1 for entry in entries):
            raise unusable(path, "it is encrypted", "Save it without a password.")
        self.names = dict.fromkeys(entry.filename for entry in entries)
        for name in self.names if not has_doctypes else ():
            if not name.endswith(_XML) or name.startswith(_MACROS):
                continue
            if b"<!DOCTYPE" in self.read(name, _HEAD):
                raise unusable(path, f"{name} declares a document type, which is not allowed", fix)
        self.data = data
        """The file; one that is saved as "Strict Open XML" is rewritten with the usual names."""
        if _RELATIONS in self.names and _STRICT.search(self.read(_RELATIONS)):
            self.data = self._renamed()
            self._zip = zipfile.ZipFile(io.BytesIO(self.data))

    def _renamed(self) -> bytes:
        with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as usual:
            for name in self.names:
                content = self.read(name)
                if name.endswith(_XML):
                    content = _STRICT.sub(_USUAL, content)
                usual.writestr(name, content)
        return out.getvalue()

    def read(self, name: str, most: int = -1) -> bytes:
        """Read a member, up to `most` bytes; by default all of it.

        Raises:
            DocumentError: The member is missing or damaged.
        """
        try:
            with self._zip.open(name) as member:
                return member.read(most)
        except Exception as error:
            why = f"{name} in it is missing or damaged ({error})"
            raise unusable(self._path, why, self._fix) from error

    def xml(self, name: str) -> Any:
        """Return the root of an XML member, parsed without entities or network access.

        Raises:
            DocumentError: The member is missing or damaged.
        """
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
        try:
            return etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            raise unusable(self._path, f"{name} in it is damaged ({error})", self._fix) from error

    def related(self, name: str) -> dict[str, str]:
        """Return the members that an Office member refers to: type → the first one of that type."""
        folder, _, file = name.rpartition("/")
        rels = posixpath.join(folder, "_rels", f"{file}.rels")
        found: dict[str, str] = {}
        for one in self.xml(rels) if rels in self.names else ():
            target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", "")))
            member = target.lstrip("/")
            if one.get("TargetMode") != "External" and member in self.names:
                found.setdefault(one.get("Type", "").rpartition("/")[2], member)
        return found
