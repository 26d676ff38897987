#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Segments of TCP, for segments.sh:
#
#	segments.py wire FILE PORT	IPoIB packets of that TCP port in a capture, a line of hex each
#	segments.py taps PORT		"ready", then the length of each packet from or to that port
#					as packet sockets see it: before the driver cuts it up
#	segments.py sendfile ADDRESS FILE	send it to TCP port 7000 and print its digest

import hashlib
import socket
import struct
import sys

OP_UD = 0x64


def ports(packet):
    """TCP ports of an IP packet."""
    if packet[0] >> 4 == 4:
        proto, at = packet[9], (packet[0] & 15) * 4
    else:
        proto, at = packet[6], 40
        if proto == socket.IPPROTO_DSTOPTS:
            proto, at = packet[40], 48 + packet[41] * 8
    if proto != socket.IPPROTO_TCP or len(packet) < at + 20:
        return ()
    return struct.unpack_from(">HH", packet, at)


def packets(capture):
    """What a pcap file of LINKTYPE_INFINIBAND holds."""
    at = 24
    while at + 16 <= len(capture):
        size = struct.unpack_from("=I", capture, at + 8)[0]
        yield capture[at + 16:at + 16 + size]
        at += 16 + size


def wire(name, port):
    with open(name, "rb") as file:
        capture = file.read()
    for packet in packets(capture):
        bth = 48 if packet[1] & 3 == 3 else 8
        if len(packet) < bth + 20 + 4 + 20 + 6 or packet[bth] != OP_UD:
            continue
        pad = packet[bth + 1] >> 4 & 3
        # ICRC and VCRC are behind the pad.
        payload = packet[bth + 20:len(packet) - 6 - pad]
        if payload[:2] in (b"\x08\x00", b"\x86\xdd") and port in ports(payload[4:]):
            print(payload.hex())


def taps(port):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
    print("ready", flush=True)
    while True:
        packet, address = sock.recvfrom(1 << 17)
        if address[2] == socket.PACKET_OUTGOING and address[1] in (0x800, 0x86dd) and \
                len(packet) >= 40 and port in ports(packet):
            print(len(packet), flush=True)


def sendfile(address, name):
    with open(name, "rb") as file, socket.create_connection((address, 7000)) as peer:
        peer.sendfile(file)
    with open(name, "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())


if sys.argv[1] == "wire":
    wire(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "taps":
    taps(int(sys.argv[2]))
else:
    sendfile(sys.argv[2], sys.argv[3])
