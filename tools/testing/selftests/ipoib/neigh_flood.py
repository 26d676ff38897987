#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints ARP requests of neighbours that do not exist, for ud_verbs -d -.

	neigh_flood.py RATE SECONDS TARGET [OWN [SOURCE]]

Each is for the address TARGET, from 10.9.9.9, with a link-layer address of its own that
has the GID fe80::4391:0:N. The answer goes there. RATE of them are printed a second. For
an IPv6 address they are Neighbour Solicitations, from fd09::9909, behind a header of
destination options. While nothing reads them they are not made, and not made good for. With
OWN, a GID in hex, that one is named: by each ARP request, and by each solicitation in an
option before the other. The first half of one stands for all that begin so. ARP requests are
from SOURCE in place of 10.9.9.9 if it is given.
"""

import socket
import sys
import time

STEP = 0.02


def gid(number, own="fe80000000000000"):
    """Number @number of those that begin with @own, in hex."""
    return own + f"{0x4391 << 32 | number:016x}" if len(own) == 16 else own


def request(number, target, own, source="10.9.9.9"):
    """The encapsulation header and the ARP packet in hex."""
    lladdr = "00004391" + (gid(number, own) if own else gid(number))
    return "08060000" + "002008001404" + "0001" + lladdr + socket.inet_aton(source).hex() + \
        "00" * 20 + socket.inet_aton(target).hex()


def checksum(data):
    """Of the Internet, RFC 1071."""
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def solicitation(number, target, own):
    """The encapsulation header and the IPv6 packet in hex."""
    lladdr = "00004391" + gid(number)
    src = socket.inet_pton(socket.AF_INET6, "fd09::9909")
    dst = socket.inet_pton(socket.AF_INET6, target)
    # source link-layer address: 3 times 8 octets, RFC 4391 section 9.3
    first = "02030000" + "00004391" + gid(number, own) if own else ""
    body = bytes(4) + dst + bytes.fromhex(first + "01030000" + lladdr)
    icmp = bytes((135, 0, 0, 0)) + body
    total = checksum(src + dst + len(icmp).to_bytes(4, "big") + bytes((0, 0, 0, 58)) + icmp)
    icmp = bytes((135, 0)) + total.to_bytes(2, "big") + body
    options = bytes.fromhex("3a00010400000000")
    length = len(options) + len(icmp)
    return "86dd0000" + "60000000" + f"{length:04x}" + "3cff" + src.hex() + dst.hex() + \
        options.hex() + icmp.hex()


def main():
    rate, seconds, target = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    make = solicitation if ":" in target else request
    more = sys.argv[4:] or [""]
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        due = int(now * rate)
        sent = max(sent, due - rate // 10)
        for number in range(sent, due):
            print(make(number, target, *more))
        sys.stdout.flush()
        sent = max(sent, due)
        time.sleep(STEP)


try:
    main()
except BrokenPipeError:
    pass
