# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# From KTAP to results, for ./guest-tests in the guest and for ../check, which judges
# the rig's own tests by it.

# judge_ktap TEST STATUS LOG [CASE]...
# Prints a line for each result, words separated by tabs:
#
#	pass|fail|stuck|skip|xfail|fault TEST TEXT [MS]
#
# A case that did not hold is "fail". A test that did not end in time, or gave up with "Bail
# out!", is "stuck", and then it counts for nothing that results are missing. What else is
# wrong with the whole is "fault": no result, fewer or more results than the plan says, an exit
# status that does not fit the results, and a CASE that was asked for and has no result.
judge_ktap()
{
	local test=$1 status=$2 log=$3

	shift 3
	awk -v test="$test" -v status="$status" -v cases="$*" '
	function result(kind, text, ms) {
		printf "%s\t%s\t%s%s\n", kind, test, text, ms == "" ? "" : "\t" ms
		count[kind]++
	}
	BEGIN { plan = -1 }
	{ gsub(/\t/, " ") }
	/^(not )?ok [0-9]/ {
		text = $0
		sub(/^(not )?ok [0-9]+ *(- )?/, "", text)
		ms = ""
		if (match(text, / *(# )?time=[0-9]+ms$/)) {
			ms = substr(text, RSTART)
			gsub(/[^0-9]/, "", ms)
		}
		split(text, word, " ")
		seen[word[1]] = 1
		if (/^not ok/)
			result("fail", text, ms)
		else if (text ~ /# SKIP/)
			result("skip", text, ms)
		else if (text ~ /# XFAIL/)
			result("xfail", text, ms)
		else
			result("pass", text, ms)
		total++
	}
	/^1\.\.[0-9]+/ {
		plan = substr($1, 4) + 0
		if (plan == 0 && /# SKIP/) {
			sub(/^1\.\.0 */, "")
			result("skip", "all " $0)
			none = 1
		}
	}
	/^Bail out!/ { result("stuck", $0) }
	END {
		if (status == 124 || status == 137)
			result("stuck", "did not end in time")
		if (count["stuck"])
			exit
		if (none && total == 0 && status == 4)
			exit
		else if (total == 0)
			result("fault", "gave no result, exit status " status)
		else if (total != plan)
			result("fault", "gave " total " results of " plan)
		fits = status == 0
		if (count["fail"])
			fits = status == 1
		else if (status == 4)
			fits = count["skip"] == total
		if (!fits && !count["fault"])
			result("fault", "exit status " status)
		n = split(cases, asked, " ")
		for (i = 1; i <= n; i++) {
			if (!(asked[i] in seen))
				result("fault", "gave no result of " asked[i])
		}
	}' "$log"
}
