#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Listens to link-layer addresses of groups, as programs with packet sockets do.

	packet_group.py IF MGID...

MGIDs are hex digits. It prints "ready" and waits to be killed.
"""

import signal
import socket
import struct
import sys

SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_MULTICAST = 0


def main():
    name, mgids = sys.argv[1], sys.argv[2:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        for mgid in mgids:
            lladdr = bytes.fromhex("00ffffff" + mgid)
            sock.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                            struct.pack("iHH32s", socket.if_nametoindex(name),
                                        PACKET_MR_MULTICAST, len(lladdr), lladdr))
        print("ready", flush=True)
        signal.pause()


main()
