#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Objects of the generic netlink family netdev, of one interface, a line of KEY=VALUE... each.

	netdev_genl.py queue-get|napi-get|page-pool-get|qstats-get|qstats-queues DEV

Page pools whose interface has gone are those of lo. Numbers are those of
include/uapi/linux/netdev.h. Exit status 4 if the kernel does not have the family or the command.
"""

import errno
import os
import socket
import struct
import sys

CTRL, CTRL_GETFAMILY, CTRL_FAMILY_ID, CTRL_FAMILY_NAME = 16, 3, 1, 2
REQUEST, DUMP = 1, 0x300
ERROR, DONE = 2, 3
SCOPE, SCOPE_QUEUE = 4, 1
MISSING = 4
LOOPBACK = 1

QSTATS = {
    1: "ifindex", 2: "type", 3: "id", 8: "rx-packets", 9: "rx-bytes", 10: "tx-packets",
    11: "tx-bytes", 12: "rx-alloc-fail", 16: "rx-csum-unnecessary", 28: "tx-hw-gso-packets",
    29: "tx-hw-gso-bytes", 30: "tx-hw-gso-wire-packets", 31: "tx-hw-gso-wire-bytes",
    33: "tx-stop", 34: "tx-wake",
}
COMMANDS = {
    "page-pool-get": (5, {1: "id", 2: "ifindex", 3: "napi-id", 4: "inflight", 6: "detach-time"}),
    "queue-get": (10, {1: "id", 2: "ifindex", 3: "type", 4: "napi-id"}),
    "napi-get": (11, {1: "ifindex", 2: "id", 4: "pid"}),
    "qstats-get": (12, QSTATS),
    "qstats-queues": (12, QSTATS),
}


def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attrs(data):
    """Type and value of each attribute."""
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3fff, data[4:length]
        data = data[(length + 3) & ~3:]


def ask(sock, family, flags, command, data):
    """The payloads that answer, without the header of generic netlink."""
    sock.send(struct.pack("=IHHII", 20 + len(data), family, REQUEST | flags, 1, 0) +
              struct.pack("=BBH", command, 1, 0) + data)
    while True:
        rest = sock.recv(1 << 16)
        while rest:
            length, kind = struct.unpack_from("=IH", rest)
            body, rest = rest[16:length], rest[(length + 3) & ~3:]
            if kind == ERROR:
                error = -struct.unpack_from("=i", body)[0]
                if error in (errno.ENOENT, errno.EOPNOTSUPP):
                    sys.exit(MISSING)
                if error:
                    sys.exit(os.strerror(error))
                return
            if kind == DONE:
                return
            yield body[4:]
            if not flags:
                return


def number(value):
    return int.from_bytes(value, sys.byteorder)


def main():
    command, keys = COMMANDS[sys.argv[1]]
    index = socket.if_nametoindex(sys.argv[2])
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        answer = next(ask(sock, CTRL, 0, CTRL_GETFAMILY, attr(CTRL_FAMILY_NAME, b"netdev\0")))
        family = number(dict(attrs(answer))[CTRL_FAMILY_ID])
        data = attr(SCOPE, struct.pack("=I", SCOPE_QUEUE)) if sys.argv[1] == "qstats-queues" else b""
        for answer in ask(sock, family, DUMP, command, data):
            values = {keys[kind]: number(value) for kind, value in attrs(answer) if kind in keys}
            if values.get("ifindex", LOOPBACK) == index:
                print(*(f"{key}={value}" for key, value in values.items()))


if __name__ == "__main__":
    main()
