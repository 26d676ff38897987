// SPDX-License-Identifier: GPL-2.0
/*
 * ibdump - print the frames of an InfiniBand capture, one line per frame
 *
 * Reads a pcap file of LINKTYPE_INFINIBAND (247) and prints "key=value" words
 * for LRH, GRH, BTH, DETH and, by payload, IPoIB (ARP, IPv4, IPv6, ND) or MADs
 * (SA, CM). In one of LINKTYPE_ETHERNET (1) it reads RoCE v2: there are MAC
 * addresses and UDP ports in place of the LRH, and the IP header is named as a
 * GRH is.
 * It is the second opinion beside tshark: small, no dissector heuristics, and
 * cheap enough to be run in a polling loop in an emulated guest.
 *
 * usage: ibdump FILE [-f KEY]... [-F PID] [KEY=VALUE | KEY!=VALUE]...
 * Only frames for which every condition holds are printed. With -f only the
 * values of the named keys are printed, "-" standing for a key the frame lacks. With
 * -F frames that are still to come are printed as soon as they are in the file, as long
 * as the process PID, which writes it, is there.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKTYPE_ETHERNET 1
#define LINKTYPE_INFINIBAND 247
#define ROCE_PORT 4791
#define MAX_WORDS 96

struct word {
	char key[20];
	char val[120];
};

/* The frame being decoded: its words, and the bytes not decoded yet. */
struct frame {
	struct word w[MAX_WORDS];
	int n;
	const uint8_t *p;
	size_t left;
};

static uint32_t be(const uint8_t *p, int n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static void __attribute__((format(printf, 3, 4)))
add(struct frame *f, const char *key, const char *fmt, ...)
{
	struct word *w = &f->w[f->n];
	va_list ap;

	if (f->n == MAX_WORDS)
		return;
	snprintf(w->key, sizeof(w->key), "%s", key);
	va_start(ap, fmt);
	vsnprintf(w->val, sizeof(w->val), fmt, ap);
	va_end(ap);
	f->n++;
}

static void add_addr(struct frame *f, const char *key, int af, const uint8_t *p)
{
	char buf[INET6_ADDRSTRLEN];

	add(f, key, "%s", inet_ntop(af, p, buf, sizeof(buf)));
}

static void add_hex(struct frame *f, const char *key, const uint8_t *p, size_t n)
{
	char buf[112];
	size_t i;

	buf[0] = 0;
	for (i = 0; i < n && i < (sizeof(buf) - 1) / 2; i++)
		sprintf(buf + 2 * i, "%02x", p[i]);
	add(f, key, "%s", buf);
}

/* Take n octets off the frame, or NULL (and a word that says so) if it is too short. */
static const uint8_t *take(struct frame *f, size_t n, const char *what)
{
	const uint8_t *p = f->p;

	if (f->left < n) {
		add(f, "short", "%s", what);
		return NULL;
	}
	f->p += n;
	f->left -= n;
	return p;
}

static void decode_arp(struct frame *f)
{
	const uint8_t *p = take(f, 8, "arp");
	unsigned int hlen, plen;
	size_t have;

	if (!p)
		return;
	hlen = p[4];
	plen = p[5];
	add(f, "arp.htype", "%u", be(p, 2));
	add(f, "arp.ptype", "%04x", be(p + 2, 2));
	add(f, "arp.hlen", "%u", hlen);
	add(f, "arp.plen", "%u", plen);
	add(f, "arp.op", "%u", be(p + 6, 2));
	have = f->left;
	if (plen != 4 || have < 2 * (size_t)(hlen + plen))
		return;
	add_hex(f, "arp.sha", f->p, hlen);
	add_addr(f, "arp.spa", AF_INET, f->p + hlen);
	add_hex(f, "arp.tha", f->p + hlen + 4, hlen);
	add_addr(f, "arp.tpa", AF_INET, f->p + 2 * hlen + 4);
}

static void decode_ports(struct frame *f)
{
	const uint8_t *p = take(f, 8, "l4");

	if (!p)
		return;
	add(f, "sport", "%u", be(p, 2));
	add(f, "dport", "%u", be(p + 2, 2));
	/* udp_group numbers its datagrams. */
	if (f->left >= 4)
		add(f, "number", "%u", be(f->p, 4));
}

static void decode_icmp(struct frame *f, const char *name)
{
	const uint8_t *p = take(f, 8, name);
	char key[20];

	if (!p)
		return;
	snprintf(key, sizeof(key), "%s.type", name);
	add(f, key, "%u", p[0]);
	snprintf(key, sizeof(key), "%s.code", name);
	add(f, key, "%u", p[1]);
	snprintf(key, sizeof(key), "%s.seq", name);
	add(f, key, "%u", be(p + 6, 2));
}

/*
 * The first option of Neighbour Discovery, RFC 4861 section 4, a link-layer address in
 * most cases, and the target before it.
 */
static void decode_nd(struct frame *f, unsigned int type)
{
	/* RS, RA, NS, NA, Redirect: octets before the options */
	static const unsigned int fixed[] = { 0, 8, 16, 16, 32 };
	const uint8_t *p;

	if (type < 133 || type > 137)
		return;
	p = take(f, fixed[type - 133], "nd");
	if (!p)
		return;
	if (type >= 135)
		add_addr(f, "nd.target", AF_INET6, p);
	if (f->left < 8)
		return;
	add(f, "nd.opt", "%u", f->p[0]);
	add(f, "nd.optlen", "%u", f->p[1]);
	if (f->left >= 8u * f->p[1] && f->p[1])
		add_hex(f, "nd.opthex", f->p + 2, 8 * f->p[1] - 2);
}

/* IGMPv3 and MLDv2, RFC 3376 and RFC 3810: the first group that a report is about */
static void decode_report(struct frame *f, const char *key, int af)
{
	size_t len = af == AF_INET ? 4 : 16;

	if (f->left >= 4 + len)
		add_addr(f, key, af, f->p + 4);
}

static void decode_igmp(struct frame *f)
{
	const uint8_t *p = take(f, 8, "igmp");

	if (!p)
		return;
	add(f, "igmp.type", "%u", p[0]);
	if (p[0] == 34)
		decode_report(f, "igmp.group", AF_INET);
}

static void decode_ip4(struct frame *f)
{
	const uint8_t *p = take(f, 20, "ip4");
	unsigned int proto;

	if (!p)
		return;
	proto = p[9];
	add(f, "ip.tos", "%u", p[1]);
	add(f, "ip.len", "%u", be(p + 2, 2));
	add(f, "ip.proto", "%u", proto);
	add_addr(f, "ip.src", AF_INET, p + 12);
	add_addr(f, "ip.dst", AF_INET, p + 16);
	if ((p[0] & 15) > 5)
		take(f, ((p[0] & 15) - 5) * 4, "ip4opt");
	if (be(p + 6, 2) & 0x1fff)
		return;
	if (proto == 1)
		decode_icmp(f, "icmp");
	else if (proto == 2)
		decode_igmp(f);
	else if (proto == 17 || proto == 6)
		decode_ports(f);
}

static void decode_ip6(struct frame *f)
{
	const uint8_t *p = take(f, 40, "ip6");
	unsigned int next;

	if (!p)
		return;
	next = p[6];
	add(f, "ip6.len", "%u", be(p + 4, 2));
	add_addr(f, "ip6.src", AF_INET6, p + 8);
	add_addr(f, "ip6.dst", AF_INET6, p + 24);
	if (!next) {
		/* hop-by-hop, as MLD has it */
		p = take(f, 8, "ip6hbh");
		if (!p || !take(f, 8 * p[1], "ip6hbh"))
			return;
		next = p[0];
	}
	add(f, "ip6.next", "%u", next);
	if (next == 58) {
		const uint8_t *icmp = f->p;

		decode_icmp(f, "icmp6");
		if (f->p == icmp)
			return;
		if (icmp[0] == 143)
			decode_report(f, "mld.group", AF_INET6);
		decode_nd(f, icmp[0]);
	} else if (next == 17 || next == 6) {
		decode_ports(f);
	}
}

static void decode_ipoib(struct frame *f)
{
	const uint8_t *p;

	add(f, "paylen", "%zu", f->left);
	add_hex(f, "data", f->p, f->left);
	p = take(f, 4, "encap");
	if (!p)
		return;
	add(f, "type", "%04x", be(p, 2));
	add(f, "reserved", "%04x", be(p + 2, 2));
	switch (be(p, 2)) {
	case 0x0800:
		decode_ip4(f);
		break;
	case 0x86dd:
		decode_ip6(f);
		break;
	case 0x0806:
	case 0x8035:
		decode_arp(f);
		break;
	}
}

static void decode_mcmember(struct frame *f, const uint8_t *p)
{
	add_addr(f, "mc.mgid", AF_INET6, p);
	add_addr(f, "mc.portgid", AF_INET6, p + 16);
	add(f, "mc.qkey", "%08x", be(p + 32, 4));
	add(f, "mc.mlid", "%04x", be(p + 36, 2));
	add(f, "mc.mtu", "%u", p[38] & 63);
	add(f, "mc.tclass", "%u", p[39]);
	add(f, "mc.pkey", "%04x", be(p + 40, 2));
	add(f, "mc.rate", "%u", p[42] & 63);
	add(f, "mc.sl", "%u", p[44] >> 4);
	add(f, "mc.flow", "%u", be(p + 44, 4) >> 8 & 0xfffff);
	add(f, "mc.hop", "%u", p[47]);
	add(f, "mc.scope", "%u", p[48] >> 4);
	add(f, "mc.join", "%u", p[48] & 15);
}

static void decode_sa(struct frame *f, unsigned int attr)
{
	const uint8_t *p = take(f, 12 + 8 + 2 + 2 + 8, "sa");

	if (!p)
		return;
	add(f, "sa.mask", "%08x%08x", be(p + 24, 4), be(p + 28, 4));
	if (attr == 0x03 && f->left >= 36)
		add(f, "inform.trap", "%u", be(f->p + 26, 2));
	if (attr == 0x38 && f->left >= 52)
		decode_mcmember(f, f->p);
	if (attr == 0x35 && f->left >= 64) {
		add_addr(f, "pr.dgid", AF_INET6, f->p + 8);
		add_addr(f, "pr.sgid", AF_INET6, f->p + 24);
		add(f, "pr.dlid", "%04x", be(f->p + 40, 2));
		add(f, "pr.slid", "%04x", be(f->p + 42, 2));
		add(f, "pr.flow", "%u", be(f->p + 44, 4) >> 8 & 0xfffff);
		add(f, "pr.hop", "%u", f->p[47]);
		add(f, "pr.tclass", "%u", f->p[48]);
		add(f, "pr.numb", "%u", f->p[49] & 127);
		add(f, "pr.rate", "%u", f->p[55] & 63);
	}
}

/* Messages of the CM that set up and end connections, and their private data. */
static void decode_cm(struct frame *f, unsigned int attr)
{
	static const struct {
		unsigned int attr, private;
	} where[] = {
		{ 0x10, 140 }, { 0x12, 84 }, { 0x13, 36 }, { 0x14, 8 }, { 0, 0 },
	};
	const uint8_t *p = take(f, 232, "cm");
	unsigned int i;

	if (!p)
		return;
	add(f, "cm.comm", "%08x", be(p, 4));
	if (attr == 0x18)
		add(f, "cm.status", "%u", p[4]);
	else if (attr != 0x10 && attr != 0x17)
		add(f, "cm.remote", "%08x", be(p + 4, 4));
	if (attr == 0x10) {
		add(f, "cm.sid", "%08x%08x", be(p + 8, 4), be(p + 12, 4));
		add(f, "cm.qpn", "%06x", be(p + 32, 3));
		add(f, "cm.service", "%u", p[43] >> 1 & 3);
		add(f, "cm.slid", "%04x", be(p + 52, 2));
		add(f, "cm.dlid", "%04x", be(p + 54, 2));
		add(f, "cm.altslid", "%04x", be(p + 96, 2));
		add(f, "cm.altdlid", "%04x", be(p + 98, 2));
	}
	if (attr == 0x12)
		add(f, "cm.reason", "%u", be(p + 10, 2));
	if (attr == 0x13) {
		add(f, "cm.qpn", "%06x", be(p + 12, 3));
		add(f, "cm.failover", "%u", p[26] >> 1 & 3);
	}
	for (i = 0; where[i].attr; i++)
		if (where[i].attr == attr)
			add_hex(f, "cm.private", p + where[i].private, 8);
}

static void decode_mad(struct frame *f)
{
	const uint8_t *p = take(f, 24, "mad");
	unsigned int attr;

	if (!p)
		return;
	attr = be(p + 16, 2);
	add(f, "mad.class", "%02x", p[1]);
	add(f, "mad.method", "%02x", p[3]);
	add(f, "mad.status", "%04x", be(p + 4, 2));
	add(f, "mad.tid", "%08x%08x", be(p + 8, 4), be(p + 12, 4));
	add(f, "mad.attr", "%04x", attr);
	if (p[1] == 3)
		decode_sa(f, attr);
	if (p[1] == 7)
		decode_cm(f, attr);
}

/* The first packet of a message on a connection. */
static void decode_send(struct frame *f, unsigned int pad)
{
	if (f->left >= 4 + pad)
		f->left -= 4 + pad;
	decode_ipoib(f);
}

/* DETH and what follows it; icrc and pad end the frame and are no payload. */
static void decode_ud(struct frame *f, unsigned int dqp, unsigned int pad)
{
	const uint8_t *p = take(f, 8, "deth");

	if (!p)
		return;
	add(f, "qkey", "%08x", be(p, 4));
	add(f, "sqp", "%06x", be(p + 5, 3));
	if (f->left < 4 + pad) {
		add(f, "short", "icrc");
		return;
	}
	f->left -= 4 + pad;
	if (dqp < 2)
		decode_mad(f);
	else
		decode_ipoib(f);
}

static void decode_bth(struct frame *f)
{
	const uint8_t *p = take(f, 12, "bth");

	if (!p)
		return;
	add(f, "op", "%02x", p[0]);
	add(f, "se", "%u", p[1] >> 7);
	add(f, "mig", "%u", p[1] >> 6 & 1);
	add(f, "pad", "%u", p[1] >> 4 & 3);
	add(f, "tver", "%u", p[1] & 15);
	add(f, "pkey", "%04x", be(p + 2, 2));
	add(f, "dqp", "%06x", be(p + 5, 3));
	add(f, "psn", "%06x", be(p + 9, 3));
	if (p[0] == 0x64)
		decode_ud(f, be(p + 5, 3), p[1] >> 4 & 3);
	else if ((p[0] & 0xdf) == 0x04 || (p[0] & 0xdf) == 0x00)
		decode_send(f, p[1] >> 4 & 3);
}

/* The length in the IP header says where the frame ends; Ethernet pads. */
static void cut(struct frame *f, size_t len)
{
	if (len > f->left)
		add(f, "short", "iplen");
	else
		f->left = len;
}

static int decode_grh(struct frame *f)
{
	const uint8_t *p = take(f, 40, "grh");

	if (!p)
		return -1;
	add(f, "ipver", "%u", p[0] >> 4);
	add(f, "tclass", "%u", be(p, 2) >> 4 & 255);
	add(f, "flow", "%u", be(p, 4) & 0xfffff);
	add(f, "grh.len", "%u", be(p + 4, 2));
	add(f, "nxt", "%02x", p[6]);
	add(f, "hop", "%u", p[7]);
	add_addr(f, "sgid", AF_INET6, p + 8);
	add_addr(f, "dgid", AF_INET6, p + 24);
	if (p[6] == 17)
		cut(f, be(p + 4, 2));
	return 0;
}

static void decode_roce_ip4(struct frame *f)
{
	const uint8_t *p = take(f, 20, "roce4");
	uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff };

	if (!p || p[9] != 17)
		return;
	add(f, "ipver", "4");
	add(f, "tclass", "%u", p[1]);
	add(f, "hop", "%u", p[8]);
	memcpy(mapped + 12, p + 12, 4);
	add_addr(f, "sgid", AF_INET6, mapped);
	memcpy(mapped + 12, p + 16, 4);
	add_addr(f, "dgid", AF_INET6, mapped);
	if (be(p + 2, 2) >= 20)
		cut(f, be(p + 2, 2) - 20);
}

/* RoCE v2: Ethernet, perhaps a VLAN tag, IP, UDP, and then as on InfiniBand */
static void decode_ethernet(struct frame *f)
{
	const uint8_t *p = take(f, 14, "eth");
	uint32_t type;

	if (!p)
		return;
	add(f, "dmac", "%02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3], p[4], p[5]);
	add(f, "smac", "%02x:%02x:%02x:%02x:%02x:%02x", p[6], p[7], p[8], p[9], p[10], p[11]);
	type = be(p + 12, 2);
	if (type == 0x8100) {
		p = take(f, 4, "vlan");
		if (!p)
			return;
		add(f, "vlan", "%u", be(p, 2) & 0xfff);
		add(f, "sl", "%u", p[0] >> 5);
		type = be(p + 2, 2);
	}
	add(f, "ethertype", "%04x", type);
	if (type == 0x0800)
		decode_roce_ip4(f);
	else if (type != 0x86dd || decode_grh(f))
		return;
	add(f, "grh", "1");
	p = take(f, 8, "udp");
	if (!p || be(p + 2, 2) != ROCE_PORT)
		return;
	add(f, "udp.sport", "%u", be(p, 2));
	add(f, "udp.len", "%u", be(p + 4, 2));
	decode_bth(f);
}

static void decode(struct frame *f)
{
	const uint8_t *p = take(f, 8, "lrh");
	size_t len;

	if (!p)
		return;
	add(f, "vl", "%u", p[0] >> 4);
	add(f, "sl", "%u", p[1] >> 4);
	add(f, "lnh", "%u", p[1] & 3);
	add(f, "dlid", "%04x", be(p + 2, 2));
	add(f, "slid", "%04x", be(p + 6, 2));
	/* the length in the LRH counts words from the LRH to the ICRC */
	len = (be(p + 4, 2) & 0x7ff) * 4;
	add(f, "pktlen", "%zu", len);
	if (len < 8 || len - 8 > f->left)
		add(f, "short", "pktlen");
	else
		f->left = len - 8;
	add(f, "grh", "%d", (p[1] & 3) == 3);
	if ((p[1] & 3) < 2)
		return;
	if ((p[1] & 3) == 3 && decode_grh(f))
		return;
	decode_bth(f);
}

static const char *lookup(const struct frame *f, const char *key, size_t len)
{
	int i;

	for (i = 0; i < f->n; i++)
		if (strlen(f->w[i].key) == len && !strncmp(f->w[i].key, key, len))
			return f->w[i].val;
	return NULL;
}

static int holds(const struct frame *f, const char *cond)
{
	size_t len = strcspn(cond, "!=");
	int invert = cond[len] == '!';
	const char *val = lookup(f, cond, len);

	if (!cond[len] || (invert && cond[len + 1] != '=')) {
		fprintf(stderr, "ibdump: bad condition '%s'\n", cond);
		exit(2);
	}
	if (!val)
		return invert;
	return (strcmp(val, cond + len + 1 + invert) == 0) != invert;
}

static void print(const struct frame *f, char **fields, int nfields)
{
	int i;

	for (i = 0; i < nfields; i++) {
		const char *val = lookup(f, fields[i], strlen(fields[i]));

		printf("%s%s", i ? " " : "", val ? val : "-");
	}
	for (i = 0; !nfields && i < f->n; i++)
		printf("%s%s=%s", i ? " " : "", f->w[i].key, f->w[i].val);
	putchar('\n');
}

struct pcap_rec {
	uint32_t sec, frac, caplen, len;
};

/*
 * The next record, whose frame goes to buf. What is still being written is left for
 * the next call.
 *
 * Return: length of the frame, -1 if there is none
 */
static int read_record(FILE *in, int swap, struct pcap_rec *r, uint8_t *buf, size_t size)
{
	long at = ftell(in);

	if (fread(r, sizeof(*r), 1, in) == 1) {
		uint32_t len = swap ? ntohl(r->caplen) : r->caplen;

		if (len <= size && fread(buf, 1, len, in) == len)
			return len;
	}
	fseek(in, at, SEEK_SET);
	return -1;
}

/* As read_record(); where there is none it waits for one from the process pid, if any. */
static int next_record(FILE *in, int swap, struct pcap_rec *r, uint8_t *buf, size_t size,
		       pid_t pid)
{
	int len, ends;

	for (;;) {
		ends = !pid || kill(pid, 0);
		len = read_record(in, swap, r, buf, size);
		if (len >= 0 || ends)
			return len;
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	char *fields[16], *conds[32];
	int nfields = 0, nconds = 0, i, swap, digits, len;
	pid_t pid = 0;
	static uint8_t buf[1 << 16];
	static struct frame f;
	unsigned long n = 0;
	uint32_t hdr[6], linktype;
	struct pcap_rec r;
	FILE *in;

	if (argc < 2)
		return 2;
	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "-f") && i + 1 < argc && nfields < 16)
			fields[nfields++] = argv[++i];
		else if (!strcmp(argv[i], "-F") && i + 1 < argc)
			pid = atoi(argv[++i]);
		else if (nconds < 32)
			conds[nconds++] = argv[i];
	}
	if (pid)
		setvbuf(stdout, NULL, _IOLBF, 0);
	in = fopen(argv[1], "r");
	if (!in || fread(hdr, sizeof(hdr), 1, in) != 1) {
		fprintf(stderr, "ibdump: %s: no pcap header\n", argv[1]);
		return 2;
	}
	swap = hdr[0] == 0xd4c3b2a1 || hdr[0] == 0x4d3cb2a1;
	/* of nanoseconds, or microseconds */
	digits = hdr[0] == 0xa1b23c4d || hdr[0] == 0x4d3cb2a1 ? 9 : 6;
	linktype = swap ? ntohl(hdr[5]) : hdr[5];
	if (linktype != LINKTYPE_INFINIBAND && linktype != LINKTYPE_ETHERNET) {
		fprintf(stderr, "ibdump: %s: neither InfiniBand nor Ethernet\n", argv[1]);
		return 2;
	}
	while ((len = next_record(in, swap, &r, buf, sizeof(buf), pid)) >= 0) {
		memset(&f, 0, sizeof(f));
		f.p = buf;
		f.left = len;
		add(&f, "n", "%lu", ++n);
		add(&f, "t", "%u.%0*u", swap ? ntohl(r.sec) : r.sec, digits,
		    swap ? ntohl(r.frac) : r.frac);
		if (linktype == LINKTYPE_ETHERNET)
			decode_ethernet(&f);
		else
			decode(&f);
		for (i = 0; i < nconds && holds(&f, conds[i]); i++)
			;
		if (i == nconds)
			print(&f, fields, nfields);
	}
	return 0;
}
