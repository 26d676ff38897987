# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Cleaning up in the guest, for ./guest after the script and for ./guest-tests
# after each test. Every function prints nothing and returns 0 if all went well,
# else prints what did not.

# Make a control group and run a command in it: all it ever starts is in there.
# in_cgroup DIR COMMAND...
in_cgroup()
{
	local dir=$1

	shift
	mkdir -p "$dir"
	(
		echo $BASHPID > "$dir/cgroup.procs"
		exec "$@"
	)
}

# What blocked tasks are blocked on goes to the kernel log.
log_blocked_tasks()
{
	echo w > /proc/sysrq-trigger
}

kill_cgroup()
{
	local dir=$1 i

	[ -d "$dir" ] || return 0
	echo 1 > "$dir/cgroup.kill"
	for ((i = 0; i < 200; i++)); do
		grep -q 'populated 0' "$dir/cgroup.events" && return
		sleep 0.1
	done
	echo "processes that cannot be killed: $(xargs ps -o pid=,stat=,args= -p \
		< "$dir/cgroup.procs" | tr '\n' ';')"
	log_blocked_tasks
	return 1
}

rmmod_retrying()
{
	local module=$1 i

	for ((i = 0; i < 20; i++)); do
		rmmod "$module" && return
		[ -d "/sys/module/$module" ] || return 0
		sleep 0.5
	done
}

# rmmod may hang where no signal reaches it, so it is watched and not waited for.
unload()
{
	local module=$1 i

	[ -d "/sys/module/$module" ] || return 0
	rmmod_retrying "$module" < /dev/null > /dev/null 2> /run/rmmod.err &
	for ((i = 0; i < 600; i++)); do
		[ -d "/sys/module/$module" ] || return 0
		kill -0 $! 2> /dev/null || break
		sleep 0.1
	done
	[ -d "/sys/module/$module" ] || return 0
	echo "$module cannot be unloaded: $(tail -n 1 /run/rmmod.err)"
	log_blocked_tasks
	return 1
}

clean_up()
{
	local status=0

	kill_cgroup "$1" || status=1
	ip -all netns delete
	unload planted || status=1
	unload ib_ipoib || status=1
	unload softib || status=1
	unload rdma_rxe || status=1
	return $status
}
