#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints, in hex, a message of the CM as nobody should send it.

	cm_forge.py req|dreq [count=N] [KEY=VALUE]...

For ud_verbs to send it to QP 1. Values are hexadecimal. REQ: comm (communication
ID), sid (service ID), guid (of the HCA), qpn, service (0 RC, 1 UC, 2 RD), pkey,
slid, dlid, sgid, dgid (32 digits), private (of any length). DREQ: comm, remote
(communication IDs), qpn. With count=N, decimal, N messages, each with its own
communication IDs and, in the private data, QPN.
"""

import struct
import sys

HEADER = struct.Struct(">BBBBHHQHHI")
ATTRIBUTE = {"req": 0x10, "dreq": 0x15}


def request(arg, i):
    """The 232 octets of the Ith REQ."""
    body = bytearray(232)
    struct.pack_into(">I4xQQ", body, 0, arg("comm", 1) + i, arg("sid"), arg("guid", 1))
    struct.pack_into(">I", body, 32, arg("qpn", 0x4242) + i << 8)
    # half a second for the answer, the transport, no credits
    body[43] = 17 << 3 | arg("service", 0) << 1
    struct.pack_into(">I", body, 44, 1 << 8 | 17 << 3 | 7)
    # P_Key, path MTU 2048, seven times RNR, no repetition
    struct.pack_into(">HBB", body, 48, arg("pkey", 0xffff), 4 << 4 | 7, 0)
    struct.pack_into(">HH", body, 52, arg("slid"), arg("dlid"))
    body[56:72] = arg("sgid").to_bytes(16, "big")
    body[72:88] = arg("dgid").to_bytes(16, "big")
    body[91] = 3
    body[94] = 1 << 3
    body[95] = 14 << 3
    private = bytes.fromhex(arg.text("private", ""))
    body[140:140 + len(private)] = private
    if i:
        body[141:144] = (int.from_bytes(private[1:4], "big") + i).to_bytes(3, "big")
    return body


def disconnect(arg, i):
    """The 232 octets of the Ith DREQ."""
    body = bytearray(232)
    struct.pack_into(">III", body, 0, arg("comm", 1) + i, arg("remote", 1) + i, arg("qpn", 1) + i << 8)
    return body


class Arguments:
    """KEY=VALUE words."""

    def __init__(self, words):
        self.words = dict(word.split("=", 1) for word in words)

    def text(self, key, default):
        """A value as it was written."""
        return self.words.get(key, default)

    def __call__(self, key, default=None):
        if key not in self.words:
            if default is None:
                sys.exit(f"cm_forge.py: {key}= is missing")
            return default
        return int(self.words[key], 16)


def main():
    """Print the message that the command line asks for."""
    kind = sys.argv[1]
    arg = Arguments(sys.argv[2:])
    make = request if kind == "req" else disconnect
    for i in range(int(arg.text("count", "1"))):
        tid = arg("comm", 1) + i
        header = HEADER.pack(1, 7, 2, 3, 0, 0, tid, ATTRIBUTE[kind], 0, 0)
        print((header + make(arg, i)).hex())


main()
