#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""
An interface of IP over InfiniBand (RFC 4391, RFC 4755) and another one on its link: what the
stack and users rely on beyond what any other netdevice has.
"""

import re
import subprocess
import sys

from lib.py import ksft_run, ksft_exit, ksft_pr
from lib.py import ksft_eq, ksft_ge, ksft_true, ksft_raises
from lib.py import KsftSkipEx, NetDrvEpEnv
from lib.py import CmdExitFailure, bkg, cmd, defer, ip, ethtool, rand_port

GROUP = "239.255.18.27"
CONNECTED_MTU = 65520
CHILD = "ipoibtest0"


def remote_link(cfg):
    """The interface that has the remote address."""
    for link in ip("address show", json=True, host=cfg.remote):
        for addr in link["addr_info"]:
            if addr["local"] in (cfg.remote_v4, cfg.remote_v6):
                return ip(f"-details link show dev {link['ifname']}", json=True,
                          host=cfg.remote)[0]
    raise KsftSkipEx("no interface has the remote address")


def local_link(cfg):
    return ip(f"-details -stats link show dev {cfg.ifname}", json=True)[0]


def ping(cfg, size=56, count=1, options=""):
    cmd(f"ping -n -q -c {count} -i 0.2 -W 2 -s {size} {options} {cfg.remote_addr}",
        timeout=30)


def header_len(cfg):
    """Of IP and ICMP."""
    return 28 if cfg.addr_ipver == "4" else 48


def identity(lladdr):
    """QPN and GID of a link-layer address (RFC 4391 9.1.1); the first octet has flags."""
    return lladdr.lower()[3:]


def test_lladdr(cfg) -> None:
    """20 octets, and those of the broadcast group (RFC 4391 4.)"""
    link = local_link(cfg)

    ksft_eq(link["link_type"], "infiniband")
    ksft_eq(len(link["address"].split(":")), 20)
    ksft_true(re.match("00:ff:ff:ff:ff:12:40:1b:(..:){11}ff$", link["broadcast"]),
              comment=link["broadcast"])


def test_neighbour(cfg) -> None:
    """ARP and neighbour discovery find QPN and GID of the remote interface."""
    ip(f"neigh flush to {cfg.remote_addr} dev {cfg.ifname}")
    ping(cfg)
    neigh = ip(f"neigh show to {cfg.remote_addr} dev {cfg.ifname}", json=True)[0]
    ksft_eq(identity(neigh["lladdr"]), identity(remote_link(cfg)["address"]))


def test_mtu(cfg) -> None:
    """A packet of the MTU gets through whole, one octet more does not go out."""
    mtu = min(local_link(cfg)["mtu"], remote_link(cfg)["mtu"])
    most = mtu - header_len(cfg)

    ping(cfg, size=most, options="-M do")
    if mtu == local_link(cfg)["mtu"]:
        with ksft_raises(CmdExitFailure):
            ping(cfg, size=most + 1, options="-M do")


def test_fragments(cfg) -> None:
    """Packets of many fragments are put together."""
    ping(cfg, size=60000, count=3)


def test_counters(cfg) -> None:
    """What went over the link is counted, both ways."""
    before = local_link(cfg)["stats64"]
    ping(cfg, count=5)
    after = local_link(cfg)["stats64"]
    for way in ("rx", "tx"):
        ksft_ge(after[way]["packets"], before[way]["packets"] + 5)
        ksft_ge(after[way]["bytes"], before[way]["bytes"] + 5 * (56 + header_len(cfg)))
        ksft_eq(after[way]["errors"], before[way]["errors"])


def test_multicast(cfg) -> None:
    """What the remote end sends to a group arrives where it was joined."""
    cfg.require_v4()
    cfg.require_cmd("socat", remote=True)
    port = rand_port()

    with bkg(f"timeout 20 socat -u UDP4-RECVFROM:{port},ip-add-membership={GROUP}:{cfg.ifname} STDOUT",
             exit_wait=True) as receiver:
        # the membership takes a moment, and nothing says that it is there
        for _ in range(50):
            cmd(f"echo group | socat -u STDIN UDP4-DATAGRAM:{GROUP}:{port},ip-multicast-if={cfg.remote_v4}",
                host=cfg.remote)
            try:
                receiver.proc.wait(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                pass
    ksft_eq(receiver.stdout.strip(), "group")


def transfer(cfg, size=2000000):
    """Sends octets to the remote end by TCP and has them compared."""
    port = rand_port()
    local = f"/tmp/ipoib-test-{port}"

    cmd(f"head -c {size} /dev/urandom > {local}")
    defer(cmd, f"rm -f {local}")
    with bkg(f"timeout 60 socat -{cfg.addr_ipver} -u TCP-LISTEN:{port} STDOUT | sha256sum",
             host=cfg.remote, exit_wait=True) as receiver:
        cmd(f"socat -u FILE:{local} TCP{cfg.addr_ipver}:{cfg.remote_baddr}:{port},retry=40,interval=0.1",
            timeout=60)
    ksft_eq(receiver.stdout.split()[0], cmd(f"sha256sum {local}").stdout.split()[0])


def test_segments(cfg) -> None:
    """TCP's octets are the same, whatever cuts them into segments."""
    cfg.require_cmd("socat", remote=True)
    features = ethtool(f"-k {cfg.ifname}", json=True)[0]

    transfer(cfg)
    feature = features["tcp-segmentation-offload"]
    if feature["fixed"]:
        ksft_pr("segmentation cannot be switched")
        return
    switch = {True: ("off", "on"), False: ("on", "off")}[feature["active"]]
    defer(ethtool, f"-K {cfg.ifname} tso {switch[1]}")
    ethtool(f"-K {cfg.ifname} tso {switch[0]}")
    transfer(cfg)


def set_mode(cfg, mode):
    """On both ends; the MTU follows by hand, as administrators have it."""
    for name, host in ((cfg.ifname, None), (remote_link(cfg)["ifname"], cfg.remote)):
        cmd(f"ip link set dev {name} type ipoib mode {mode}", host=host)
        if mode == "connected":
            ip(f"link set dev {name} mtu {CONNECTED_MTU}", host=host)


def test_connected(cfg) -> None:
    """Connected mode carries packets of 65520 octets (RFC 4755 5.), and can be left again."""
    if local_link(cfg)["linkinfo"]["info_data"]["mode"] != "datagram":
        raise KsftSkipEx("the interface is in connected mode already")
    defer(set_mode, cfg, "datagram")
    try:
        set_mode(cfg, "connected")
    except CmdExitFailure as error:
        raise KsftSkipEx("no connected mode") from error
    ping(cfg, count=2)
    # in pieces of the MTU where it is not whole
    cmd(f"ping -n -q -c 20 -i 0.5 -W 2 -s {CONNECTED_MTU - header_len(cfg)} -M do {cfg.remote_addr}",
        timeout=60, fail=False)
    ping(cfg, size=CONNECTED_MTU - header_len(cfg), count=3, options="-M do")
    transfer(cfg)


def test_child(cfg) -> None:
    """A child has the same link-layer address but for the QPN, and goes with rtnetlink."""
    ip(f"link add link {cfg.ifname} name {CHILD} type ipoib")
    child = defer(ip, f"link del dev {CHILD}")
    link = ip(f"-details link show dev {CHILD}", json=True)[0]
    ksft_eq(link["linkinfo"]["info_kind"], "ipoib")
    ksft_eq(link["linkinfo"]["info_data"]["key"],
            local_link(cfg)["linkinfo"]["info_data"]["key"])
    ksft_eq(link["address"][12:], local_link(cfg)["address"][12:])
    child.exec()
    ksft_true(CHILD not in [link["ifname"] for link in ip("link show", json=True)])


def main() -> None:
    with NetDrvEpEnv(__file__, nsim_test=False) as cfg:
        if cfg.dev["link_type"] != "infiniband":
            ksft_pr(f"SKIP {cfg.ifname} is no interface of IP over InfiniBand")
            sys.exit(4)
        ksft_run(globs=globals(), case_pfx={"test_"}, args=(cfg, ))
    ksft_exit()


if __name__ == "__main__":
    main()
