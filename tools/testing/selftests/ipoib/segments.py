#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
#
# Segments of TCP and UDP, for segments.sh:
#
#	segments.py wire FILE PORT	IPoIB packets of that port in a capture, a line of hex each
#	segments.py taps PORT		"ready", then the length of each packet from or to that port
#					as packet sockets see it: before the driver cuts it up
#	segments.py udp PORT ADDRESS SIZE OCTETS	send octets from and to that UDP port, at
#					once, in datagrams of SIZE octets
#	segments.py udp_get PORT ADDRESS	"ready", then the length and digest of each datagram
#	segments.py sendfile ADDRESS FILE	send it to TCP port 7000 and print its digest

import hashlib
import socket
import struct
import sys

OP_UD = 0x64


def ports(packet):
    """TCP or UDP ports of an IP packet."""
    if packet[0] >> 4 == 4:
        proto, at = packet[9], (packet[0] & 15) * 4
    else:
        proto, at = packet[6], 40
        if proto == socket.IPPROTO_DSTOPTS:
            proto, at = packet[40], 48 + packet[41] * 8
    if len(packet) < at + {socket.IPPROTO_TCP: 20, socket.IPPROTO_UDP: 8}.get(proto, 1 << 16):
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


def udp_socket():
    return socket.socket(socket.AF_INET6 if ":" in sys.argv[3] else socket.AF_INET,
                         socket.SOCK_DGRAM)


def udp(port, address, size, octets):
    # Neither connected nor to be fragmented: IPv4's identification begins with 0
    with udp_socket() as sock:
        if sock.family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: IP_PMTUDISC_DO
        sock.bind(("", port))
        sock.setsockopt(socket.IPPROTO_UDP, 103, size)  # UDP_SEGMENT
        sock.sendto(bytes(i * 7 % 251 for i in range(octets)), (address, port))


def udp_get(port, address):
    with udp_socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        sock.bind((address, port))
        print("ready", flush=True)
        while True:
            data = sock.recv(1 << 16)
            print(len(data), hashlib.sha256(data).hexdigest(), flush=True)


def sendfile(address, name):
    with open(name, "rb") as file, socket.create_connection((address, 7000)) as peer:
        peer.sendfile(file)
    with open(name, "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())


if sys.argv[1] == "wire":
    wire(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "taps":
    taps(int(sys.argv[2]))
elif sys.argv[1] == "udp":
    udp(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
elif sys.argv[1] == "udp_get":
    udp_get(int(sys.argv[2]), sys.argv[3])
else:
    sendfile(sys.argv[2], sys.argv[3])
