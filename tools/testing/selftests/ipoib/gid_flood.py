#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends frames to nodes that do not exist, each to another GID or another QPN.

	gid_flood.py IF FIRST COUNT [GID TIMES]

The GIDs are fe80::4391:0:N, N from FIRST on. With GID, in hex, it is that one, N is the QPN,
each offers RC connections and has TIMES frames of IPv4, one behind the other. What waits for them
must not wait for room in the socket.
"""

import socket
import struct
import sys

SO_SNDBUFFORCE = 32
ETHERTYPE = 0x88b5
IPV4 = 0x0800


def frame(number, gid):
    """A frame behind its link-layer address: flags and QPN, GID."""
    if gid:
        return struct.pack(">I", 0x80 << 24 | number) + gid + struct.pack(">HH", IPV4, 0) + \
            bytes(20)
    return struct.pack(">IQQHH", 0x4391, 0xfe80 << 48, 0x4391 << 32 | number, ETHERTYPE, 0) + \
        bytes(8)


def main():
    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    gid, times = (bytes.fromhex(sys.argv[4]), int(sys.argv[5])) if sys.argv[4:] else (b"", 1)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 28)
        sock.bind((name, ETHERTYPE))
        for number in range(first, first + count):
            for _ in range(times):
                sock.send(frame(number, gid))


main()
