#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints, in hex, a message of the CM as nobody should send it.

	cm_forge.py req|dreq|sidr [count=N] [KEY=VALUE]...
	cm_forge.py rtu|rep|rej|mra [requests=FILE] [KEY=VALUE]... < "REMOTE COMM" of each message answered

For ud_verbs to send it to QP 1. Values are hexadecimal. REQ: comm (communication
ID), sid (service ID), guid (of the HCA), qpn, service (0 RC, 1 UC, 2 RD), pkey,
slid, dlid, sgid, dgid (32 digits), altslid, altdlid (an alternate path of those GIDs),
private (of any length), wait (for an answer, as the CM has times), retries, ack (how long an ACK
takes, as the CM has times; timewait is as long), reads (depth of RDMA reads, both ways). DREQ: comm, remote (communication IDs), qpn. SIDR_REQ: comm (request ID), pkey,
sid, private. With
count=N, decimal, N messages, each with its own communication IDs and, in the private
data, QPN. The others answer messages that are given by the communication ID of their
sender and ours, both in hex, each once and as soon as it is there. RTU: to a REP, with the
private data of the REQ: comm and private are those of the first REQ; with count=N only to
those of N REQs; with requests=FILE its lines are printed, too: eight first, and one after each
RTU. REP: qpn, guid, private. REJ, of a REQ, or with message=1 of a REP: reason. MRA, of a REQ: wait.
"""

import struct
import sys

HEADER = struct.Struct(">BBBBHHQHHI")
ATTRIBUTE = {"req": 0x10, "mra": 0x11, "rej": 0x12, "rep": 0x13, "rtu": 0x14, "dreq": 0x15,
             "sidr": 0x17}


def request(arg, i):
    """The 232 octets of the Ith REQ."""
    body = bytearray(232)
    struct.pack_into(">I4xQQ", body, 0, arg("comm", 1) + i, arg("sid"), arg("guid", 1))
    struct.pack_into(">I", body, 32, arg("qpn", 0x4242) + i << 8 | arg("reads", 0))
    body[39] = arg("reads", 0)
    # time for the answer and for ours (half a second), the transport, no credits
    wait = arg("wait", 17)
    body[43] = wait << 3 | arg("service", 0) << 1
    struct.pack_into(">I", body, 44, 1 << 8 | wait << 3 | 7)
    # P_Key, path MTU 2048, seven times RNR, repetitions
    struct.pack_into(">HBB", body, 48, arg("pkey", 0xffff), 4 << 4 | 7, arg("retries", 0) << 4)
    struct.pack_into(">HH", body, 52, arg("slid"), arg("dlid"))
    body[56:72] = arg("sgid").to_bytes(16, "big")
    body[72:88] = arg("dgid").to_bytes(16, "big")
    body[91] = 3
    body[94] = 1 << 3
    body[95] = arg("ack", 14) << 3
    if arg("altdlid", 0):
        struct.pack_into(">HH", body, 96, arg("altslid"), arg("altdlid"))
        body[100:140] = body[56:96]
    put_private(body, 140, arg, i)
    return body


def put_private(body, at, arg, i):
    """The private data of the Ith, with its own QPN, into a message."""
    private = bytes.fromhex(arg.text("private", ""))
    body[at:at + len(private)] = private
    if i:
        body[at + 1:at + 4] = (int.from_bytes(private[1:4], "big") + i).to_bytes(3, "big")


def ready(arg, comm, remote):
    """The 232 octets of the RTU that answers a REP."""
    body = bytearray(232)
    struct.pack_into(">II", body, 0, comm, remote)
    put_private(body, 8, arg, comm - arg("comm", 1))
    return body


def reply(arg, comm, remote):
    """The 232 octets of the REP that grants a REQ."""
    body = bytearray(232)
    struct.pack_into(">II4xI", body, 0, comm, remote, arg("qpn", 0x4242) << 8)
    struct.pack_into(">Q", body, 28, arg("guid", 1))
    put_private(body, 36, arg, 0)
    return body


def reject(arg, comm, remote):
    """The 232 octets of the REJ that refuses a REQ or REP."""
    body = bytearray(232)
    struct.pack_into(">IIBxH", body, 0, comm, remote, arg("message", 0) << 6, arg("reason"))
    return body


def wait_for(arg, comm, remote):
    """The 232 octets of the MRA that asks the sender of a REQ for patience."""
    body = bytearray(232)
    struct.pack_into(">IIxB", body, 0, comm, remote, arg("wait") << 3)
    return body


ANSWERS = {"rtu": ready, "rep": reply, "rej": reject, "mra": wait_for}


def disconnect(arg, i):
    """The 232 octets of the Ith DREQ."""
    body = bytearray(232)
    struct.pack_into(">III", body, 0, arg("comm", 1) + i, arg("remote", 1) + i, arg("qpn", 1) + i << 8)
    return body


def resolve(arg, i):
    """The 232 octets of the Ith SIDR_REQ."""
    body = bytearray(232)
    struct.pack_into(">IH2xQ", body, 0, arg("comm", 1) + i, arg("pkey", 0xffff), arg("sid"))
    put_private(body, 16, arg, 0)
    return body


MAKE = {"req": request, "dreq": disconnect, "sidr": resolve}


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


def show(kind, tid, body):
    """Print a message with its header."""
    print((HEADER.pack(1, 7, 2, 3, 0, 0, tid, ATTRIBUTE[kind], 0, 0) + body).hex(), flush=True)


def show_next(requests):
    """Print a message that was forged before, if one is left."""
    if requests:
        print(requests.pop(0), flush=True)


def answer(kind, arg):
    """Print the answers to the messages of standard input."""
    count = int(arg.text("count", "0"))
    seen = set()
    requests = []
    if arg.text("requests", ""):
        with open(arg.text("requests", ""), encoding="ascii") as file:
            requests = file.read().split()
    for _ in range(8):
        show_next(requests)
    for line in sys.stdin:
        remote, comm = (int(word, 16) for word in line.split())
        if (remote, comm) in seen or count and not 0 <= comm - arg("comm") < count:
            continue
        seen.add((remote, comm))
        show(kind, comm, ANSWERS[kind](arg, comm, remote))
        show_next(requests)


def main():
    """Print the message that the command line asks for."""
    kind = sys.argv[1]
    arg = Arguments(sys.argv[2:])
    if kind in ANSWERS:
        answer(kind, arg)
        return
    for i in range(int(arg.text("count", "1"))):
        show(kind, arg("comm", 1) + i, MAKE[kind](arg, i))


main()
