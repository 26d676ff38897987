// SPDX-License-Identifier: GPL-2.0
/*
 * The debugfs files "capture" and "capture_erf": all frames as a pcap stream.
 *
 * A reader gets a pcap global header (nanosecond time stamps) and then a
 * record for each packet sent by a port, with its bytes on the wire from LRH
 * to VCRC. A message that travels as one struct softib_frame is segmented at
 * its path MTU here, and only here. A multicast packet is one record,
 * independent of the number of copies.
 *
 * "capture" has LINKTYPE_INFINIBAND. Wireshark has a dissector for it, but
 * (up to 4.4 at least) no entry in its list of pcap link types: rewrite the
 * type to user type 147, and map it in user_dlts. "capture_erf" has an ERF
 * header in front of each packet, which any tshark reads unchanged.
 *
 * The ICRC is correct. The VCRC is a code: 0 for a forwarded frame, and for a
 * dropped frame the reason of the source port or switch (1 + enum
 * softib_drop), so "infiniband.variant.crc != 0" in tshark selects the drops.
 *
 * Each open file has a ring, filled by the data path and emptied by read(). A
 * full ring loses the record for this reader alone, and counts it. A spinlock
 * orders the writers, so records are in the order of their time stamps;
 * without a reader the data path does not take it. read() returns whole
 * records as far as they fit: killing a reader leaves no torn record at the
 * end of its file.
 */
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "softib.h"

#define SOFTIB_PCAP_MAGIC_NS	0xa1b23c4d
#define SOFTIB_PCAP_INFINIBAND	247	/* LINKTYPE_INFINIBAND */
#define SOFTIB_PCAP_ERF		197	/* LINKTYPE_ERF */
#define SOFTIB_PCAP_SNAPLEN	65535

/* LRH, GRH, BTH, the longest extensions (RETH, ImmDt), payload, ICRC, VCRC */
#define SOFTIB_WIRE_HDR		(8 + 40 + 12 + 16 + 4)
#define SOFTIB_WIRE_MAX		(SOFTIB_WIRE_HDR + 4096 + 3 + 4 + 2)

static unsigned int capture_kb = 8192;
module_param(capture_kb, uint, 0644);
MODULE_PARM_DESC(capture_kb, "Ring of each reader of the capture file, in KiB");

static unsigned int snaplen;
module_param(snaplen, uint, 0644);
MODULE_PARM_DESC(snaplen, "Capture only this many bytes of each packet (0: all)");

struct softib_pcap_file_hdr {
	u32 magic;
	u16 major;
	u16 minor;
	s32 thiszone;
	u32 sigfigs;
	u32 snaplen;
	u32 linktype;
};

struct softib_pcap_rec_hdr {
	u32 sec;
	u32 nsec;
	u32 caplen;
	u32 len;
};

#define SOFTIB_ERF_INFINIBAND	21
#define SOFTIB_ERF_VARYING	0x04

struct softib_erf_hdr {
	__le64 time;
	u8 type;
	u8 flags;
	__be16 rlen;
	__be16 lost;
	__be16 wlen;
};

/**
 * struct softib_reader - an open capture file
 * @node: in softib_capture.readers
 * @wait: wait queue of read() and poll()
 * @mutex: serialises read(); guards @tail, @skip and @greeted
 * @ring: whole records in sequence
 * @mask: size of @ring - 1
 * @head: total bytes written; by the data path under softib_capture.lock
 * @tail: total bytes read
 * @skip: bytes of the record at @tail that were read
 * @greeted: bytes of the file header that were read
 * @lost: records lost to a full ring; under softib_capture.lock
 * @told: records of @lost that ERF headers have reported
 * @erf: records have ERF headers
 */
struct softib_reader {
	struct list_head node;
	wait_queue_head_t wait;
	struct mutex mutex;	/* serialises read() */
	u8 *ring;
	size_t mask;
	size_t head;
	size_t tail;
	size_t skip;
	size_t greeted;
	u64 lost;
	u64 told;
	bool erf;
};

/* Readers, records lost by all of them, and a buffer for a packet; interrupts off */
static struct {
	spinlock_t lock;	/* guards all fields */
	struct list_head readers;
	unsigned int count;
	u64 records;
	u64 lost;
	u8 wire[SOFTIB_WIRE_MAX];
} softib_capture = {
	.lock = __SPIN_LOCK_UNLOCKED(softib_capture.lock),
	.readers = LIST_HEAD_INIT(softib_capture.readers),
};

bool softib_capture_on __read_mostly;

/* Opcodes of the packets of a segmented message */
struct softib_cut {
	u8 first;
	u8 middle;
	u8 last;
};

#define SOFTIB_CUT(f, m, l) { IB_OPCODE_##f, IB_OPCODE_##m, IB_OPCODE_##l }

static const struct softib_cut softib_cuts[] = {
	[IB_OPCODE_SEND_FIRST] =
		SOFTIB_CUT(SEND_FIRST, SEND_MIDDLE, SEND_MIDDLE),
	[IB_OPCODE_SEND_MIDDLE] =
		SOFTIB_CUT(SEND_MIDDLE, SEND_MIDDLE, SEND_MIDDLE),
	[IB_OPCODE_SEND_LAST] =
		SOFTIB_CUT(SEND_MIDDLE, SEND_MIDDLE, SEND_LAST),
	[IB_OPCODE_SEND_LAST_WITH_IMMEDIATE] =
		SOFTIB_CUT(SEND_MIDDLE, SEND_MIDDLE, SEND_LAST_WITH_IMMEDIATE),
	[IB_OPCODE_SEND_ONLY] =
		SOFTIB_CUT(SEND_FIRST, SEND_MIDDLE, SEND_LAST),
	[IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE] =
		SOFTIB_CUT(SEND_FIRST, SEND_MIDDLE, SEND_LAST_WITH_IMMEDIATE),
	[IB_OPCODE_RDMA_WRITE_FIRST] =
		SOFTIB_CUT(RDMA_WRITE_FIRST, RDMA_WRITE_MIDDLE, RDMA_WRITE_MIDDLE),
	[IB_OPCODE_RDMA_WRITE_MIDDLE] =
		SOFTIB_CUT(RDMA_WRITE_MIDDLE, RDMA_WRITE_MIDDLE, RDMA_WRITE_MIDDLE),
	[IB_OPCODE_RDMA_WRITE_LAST] =
		SOFTIB_CUT(RDMA_WRITE_MIDDLE, RDMA_WRITE_MIDDLE, RDMA_WRITE_LAST),
	[IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE] =
		SOFTIB_CUT(RDMA_WRITE_MIDDLE, RDMA_WRITE_MIDDLE,
			   RDMA_WRITE_LAST_WITH_IMMEDIATE),
	[IB_OPCODE_RDMA_WRITE_ONLY] =
		SOFTIB_CUT(RDMA_WRITE_FIRST, RDMA_WRITE_MIDDLE, RDMA_WRITE_LAST),
	[IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE] =
		SOFTIB_CUT(RDMA_WRITE_FIRST, RDMA_WRITE_MIDDLE,
			   RDMA_WRITE_LAST_WITH_IMMEDIATE),
	/* A burst of a READ is a response of its own. */
	[IB_OPCODE_RDMA_READ_RESPONSE_ONLY] =
		SOFTIB_CUT(RDMA_READ_RESPONSE_FIRST, RDMA_READ_RESPONSE_MIDDLE,
			   RDMA_READ_RESPONSE_LAST),
};

/* Opcode of packet @i of @n of a message */
static u8 softib_capture_opcode(u8 opcode, u32 i, u32 n)
{
	const u8 transport = opcode & RVT_OPCODE_QP_MASK;
	const u8 op = opcode & ~RVT_OPCODE_QP_MASK;
	const struct softib_cut *cut;

	if (n == 1 || op >= ARRAY_SIZE(softib_cuts))
		return opcode;
	cut = &softib_cuts[op];
	if (i == 0)
		return transport | cut->first;
	return transport | (i == n - 1 ? cut->last : cut->middle);
}

static u8 *softib_put16(u8 *p, u16 val)
{
	put_unaligned_be16(val, p);
	return p + sizeof(val);
}

static u8 *softib_put32(u8 *p, u32 val)
{
	put_unaligned_be32(val, p);
	return p + sizeof(val);
}

static u8 *softib_put_reth(u8 *p, const struct softib_frame *frame)
{
	put_unaligned_be64(frame->va, p);
	p = softib_put32(p + sizeof(frame->va), frame->rkey);
	return softib_put32(p, frame->dmalen);
}

static u8 *softib_put_imm(u8 *p, const struct softib_frame *frame)
{
	return softib_put32(p, be32_to_cpu(frame->imm));
}

/* Extension headers after the BTH, IBTA table 38 */
static u8 *softib_put_ext(u8 *p, const struct softib_frame *frame, u8 opcode)
{
	if ((opcode & RVT_OPCODE_QP_MASK) == IB_OPCODE_UD) {
		p = softib_put32(p, frame->qkey);
		p = softib_put32(p, frame->sqpn);
	}
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_ONLY:
	case IB_OPCODE_RDMA_READ_REQUEST:
		return softib_put_reth(p, frame);
	case IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		p = softib_put_reth(p, frame);
		fallthrough;
	case IB_OPCODE_SEND_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE:
	case IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE:
		return softib_put_imm(p, frame);
	case IB_OPCODE_RDMA_READ_RESPONSE_FIRST:
	case IB_OPCODE_RDMA_READ_RESPONSE_LAST:
	case IB_OPCODE_RDMA_READ_RESPONSE_ONLY:
	case IB_OPCODE_ACKNOWLEDGE:
		return softib_put32(p, frame->aeth);
	default:
		return p;
	}
}

/* The packet is the last of its message. */
static bool softib_opcode_ends(u8 opcode)
{
	switch (opcode & ~RVT_OPCODE_QP_MASK) {
	case IB_OPCODE_SEND_FIRST:
	case IB_OPCODE_SEND_MIDDLE:
	case IB_OPCODE_RDMA_WRITE_FIRST:
	case IB_OPCODE_RDMA_WRITE_MIDDLE:
	case IB_OPCODE_RDMA_READ_RESPONSE_FIRST:
	case IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE:
		return false;
	default:
		return true;
	}
}

static u8 *softib_put_bth(u8 *p, const struct softib_frame *frame, u8 opcode,
			  u32 psn, u32 pad)
{
	const bool ends = softib_opcode_ends(opcode);
	u32 word;

	/* Connections have no alternate path: always migrated. */
	word = opcode << IB_BTH_OPCODE_SHIFT | IB_BTH_MIG_REQ |
	       pad << IB_BTH_PAD_SHIFT | frame->pkey;
	if (ends && frame->se)
		word |= IB_BTH_SOLICITED;
	p = softib_put32(p, word);
	p = softib_put32(p, frame->dqpn & IB_QPN_MASK);
	word = psn & 0xffffff;
	if (ends && frame->ackreq)
		word |= IB_BTH_REQ_ACK;
	return softib_put32(p, word);
}

static u8 *softib_put_lrh(u8 *p, const struct softib_frame *frame)
{
	const u8 lnh = frame->has_grh ? IB_LNH_IBA_GLOBAL : IB_LNH_IBA_LOCAL;

	p = softib_put16(p, frame->vl << 12 | frame->sl << 4 | lnh);
	p = softib_put16(p, frame->dlid);
	p = softib_put16(p, 0); /* length, see softib_put_lengths() */
	return softib_put16(p, frame->slid);
}

/* @end: the end of the ICRC */
static void softib_put_lengths(const struct softib_frame *frame, u8 *start,
			       const u8 *end)
{
	softib_put16(start + 4, (end - start) / 4);
	if (frame->has_grh)
		softib_put16(start + 8 + offsetof(struct ib_grh, paylen),
			     end - start - 8 - sizeof(struct ib_grh));
}

/* IBTA 7.8.1: the CRC of Ethernet from LRH to padding, with variant fields as all ones */
static u32 softib_icrc(const struct softib_frame *frame, const u8 *start,
		       const u8 *end)
{
	u8 hdr[8 + sizeof(struct ib_grh) + 12];
	u32 len = 8;

	if (frame->has_grh)
		len += sizeof(struct ib_grh);
	memcpy(hdr, start, len + 12);
	hdr[0] |= 0xf0;			/* VL */
	if (frame->has_grh) {
		hdr[8] |= 0x0f;		/* traffic class, flow label */
		memset(hdr + 9, 0xff, 3);
		hdr[8 + offsetof(struct ib_grh, hop_limit)] = 0xff;
	}
	hdr[len + 4] = 0xff;		/* BTH resv8a */
	len += 12;
	return ~crc32_le(crc32_le(~0, hdr, len), start + len,
			 end - start - len);
}

/**
 * struct softib_slice - a packet of a message
 * @opcode: BTH opcode
 * @psn: BTH PSN
 * @len: payload bytes
 * @vcrc: value in place of the VCRC
 */
struct softib_slice {
	u8 opcode;
	u32 psn;
	u32 len;
	u16 vcrc;
};

/* Build a packet in softib_capture.wire; returns its length. */
static u32 softib_capture_build(const struct softib_frame *frame,
				struct softib_payload *from,
				const struct softib_slice *slice)
{
	u8 *start = softib_capture.wire;
	u32 pad = -slice->len & 3;
	u8 *p;

	p = softib_put_lrh(start, frame);
	if (frame->has_grh) {
		memcpy(p, &frame->grh, sizeof(frame->grh));
		p += sizeof(frame->grh);
	}
	p = softib_put_bth(p, frame, slice->opcode, slice->psn, pad);
	p = softib_put_ext(p, frame, slice->opcode);
	softib_payload_read(from, p, slice->len);
	p += slice->len;
	memset(p, 0, pad);
	p += pad;
	softib_put_lengths(frame, start, p + 4);
	put_unaligned_le32(softib_icrc(frame, start, p), p);
	p = softib_put16(p + 4, slice->vcrc);
	return p - start;
}

static void softib_ring_put(struct softib_reader *reader, size_t pos,
			    const void *from, size_t len)
{
	const size_t at = pos & reader->mask;
	const size_t part = min(len, reader->mask + 1 - at);

	memcpy(reader->ring + at, from, part);
	memcpy(reader->ring, from + part, len - part);
}

static void softib_ring_get(const struct softib_reader *reader, size_t pos,
			    void *to, size_t len)
{
	const size_t at = pos & reader->mask;
	const size_t part = min(len, reader->mask + 1 - at);

	memcpy(to, reader->ring + at, part);
	memcpy(to + part, reader->ring, len - part);
}

/* @rec: pcap header of the record; its lengths include the ERF header */
static void softib_reader_store_erf(struct softib_reader *reader, size_t pos,
				    const struct softib_pcap_rec_hdr *rec)
{
	const u64 lost = min_t(u64, reader->lost - reader->told, U16_MAX);
	const u64 frac = div_u64((u64)rec->nsec << 32, NSEC_PER_SEC);
	const struct softib_erf_hdr hdr = {
		.time = cpu_to_le64((u64)rec->sec << 32 | frac),
		.type = SOFTIB_ERF_INFINIBAND,
		.flags = SOFTIB_ERF_VARYING,
		.rlen = cpu_to_be16(rec->caplen),
		.lost = cpu_to_be16(lost),
		.wlen = cpu_to_be16(rec->len - sizeof(hdr)),
	};

	reader->told += lost;
	softib_ring_put(reader, pos, &hdr, sizeof(hdr));
}

static void softib_reader_store(struct softib_reader *reader,
				struct softib_pcap_rec_hdr hdr)
{
	/* pairs with the release in softib_reader_copy() */
	const size_t used = reader->head - smp_load_acquire(&reader->tail);
	const u32 extra = reader->erf ? sizeof(struct softib_erf_hdr) : 0;
	const size_t size = sizeof(hdr) + extra + hdr.caplen;
	const u32 caplen = hdr.caplen;
	size_t pos = reader->head;

	if (size > reader->mask + 1 - used) {
		reader->lost++;
		softib_capture.lost++;
		return;
	}
	hdr.caplen += extra;
	hdr.len += extra;
	softib_ring_put(reader, pos, &hdr, sizeof(hdr));
	pos += sizeof(hdr);
	if (extra)
		softib_reader_store_erf(reader, pos, &hdr);
	softib_ring_put(reader, pos + extra, softib_capture.wire, caplen);
	/* pairs with softib_reader_fill() */
	smp_store_release(&reader->head, reader->head + size);
	if (wq_has_sleeper(&reader->wait))
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM);
}

static void softib_capture_store(u32 len)
{
	const u32 limit = READ_ONCE(snaplen) ?: SOFTIB_PCAP_SNAPLEN;
	struct softib_pcap_rec_hdr hdr = {
		.caplen = min(len, limit),
		.len = len,
	};
	struct softib_reader *reader;
	struct timespec64 now;

	ktime_get_real_ts64(&now);
	hdr.sec = now.tv_sec;
	hdr.nsec = now.tv_nsec;
	softib_capture.records++;
	list_for_each_entry(reader, &softib_capture.readers, node)
		softib_reader_store(reader, hdr);
}

/**
 * __softib_capture_frame() - write a frame to the rings of all readers
 * @frame: the frame
 * @fate: 0, or 1 + the enum softib_drop of a dropped frame
 *
 * Context: any; takes softib_capture.lock only.
 */
void __softib_capture_frame(struct softib_frame *frame, u16 fate)
{
	const u32 mtu = min(frame->mtu ?: 4096, 4096U);
	const u32 n = max(DIV_ROUND_UP(frame->len, mtu), 1U);
	struct softib_slice slice = { .psn = frame->psn, .vcrc = fate };
	struct softib_payload from;
	u32 left = frame->len;
	unsigned long flags;
	u32 i;

	if (frame->captured)
		return;
	frame->captured = true;
	softib_payload_init(&from, frame);
	spin_lock_irqsave(&softib_capture.lock, flags);
	for (i = 0; i < n; i++) {
		slice.opcode = softib_capture_opcode(frame->opcode, i, n);
		slice.len = min(left, mtu);
		softib_capture_store(softib_capture_build(frame, &from, &slice));
		slice.psn++;
		left -= slice.len;
	}
	spin_unlock_irqrestore(&softib_capture.lock, flags);
}

/* Bytes in the ring that were not read */
static size_t softib_reader_fill(const struct softib_reader *reader)
{
	/* pairs with softib_reader_store() */
	return smp_load_acquire(&reader->head) - reader->tail;
}

static bool softib_reader_ready(const struct softib_reader *reader)
{
	return reader->greeted < sizeof(struct softib_pcap_file_hdr) ||
	       softib_reader_fill(reader);
}

static ssize_t softib_reader_greet(struct softib_reader *reader,
				   char __user *buf, size_t count)
{
	const struct softib_pcap_file_hdr hdr = {
		.magic = SOFTIB_PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snaplen = SOFTIB_PCAP_SNAPLEN,
		.linktype = reader->erf ? SOFTIB_PCAP_ERF :
					  SOFTIB_PCAP_INFINIBAND,
	};

	count = min(count, sizeof(hdr) - reader->greeted);
	if (copy_to_user(buf, (const u8 *)&hdr + reader->greeted, count))
		return -EFAULT;
	reader->greeted += count;
	return count;
}

/* Copy @len bytes of the record of @size bytes at the tail. */
static int softib_reader_copy(struct softib_reader *reader, char __user *buf,
			      size_t len, size_t size)
{
	const size_t at = (reader->tail + reader->skip) & reader->mask;
	const size_t part = min(len, reader->mask + 1 - at);

	if (copy_to_user(buf, reader->ring + at, part) ||
	    copy_to_user(buf + part, reader->ring, len - part))
		return -EFAULT;
	reader->skip += len;
	if (reader->skip == size) {
		reader->skip = 0;
		/* pairs with the acquire in softib_reader_store() */
		smp_store_release(&reader->tail, reader->tail + size);
	}
	return 0;
}

/* Copy whole records, or part of a record that is longer than the buffer. */
static ssize_t softib_reader_records(struct softib_reader *reader,
				     char __user *buf, size_t count)
{
	struct softib_pcap_rec_hdr hdr;
	size_t done = 0;

	while (done < count && softib_reader_fill(reader)) {
		size_t len, size;

		softib_ring_get(reader, reader->tail, &hdr, sizeof(hdr));
		size = sizeof(hdr) + hdr.caplen;
		len = size - reader->skip;
		if (len > count - done) {
			if (done)
				break;
			len = count;
		}
		if (softib_reader_copy(reader, buf + done, len, size))
			return done ?: -EFAULT;
		done += len;
	}
	return done;
}

static ssize_t softib_capture_read(struct file *file, char __user *buf,
				   size_t count, loff_t *pos)
{
	struct softib_reader *reader = file->private_data;
	ssize_t ret;

	if (!count)
		return 0;
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	ret = -EAGAIN;
	if (!softib_reader_ready(reader)) {
		if (file->f_flags & O_NONBLOCK)
			goto unlock;
		ret = wait_event_interruptible(reader->wait,
					       softib_reader_ready(reader));
		if (ret)
			goto unlock;
	}
	if (reader->greeted < sizeof(struct softib_pcap_file_hdr))
		ret = softib_reader_greet(reader, buf, count);
	else
		ret = softib_reader_records(reader, buf, count);
unlock:
	mutex_unlock(&reader->mutex);
	return ret;
}

static __poll_t softib_capture_poll(struct file *file, poll_table *wait)
{
	struct softib_reader *reader = file->private_data;

	poll_wait(file, &reader->wait, wait);
	return softib_reader_ready(reader) ? EPOLLIN | EPOLLRDNORM : 0;
}

static void softib_capture_link(struct softib_reader *reader)
{
	unsigned long flags;

	spin_lock_irqsave(&softib_capture.lock, flags);
	list_add_tail(&reader->node, &softib_capture.readers);
	softib_capture.count++;
	WRITE_ONCE(softib_capture_on, true);
	spin_unlock_irqrestore(&softib_capture.lock, flags);
}

static int softib_capture_open(struct inode *inode, struct file *file)
{
	const size_t size = clamp(READ_ONCE(capture_kb), 64U, 1U << 20) * 1024UL;
	struct softib_reader *reader;

	reader = kzalloc(sizeof(*reader), GFP_KERNEL);
	if (!reader)
		return -ENOMEM;
	reader->mask = roundup_pow_of_two(size) - 1;
	reader->ring = vmalloc(reader->mask + 1);
	if (!reader->ring) {
		kfree(reader);
		return -ENOMEM;
	}
	init_waitqueue_head(&reader->wait);
	mutex_init(&reader->mutex);
	reader->erf = inode->i_private;
	file->private_data = reader;
	softib_capture_link(reader);
	return stream_open(inode, file);
}

static int softib_capture_release(struct inode *inode, struct file *file)
{
	struct softib_reader *reader = file->private_data;
	unsigned long flags;

	spin_lock_irqsave(&softib_capture.lock, flags);
	list_del(&reader->node);
	WRITE_ONCE(softib_capture_on, --softib_capture.count);
	spin_unlock_irqrestore(&softib_capture.lock, flags);
	vfree(reader->ring);
	kfree(reader);
	return 0;
}

static const struct file_operations softib_capture_fops = {
	.owner = THIS_MODULE,
	.open = softib_capture_open,
	.release = softib_capture_release,
	.read = softib_capture_read,
	.poll = softib_capture_poll,
};

/**
 * softib_capture_init() - create the capture files
 * @dir: debugfs directory of the fabric
 *
 * An open file holds a reference to the module. The files are removed with @dir.
 *
 * Context: process.
 */
void softib_capture_init(struct dentry *dir)
{
	debugfs_create_file("capture", 0400, dir, NULL, &softib_capture_fops);
	/* Any value other than NULL selects ERF. */
	debugfs_create_file("capture_erf", 0400, dir, &softib_capture,
			    &softib_capture_fops);
}

/* Capture part of the debugfs file "summary". Context: process. */
void softib_capture_show(struct seq_file *seq)
{
	struct softib_reader *reader;
	unsigned long flags;

	spin_lock_irqsave(&softib_capture.lock, flags);
	seq_printf(seq, "capture: readers %u records %llu lost %llu\n",
		   softib_capture.count, softib_capture.records,
		   softib_capture.lost);
	list_for_each_entry(reader, &softib_capture.readers, node)
		seq_printf(seq, "capture reader: ring %zu waiting %zu lost %llu\n",
			   reader->mask + 1,
			   softib_reader_fill(reader), reader->lost);
	spin_unlock_irqrestore(&softib_capture.lock, flags);
}
