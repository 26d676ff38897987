#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check a capture of the fabric: record sizes, LRH and GRH lengths, time
stamps in order, and the ICRC of every packet (IBTA 7.8.1), computed anew."""

import struct
import sys
import zlib


def check_packet(data):
    lnh = data[1] & 3
    words = struct.unpack(">H", data[4:6])[0]
    if words * 4 != len(data) - 2:
        raise ValueError("LRH length %u, packet %u" % (words * 4, len(data)))
    masked = bytearray(data[:-6])
    masked[0] |= 0xF0
    bth = 8
    if lnh == 3:
        paylen = struct.unpack(">H", data[12:14])[0]
        if paylen != len(data) - 2 - 48:
            raise ValueError("GRH length %u" % paylen)
        masked[8] |= 0x0F
        masked[9:12] = b"\xff\xff\xff"
        masked[15] = 0xFF
        bth = 48
    masked[bth + 4] = 0xFF
    icrc = struct.unpack("<I", data[-6:-2])[0]
    if icrc != zlib.crc32(masked):
        raise ValueError("ICRC %08x, computed %08x" % (icrc, zlib.crc32(masked)))


def main(path):
    with open(path, "rb") as f:
        data = f.read()
    magic, major, minor, _, _, _, link = struct.unpack("<IHHiIII", data[:24])
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 247)
    pos, n, last = 24, 0, (0, 0)
    while pos < len(data):
        sec, nsec, caplen, length = struct.unpack("<IIII", data[pos:pos + 16])
        assert caplen == length, "record %u is cut" % n
        assert (sec, nsec) >= last and nsec < 10**9, "time of record %u" % n
        last = (sec, nsec)
        pos += 16
        try:
            check_packet(data[pos:pos + caplen])
        except ValueError as err:
            sys.exit("packet %u: %s" % (n + 1, err))
        pos += caplen
        n += 1
    assert pos == len(data), "the last record is torn"
    assert n, "no packets"
    print("%u packets" % n)


main(sys.argv[1])
