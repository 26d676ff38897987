#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends frames to nodes that do not exist, each to another GID.

	gid_flood.py IF FIRST COUNT

The GIDs are fe80::4391:0:N, N from FIRST on. What waits for them must not wait for
room in the socket.
"""

import socket
import struct
import sys

SO_SNDBUFFORCE = 32
ETHERTYPE = 0x88b5


def frame(number):
    """A frame behind its link-layer address: flags and QPN, GID."""
    gid = struct.pack(">QQ", 0xfe80 << 48, 0x4391 << 32 | number)
    return struct.pack(">I", 0x4391) + gid + struct.pack(">HH", ETHERTYPE, 0) + \
        bytes(8)


def main():
    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 28)
        sock.bind((name, ETHERTYPE))
        for number in range(first, first + count):
            sock.send(frame(number))


main()
