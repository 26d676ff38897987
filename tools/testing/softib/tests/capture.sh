#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The capture file of the software fabric: what it streams is a valid pcap at
# any time, tshark decodes all kinds of frames on it, segments and PSNs of
# messages are those of a real wire, losses can be told, and readers do not
# disturb each other or the data path.
#
#	   softib0 ---- switch ---- softib1
#	                  |
#	       capture, capture_erf -> cat, dd, tshark

TESTS_DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034 # for lib_softib.sh
HCA=generic
# shellcheck source=../../selftests/ipoib/lib.sh
. "$TESTS_DIR/../../selftests/ipoib/lib.sh"

# shellcheck disable=SC2034 # for ktap_main
CASES=(
	"header_first V the file header precedes all frames"
	"kill_any_time V a killed reader leaves whole records"
	"smp_decode V tshark decodes subnet management"
	"crc V length fields and ICRC of every packet are right"
	"rc_segments V a message is FIRST, MIDDLE, LAST with PSNs in a row, and acknowledged"
	"uc_segments V a UC message is FIRST, MIDDLE, LAST with PSNs in a row, without acknowledgments"
	"read_segments V a READ is a request and its responses"
	"loss V a lost message is recorded as lost, and sent again"
	"two_readers V each of two readers gets all frames"
	"nonblock V O_NONBLOCK reads do not wait, poll wakes up"
	"small_reads V a reader with a tiny buffer gets the same octets"
	"overflow V a reader that does not read loses records, which the summary counts, and delays no frame"
	"snaplen V records are truncated to snaplen"
)

PARAMS=/sys/module/softib/parameters

setup()
{
	trap fabric_down EXIT
	tools_build
	cc -O1 -o "$TESTDIR/verbs" "$TESTS_DIR"/verbs*.c -libverbs ||
		ktap_bail "cannot compile verbs.c"
	fabric_load 2
	opensm_start
}

# RC, UC and READ messages: cases of verbs.c by name
traffic()
{
	local index

	index=$("$TESTDIR/verbs" list | grep -nxF "$1" | cut -d: -f1)
	check "verbs: $1" timeout 60 "$TESTDIR/verbs" "$(ibdev 1)" \
		"$DEBUGFS/$(ibdev 1)" "$(ibdev 2)" "$DEBUGFS/$(ibdev 2)" \
		$((index - 1))
}

some_frames()
{
	timeout 60 ibv_rc_pingpong -d "$(ibdev 1)" -p 18515 -n 5 -s 4000 > /dev/null &
	busywait 10000 listening 18515
	timeout 60 ibv_rc_pingpong -d "$(ibdev 2)" -p 18515 -n 5 -s 4000 \
		127.0.0.1 > /dev/null || fail "no traffic"
	wait $!
}

listening()
{
	ss -Hltn "sport = :$1" | grep -q .
}

# A second stream, the one that tshark reads as it is
erf_start()
{
	capture_start "$1"
	ERF=$TESTDIR/$1.erf.pcap
	cat "$DEBUGFS/capture_erf" > "$ERF" &
	ERF_PID=$!
	busywait 5000 test -s "$ERF" || fail "no ERF capture"
}

# Both have all frames up to the marker.
erf_stop()
{
	capture_sync
	busywait 5000 erf_complete || fail "the ERF capture lags behind"
	kill "$ERF_PID"
	wait "$ERF_PID" 2> /dev/null
	capture_kill
	tshark -n -r "$ERF" -T fields -E occurrence=f -E separator=, \
		-e infiniband.bth.opcode -e infiniband.bth.psn \
		-e infiniband.variant.crc -e infiniband.mad.mgmtclass \
		-e _ws.malformed > "$TESTDIR/erf.csv" 2> "$TESTDIR/erf.err"
	check_eq "malformed packets" "$(cut -d, -f5 "$TESTDIR/erf.csv" | grep -c .)" 0
}

# The marker of capture_sync is in it.
erf_complete()
{
	python3 - "$ERF" "$(printf 'fefe0000%08x' "$MARKER")" <<-'END'
		import sys
		found = bytes.fromhex(sys.argv[2]) in open(sys.argv[1], "rb").read()
		sys.exit(not found)
	END
}

# rows CONDITION of awk on op, psn, vcrc, class: the rows
rows()
{
	awk -F, "{ op = \$1 == \"\" ? -1 : \$1 + 0; psn = \$2; vcrc = \$3; class = \$4 } $1" \
		"$TESTDIR/erf.csv"
}

row_count()
{
	rows "$1" | wc -l
}

# tshark reads the whole file without a complaint
valid_pcap()
{
	check "tshark reads $1" tshark -n -r "$1"
}

header_first()
{
	local bytes

	bytes=$(dd if="$DEBUGFS/capture" bs=24 count=1 2> /dev/null |
		od -An -tx4 | tr -s ' \n' ' ')
	check_eq "file header" "$bytes" \
		" a1b23c4d 00040002 00000000 00000000 0000ffff 000000f7 "
}

kill_any_time()
{
	local i reader

	for i in 1 2; do
		cat "$DEBUGFS/capture_erf" > "$TESTDIR/kill$i.pcap" &
		reader=$!
		some_frames &
		busywait 10000 longer_than "$TESTDIR/kill$i.pcap" $((2000 * i))
		kill "$reader"
		wait "$reader" 2> /dev/null
		wait $!
		valid_pcap "$TESTDIR/kill$i.pcap"
	done
}

longer_than()
{
	[ "$(stat -c %s "$1" 2> /dev/null || echo 0)" -gt "$2" ]
}

smp_decode()
{
	erf_start smp
	check "sminfo" sminfo -C "$(ibdev 2)"
	check "smpquery" smpquery -C "$(ibdev 2)" -D nodeinfo 0,1
	check "perfquery" perfquery -C "$(ibdev 2)"
	erf_stop
	check_num "directed-route SMPs" "$(row_count 'class == "0x81"')" -ge 2
	check_num "LID-routed SMPs" "$(row_count 'class == "0x01"')" -ge 2
	check_num "performance MADs" "$(row_count 'class == "0x04"')" -ge 2
}

crc()
{
	capture_start crc
	some_frames
	sminfo -C "$(ibdev 2)" > /dev/null
	capture_stop
	check "lengths and ICRC" python3 "$TESTS_DIR/check_pcap.py" "$CAPTURE"
}

rc_segments()
{
	capture_start rc
	some_frames
	capture_stop
	frames -f dqp -f op -f psn | awk '$2 < "20"' > "$TESTDIR/rc.txt"
	check "segments" python3 - "$TESTDIR/rc.txt" <<-'END'
		import sys
		# 4000 bytes at an MTU of 1024: FIRST, MIDDLE, MIDDLE, LAST; an ACK.
		lines = [[int(x, 16) for x in l.split()] for l in open(sys.argv[1])]
		qps = sorted(set(l[0] for l in lines))
		assert len(qps) == 2, qps
		for qp, peer in (qps, qps[::-1]):
		    sent = [l[1:] for l in lines if l[0] == qp and l[1] < 16]
		    acks = [l[2] for l in lines if l[0] == peer and l[1] == 17]
		    assert [s[0] for s in sent] == [0, 1, 1, 2] * 5, sent
		    base = sent[0][1]
		    assert [s[1] for s in sent] == [(base + i) & 0xffffff for i in range(20)], sent
		    assert acks == [s[1] for s in sent if s[0] == 2], acks
	END
}

uc_segments()
{
	erf_start uc
	traffic "UC: a lost message leaves its buffer"
	erf_stop
	# 3000 bytes at an MTU of 2048, three messages, the second lost
	check_eq "UC packets" "$(row_count 'op >= 32 && op < 64')" 6
	check_eq "lost UC packets" "$(row_count 'op >= 32 && op < 64 && vcrc != "0x0000"')" 2
	check_eq "acknowledgments" "$(row_count 'op == 17')" 0
}

read_segments()
{
	erf_start read
	traffic "RC RDMA READ"
	erf_stop
	check_eq "kinds of packets" \
		"$(rows 'op >= 0 && op < 32' | cut -d, -f1 | sort -nu | tr '\n' ' ')" \
		"12 13 14 15 16 "
}

loss()
{
	erf_start loss
	traffic "RC: retry_cnt losses are survived"
	erf_stop
	# Sent three times, lost twice, with the same PSN.
	check_eq "SENDs" "$(row_count 'op == 5')" 3
	check_eq "PSNs" "$(rows 'op == 5' | cut -d, -f2 | sort -u | wc -l)" 1
	check_eq "marked as lost" "$(row_count 'op == 5 && vcrc != "0x0000"')" 2
	check_eq "acknowledgments" "$(row_count 'op == 17')" 1
}

# ends_with LONG SHORT: the records of SHORT are the last of LONG
ends_with()
{
	local size

	size=$(($(stat -c %s "$2") - 24))
	[ $size -gt 0 ] && cmp -s <(tail -c "$size" "$1") <(tail -c "$size" "$2")
}

two_readers()
{
	local second

	cat "$DEBUGFS/capture" > "$TESTDIR/second.pcap" &
	second=$!
	busywait 5000 test -s "$TESTDIR/second.pcap" || fail "no second reader"
	capture_start first
	some_frames
	capture_sync
	busywait 5000 ends_with "$TESTDIR/second.pcap" "$CAPTURE" ||
		fail "the readers got different bytes"
	kill "$second"
	wait "$second" 2> /dev/null
	capture_kill
}

nonblock()
{
	timeout 60 python3 - "$DEBUGFS/capture" <<-'END' > "$TESTDIR/nonblock" 2>&1 &
		import os, select, sys
		fd = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
		poll = select.poll()
		poll.register(fd, select.POLLIN)
		assert poll.poll(0), "no header"
		assert len(os.read(fd, 4096)) == 24
		try:
		    while True:
		        os.read(fd, 65536)
		except BlockingIOError:
		    pass
		print("ready", flush=True)
		assert poll.poll(50000), "poll does not wake up"
		assert len(os.read(fd, 65536)) > 16
	END
	background_ready "$TESTDIR/nonblock" || fail "no reader"
	sminfo -C "$(ibdev 2)" > /dev/null
	wait $! || fail "$(cat "$TESTDIR/nonblock")"
}

small_reads()
{
	local small

	dd if="$DEBUGFS/capture" bs=7 of="$TESTDIR/small.pcap" 2> /dev/null &
	small=$!
	busywait 5000 longer_than "$TESTDIR/small.pcap" 23 || fail "no reader"
	capture_start whole
	some_frames
	capture_sync
	busywait 10000 ends_with "$TESTDIR/small.pcap" "$CAPTURE" ||
		fail "the bytes differ"
	kill "$small"
	wait "$small" 2> /dev/null
	capture_kill
}

lost_records()
{
	sed -n 's/^capture: .* lost \([0-9]*\)$/\1/p' "$DEBUGFS/summary"
}

overflow()
{
	local before reader

	before=$(lost_records)
	echo 64 > $PARAMS/capture_kb
	exec {reader}< "$DEBUGFS/capture_erf"
	echo 8192 > $PARAMS/capture_kb
	traffic "RC SEND: every size, in order"
	check_num "lost records in the summary" "$(lost_records)" -gt "$before"
	cat <&"$reader" > "$TESTDIR/overflow.pcap" &
	busywait 5000 longer_than "$TESTDIR/overflow.pcap" 50000 || fail "nothing in the ring"
	kill $!
	wait $! 2> /dev/null
	exec {reader}<&-
	valid_pcap "$TESTDIR/overflow.pcap"
}

snaplen()
{
	echo 60 > $PARAMS/snaplen
	erf_start snap
	some_frames
	busywait 5000 longer_than "$ERF" 1000
	kill "$ERF_PID"
	wait "$ERF_PID" 2> /dev/null
	capture_kill
	echo 0 > $PARAMS/snaplen
	tshark -n -r "$ERF" -T fields -e frame.cap_len -e frame.len \
		> "$TESTDIR/snap.txt" 2> /dev/null
	check_eq "longest record" "$(cut -f1 "$TESTDIR/snap.txt" | sort -n | tail -n 1)" 60
	check_num "longest packet" "$(cut -f2 "$TESTDIR/snap.txt" | sort -n | tail -n 1)" -gt 1000
}

ktap_main "$@"
