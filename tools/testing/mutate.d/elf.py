# SPDX-License-Identifier: GPL-2.0
"""Modules of the kernel: sections, symbols and relocations of an ELF file of 64 bits, as
much as comparing and covering them needs."""

import pathlib
import struct

SHF_ALLOC, SHT_SYMTAB, SHT_RELA, SHT_NOBITS, STT_SECTION = 2, 2, 4, 8, 3
R_X86_64_PLT32 = 4
# Sections that differ though the code does not
NO_CODE = (".note.", ".BTF", ".modinfo", ".gnu.linkonce.this_module", "__versions")


def c_string(table, at):
    """A string of a table of strings."""
    return table[at:table.index(b"\0", at)].decode()


class Module:
    """A file."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no ELF file of 64 bits")
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3a)
        self.heads = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size)
                      for i in range(count)]
        self.bodies = [b"" if head[1] == SHT_NOBITS else data[head[4]:head[4] + head[5]]
                       for head in self.heads]
        self.names = [c_string(self.bodies[names], head[0]) for head in self.heads]

    def size(self, section):
        """Octets of a section."""
        return self.heads[self.names.index(section)][5] if section in self.names else 0

    def _symbol(self, table, index):
        """(name, kind, section, value)"""
        at, kind, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.bodies[table],
                                                            index * 24)
        strings = self.bodies[self.heads[table][6]]
        return c_string(strings, at), kind, section, value

    def symbol(self, name):
        """Section and place of a symbol, or None."""
        for table, head in enumerate(self.heads):
            if head[1] == SHT_SYMTAB:
                for index in range(len(self.bodies[table]) // 24):
                    found, _, section, value = self._symbol(table, index)
                    if found == name and 0 < section < len(self.names):
                        return self.names[section], value
        return None

    def relocations(self, wanted):
        """(section, place, type, name, addend) of all relocations of sections that are wanted.
        What is local to the file has the name of its section, for it may have none, or
        a number in it."""
        for i, head in enumerate(self.heads):
            if head[1] != SHT_RELA or not wanted(self.names[head[7]]):
                continue
            for place, info, addend in struct.iter_unpack("<QQq", self.bodies[i]):
                name, kind, section, value = self._symbol(head[6], info >> 32)
                if kind & 15 == STT_SECTION or (kind >> 4 == 0 and section < len(self.names)):
                    name, addend = self.names[section], addend + value
                yield self.names[head[7]], place, info & 0xffffffff, name, addend

    def code(self):
        """All that is in memory: of each section its octets, size and relocations."""
        code = {self.names[i]: [self.bodies[i], head[5]] for i, head in enumerate(self.heads)
                if head[2] & SHF_ALLOC and not self.names[i].startswith(NO_CODE)}
        for section, *words in self.relocations(code.__contains__):
            code[section].append(tuple(words))
        return code
