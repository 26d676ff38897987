#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends one frame while a QP is being reset.

	frame_in_gap.py IF LLADDR < KNOB

The frame is sent as soon as the number in the file KNOB, how many changes of the QP's
state are still to be refused, has become less than it was, and is not zero: the
interface takes no frames then.
"""

import os
import socket
import sys

ETHERTYPE = 0x88b5


def number():
    return int(os.pread(0, 20, 0))


def main():
    name, lladdr = sys.argv[1:]
    frame = bytes.fromhex(lladdr) + ETHERTYPE.to_bytes(2, "big") + bytes(2) + \
        bytes.fromhex("cafe0b11")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((name, ETHERTYPE))
        print("ready", flush=True)
        while not number():
            pass
        most = number()
        while number() >= most:
            pass
        left = number()
        sock.send(frame)
        print("left", left, "to", number(), flush=True)


main()
