#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Puts RoCE v2 frames on an Ethernet that no HCA would send.

	roce_frame.py IF [KEY=VALUE]...

A UD send over IPv6 with a good invariant CRC. Keys: smac, dmac, sgid, dgid,
hop (255), pkey (0xffff), qkey, dqp, sqp (0x1234), data (hex), icrc (good or bad),
count (1), vary (sgid: another one for each frame; arp: the sender of an ARP
packet in the data, too), first (0: the number of the first of these).
"""

import ipaddress
import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
UD_SEND_ONLY = 0x64


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def masked(ip, udp, bth):
    """What routers may change counts as ones, and so does a missing LRH."""
    ip = bytes([ip[0] | 0x0f]) + b"\xff\xff\xff" + ip[4:7] + b"\xff" + ip[8:]
    udp = udp[:6] + b"\xff\xff"
    bth = bth[:4] + b"\xff" + bth[5:]
    return b"\xff" * 8 + ip + udp + bth


def frame(args, sgid, data):
    pad = -len(data) % 4
    bth = struct.pack(">BBHII", UD_SEND_ONLY, pad << 4, int(args["pkey"], 0),
                      int(args["dqp"], 0), 0)
    deth = struct.pack(">II", int(args["qkey"], 0), int(args["sqp"], 0))
    payload = deth + data + bytes(pad)
    length = 8 + len(bth) + len(payload) + 4
    udp = struct.pack(">HHHH", 0xc000, ROCE_PORT, length, 0)
    ip = struct.pack(">IHBB", 6 << 28, length, 17, int(args["hop"])) + \
        sgid + ipaddress.ip_address(args["dgid"]).packed
    icrc = zlib.crc32(masked(ip, udp, bth) + payload)
    if args["icrc"] != "good":
        icrc ^= 1
    return mac(args["dmac"]) + mac(args["smac"]) + b"\x86\xdd" + ip + udp + \
        bth + payload + struct.pack("<I", icrc)


def varied(args, i):
    """The i-th source GID, and what an ARP packet says of it."""
    sgid = ipaddress.ip_address(args["sgid"]).packed
    data = bytes.fromhex(args["data"])
    if args["vary"]:
        sgid = sgid[:12] + struct.pack(">I", 0x10000 + i)
    if args["vary"] == "arp":
        # header of 4, ARP header of 8, QPN of 4, GID, and the IP address
        data = data[:16] + sgid + struct.pack(">I", 0x0a090000 + 0x4000 + i) + data[36:]
    return sgid, data


def main():
    args = {"hop": "255", "pkey": "0xffff", "sqp": "0x1234", "icrc": "good",
            "count": "1", "vary": "", "first": "0", "data": ""}
    args.update(word.split("=", 1) for word in sys.argv[2:])
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((sys.argv[1], 0))
        first = int(args["first"])
        for i in range(first, first + int(args["count"])):
            sock.send(frame(args, *varied(args, i)))


main()
