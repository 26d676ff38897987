#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a copy of the kernel's own ib_ipoib that can be loaded beside ours.

	stock_twin.py FROM TO

FROM is the module as it was installed, compressed or not. The copy has another
name, ib_ipoix, and so have its kind of links, its directory in debugfs and the
like. The code is as it was. The signature, which fits no more, is left out: without
one a module is loaded, with a wrong one it is not.
"""

import lzma
import sys

SIGNED = b"~Module signature appended~\n"


def unsigned(module):
    """The module without its signature."""
    if not module.endswith(SIGNED):
        return module
    end = len(module) - len(SIGNED)
    # struct module_signature, whose last field is the length
    length = int.from_bytes(module[end - 4:end], "big")
    return module[:end - 12 - length]


def main():
    """Write the copy."""
    with open(sys.argv[1], "rb") as file:
        module = file.read()
    if module.startswith(b"\xfd7zXZ\0"):
        module = lzma.decompress(module)
    for old in (b"\0ipoib\0", b"\0ib_ipoib\0", b"\0name=ib_ipoib\0"):
        new = old.replace(b"ipoib", b"ipoix")
        if old not in module:
            sys.exit(f"stock_twin.py: no {old} in {sys.argv[1]}")
        # the zero between two neighbours belongs to both
        while old in module:
            module = module.replace(old, new)
    with open(sys.argv[2], "wb") as file:
        file.write(unsigned(module))


main()
