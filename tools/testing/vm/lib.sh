# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# What the scripts of this folder share: suites, the cache's layout, becoming
# root, and running a command inside a suite's root file system.
#
# The cache (IPOIB_VM_CACHE) holds, per suite:
#	HASH/root/	the root file system made by ./rootfs from the recipe HASH
#	HASH/boot/	what boots it, made by ./initramfs
#	HASH/cross-ARCH/	what compiles for another architecture, made by ./cross
#	HASH/foreign-ARCH/	what boots there, made by ./foreign
#	build/KEY/	the scratch build directory of a worktree, for ./build
#	kernel/FLAVOUR-HASH/	a kernel made by ./kernel, trixie only
#	kernel/tree-NAME/	one made of a source tree of the user's
#	root		a link to the root/ last asked for
# and, for all suites, run/: one directory per run whose log was kept.

VM_SUITES="bookworm trixie trixie-backports"
VM_DEFAULT_SUITE=trixie
# The suite whose QEMU boots every suite's kernel.
VM_QEMU_SUITE=trixie
# Kernels: the suite's own, or of our making out of one suite's source.
VM_KERNELS="stock debug kcsan rt"
VM_KERNEL_SUITE=trixie
# Architectures and flavours of the suite's own kernel; all but amd64 are compiled for by ./cross.
VM_ARCHS="amd64 arm64 arm64-16k ppc64le ppc64le-64k s390x"

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
VM_REPO=$(cd "$VM_DIR/../../.." && pwd -P)

die()
{
	echo "${0##*/}: $*" >&2
	exit "${VM_DIE_STATUS:-1}"
}

# usage: the comment at the head of the script
usage()
{
	awk 'NR < 3 { next }
		!/^#/ { exit }
		/^# shellcheck / { next }
		{ sub(/^# ?/, ""); if (begun || $0 != "") { print; begun = 1 } }' "$0"
}

# Everything below needs root: chroot, mounts in a private namespace, and files
# owned by many users. The cache stays the one of the user who called.
become_root()
{
	IPOIB_VM_CACHE=${IPOIB_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ipoib-vm}
	export IPOIB_VM_CACHE
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "run this as root (there is no sudo)"
		exec sudo --preserve-env=IPOIB_VM_CACHE,IPOIB_VM_MIRROR,IPOIB_VM_ACCEL,CI,http_proxy,https_proxy \
			"$0" "$@"
	fi
	[ "$(uname -m)" = x86_64 ] || die "this needs an x86_64 machine"
	# Debian's root has these in its path, another user's su may not.
	PATH=$PATH:/usr/sbin:/sbin
	mkdir -p "$IPOIB_VM_CACHE/run"
}

check_suite()
{
	case " $VM_SUITES " in
	*" $1 "*) ;;
	*) die "unknown suite '$1' (there are: $VM_SUITES)" ;;
	esac
}

check_arch()
{
	case " $VM_ARCHS " in
	*" $1 "*) ;;
	*) die "unknown architecture '$1' (there are: $VM_ARCHS)" ;;
	esac
}

# arch_debian ARCH: Debian's name of the architecture
arch_debian()
{
	case $1 in
	ppc64le*) echo ppc64el ;;
	*) echo "${1%%-*}" ;;
	esac
}

# arch_triplet ARCH: of its compiler
arch_triplet()
{
	case $1 in
	amd64) echo x86_64-linux-gnu ;;
	arm64*) echo aarch64-linux-gnu ;;
	ppc64le*) echo powerpc64le-linux-gnu ;;
	s390x) echo s390x-linux-gnu ;;
	esac
}

# arch_emulator ARCH: the package of QEMU
arch_emulator()
{
	case $1 in
	amd64) echo qemu-system-x86 ;;
	arm64*) echo qemu-system-arm ;;
	ppc64le*) echo qemu-system-ppc ;;
	esac
}

# A kernel is stock, debug, kcsan, rt, or made of the source tree at a path that has a
# slash, with the debuggers of one of these if it stands before a colon:
#
#	/home/me/linux	./linux	debug:../rdma

# kernel_tree KERNEL: the path, or nothing
kernel_tree()
{
	local tree=$1

	[[ ! $tree =~ ^(debug|kcsan|rt): ]] || tree=${tree#*:}
	[[ $tree != */* ]] || echo "$tree"
}

# kernel_flavour KERNEL: stock, debug, kcsan or rt
kernel_flavour()
{
	case $1 in
	debug | debug:*) echo debug ;;
	kcsan | kcsan:*) echo kcsan ;;
	rt | rt:*) echo rt ;;
	*) echo stock ;;
	esac
}

# kernel_name KERNEL: a word for names of files
kernel_name()
{
	local tree flavour

	tree=$(kernel_tree "$1")
	flavour=$(kernel_flavour "$1")
	if [ -z "$tree" ]; then
		echo "$1"
	else
		tree=$(realpath "$tree")
		echo "tree-${tree##*/}-$(cksum <<< "$tree" | cut -d ' ' -f 1)-$flavour"
	fi
}

# kernel_path KERNEL: the same with an absolute path
kernel_path()
{
	local tree

	tree=$(kernel_tree "$1")
	if [ -z "$tree" ]; then
		echo "$1"
	else
		echo "${1%"$tree"}$(realpath "$tree")"
	fi
}

# check_kernel SUITE KERNEL
check_kernel()
{
	local tree

	tree=$(kernel_tree "$2")
	if [ -n "$tree" ]; then
		[ -e "$tree/drivers/infiniband/core/Makefile" ] ||
			die "$tree is no source tree of Linux"
		[[ $(realpath "$tree") != *[:[:space:]]* ]] ||
			die "a colon or a blank is in the path $tree"
		[ "$1" = "$VM_KERNEL_SUITE" ] ||
			die "a kernel is made in $VM_KERNEL_SUITE, not in $1"
		return
	fi
	case " $VM_KERNELS " in
	*" $2 "*) ;;
	*) die "unknown kernel '$2' (there are: $VM_KERNELS, and [debug:|kcsan:|rt:]PATH of a source tree)" ;;
	esac
	[ "$2" = stock ] || [ "$1" = "$VM_KERNEL_SUITE" ] ||
		die "the $2 kernel is made of $VM_KERNEL_SUITE, not of $1"
}

suite_root()
{
	"$VM_DIR/rootfs" --path "$1"
}

# The release of the newest kernel in a root file system that has headers, too.
kernel_release()
{
	local root=$1 dir newest=

	for dir in "$root"/lib/modules/*/build; do
		[ -L "$dir" ] || continue
		dir=${dir%/build}
		newest=$(printf '%s\n' "$newest" "${dir##*/}" | sort -V | tail -n 1)
	done
	[ -n "$newest" ] || die "$root has no kernel with headers"
	echo "$newest"
}

# in_root ROOT [HOSTDIR:MOUNTPOINT[:ro]]... -- COMMAND...
# Runs COMMAND in ROOT, in a mount namespace of its own with /proc and /dev, so
# that nothing of this shows outside, not even to a guest served from ROOT.
in_root()
{
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --propagation private bash -euc '
		root=$1; shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		while [ "$1" != -- ]; do
			to=${1#*:}
			to=$root/${to%:ro}
			[ -d "$to" ] || mkdir -p "$to"
			mount --bind "${1%%:*}" "$to"
			[[ $1 != *:ro ]] || mount -o remount,bind,ro "$to"
			shift
		done
		shift
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			TERM="${TERM:-dumb}" chroot "$root" "$@"
	' in_root "$@"
}

# take_slots N: CPUs of this machine, as many as guests are going to emulate, until this script
# ends. Each is a locked file, so several checks on one machine take turns. One script after
# the other takes its CPUs: none waits for a second one that another waits for, too.
take_slots()
{
	local dir=/run/lock/ipoib-vm cpus wanted=$1 queue fd i told=''

	[ -z "${VM_HAS_SLOTS:-}" ] || return 0
	cpus=$(nproc)
	[ "$wanted" -le "$cpus" ] || wanted=$cpus
	mkdir -p "$dir"
	exec {queue}> "$dir/queue"
	until flock -n "$queue"; do
		[ -n "$told" ] || echo "vm: waits for the guests of others"
		told=1
		sleep 0.5
	done
	while true; do
		for ((i = 0; i < cpus && wanted > 0; i++)); do
			exec {fd}> "$dir/cpu$i"
			if flock -n "$fd"; then
				wanted=$((wanted - 1))
			else
				exec {fd}>&-
			fi
		done
		[ "$wanted" -gt 0 ] || break
		[ -n "$told" ] || echo "vm: waits for the guests of others"
		told=1
		sleep 0.5
	done
	exec {queue}>&-
}

# arch_console ARCH: the guest's
arch_console()
{
	case $1 in
	amd64) echo ttyS0 ;;
	arm64*) echo ttyAMA0 ;;
	ppc64le*) echo hvc0 ;;
	esac
}

# qemu_base ROOT [ARCH]: sets the array qemu to the command that runs QEMU out of a root file
# system, without a chroot, so that it sees the host's files, and to a bare machine.
qemu_base()
{
	local root=$1 lib=$1/usr/lib/x86_64-linux-gnu program=x86_64 machine=(-machine q35)

	case ${2:-amd64} in
	arm64*) program=aarch64 machine=(-machine "virt,gic-version=3" -cpu "max,pauth-impdef=on") ;;
	ppc64le*) program=ppc64 machine=(-machine "pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken" -cpu POWER9) ;;
	esac

	export QEMU_MODULE_DIR=$lib/qemu
	qemu=("$root/lib64/ld-linux-x86-64.so.2"
		--library-path "$lib:$lib/pulseaudio:$lib/ceph"
		"$root/usr/bin/qemu-system-$program"
		-L "$root/usr/share/qemu" -L "$root/usr/share/seabios"
		-nodefaults -no-user-config -display none -no-reboot -nic none
		"${machine[@]}")
}
