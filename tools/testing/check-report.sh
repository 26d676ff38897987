# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# For ./check: what has become of the plan, the sum, and the record of each run.
#
# A record is $IPOIB_VM_CACHE/history/DATE-COMMIT-PID.json, kept for the last 500 runs:
#
#	commit, changed (whether the tree had changes that are not in it), date, seconds,
#	arguments, passed, failed, skipped, unstable: of the whole
#	tests	system, kernel, fabric, test, spec (test, and cases if it was only some),
#		seconds
#	results	system, test, case, result (pass, fail, fault, skip, xfail, unstable),
#		text, ms (null if it is not known)
#
# Each test and each result is on a line of its own.

# So many tests may be unstable in one run, or one of fifty: more is a failure.
unstable_most=3

# Compares results with the plan: prints a fault for each job that did not come to a good
# end, and for what was planned and has no beginning, end or result.
account()
{
	awk -F '\t' '
	function fault(where, test, text) {
		printf "fault\t%s\t%s\t%s\n", where, test, text
	}
	FILENAME == ARGV[1] && $1 == "job" { job[++jobs] = $2 }
	FILENAME == ARGV[1] && $1 == "test" {
		n++
		of[n] = $2
		system_of[n] = $3
		test[n] = $4
		system_name[$2] = $3
		planned[$2]++
	}
	FILENAME == ARGV[1] { next }
	$1 == "job" && $3 == "begin" { began[$2] = 1 }
	$1 == "job" && $3 == "late" { late[$2] = 1 }
	$1 == "job" && $3 == "end" { ended[$2] = 1; status[$2] = $4 }
	$1 == "job" { next }
	$1 == "begin" { begun[$2, $3] = 1; open[$2, $3] = 1; next }
	$1 == "end" { open[$2, $3] = 0; next }
	$1 == "fault" { bad[$2, $3] = 1 }
	{ some[$2, $3] = 1 }
	END {
		for (i = 1; i <= jobs; i++) {
			name = job[i]
			if (!(name in began))
				fault(system_name[name], "rig", "job " name " never began")
			else if (!(name in ended))
				fault(system_name[name], "rig", "job " name " died")
			else if (status[name] != 0)
				fault(system_name[name], "rig",
				      "job " name " ended early, exit status " status[name])
		}
		for (i = 1; i <= n; i++) {
			key = system_of[i] SUBSEP test[i]
			if (of[i] in late || key in bad)
				continue
			if (!(key in begun))
				why = "not begun"
			else if (open[key])
				why = "not ended"
			else if (!(key in some))
				why = "without any result"
			else
				continue
			list[system_of[i], why] = list[system_of[i], why] " " test[i]
		}
		for (key in list) {
			split(key, part, SUBSEP)
			fault(part[1], "rig", "planned, and " part[2] ":" list[key])
		}
	}' "$plan" "$results"
}

# More tests that are unstable than can be by chance: something is wrong.
judge_unstable()
{
	awk -F '\t' -v most=$unstable_most '
	FILENAME == ARGV[1] { planned += $1 == "test"; next }
	$1 == "unstable" && !seen[$2, $3]++ { n++ }
	END {
		if (planned / 50 > most)
			most = int(planned / 50)
		if (n > most)
			printf "fault\tall\trig\t%d tests are unstable, more than %d\n", n, most
	}' "$plan" "$results"
}

# why SYSTEM TEST: what the failed cases of its logs had to say
why()
{
	find "$out" \( -path "$out/$1-*/${2//\//-}.log" -o -path "$out/${2//\//-}.log" \) -exec awk '
		/^#/ { comments = comments "\t" $0 "\n" }
		/^ok / { comments = "" }
		/^(not ok|Bail)/ { printf "%s", comments; comments = "" }' {} + |
		cut -c -300 | sed -n 1,10p
}

tell_failures()
{
	local kind system test text

	while IFS=$'\t' read -r kind system test text _; do
		case $kind in
		unstable) ;;
		fail | fault) kind=failed ;;
		*) continue ;;
		esac
		echo "check: ${kind^^}: $system: $test: $text"
		why "$system" "$test"
	done < "$results"
}

tell_slowest()
{
	awk -F '\t' '$1 == "end" { print $4, $2 ": " $3 }' "$results" | sort -k 1,1nr -s |
		awk 'NR <= 10 { line = line (NR > 1 ? ", " : "") $2 " " $3 " " $1 " s" }
			END { if (NR > 3) print "check: slowest: " line }'
}

# Cases that were unstable or failed and were forgiven, of the runs that are recorded
tell_unstable_most()
{
	local runs

	runs=$(find "$IPOIB_VM_CACHE/history" -name '*.json' 2> /dev/null | wc -l)
	[ "$runs" -gt 1 ] || return 0
	find "$IPOIB_VM_CACHE/history" -name '*.json' -exec cat {} + |
		sed -n '/"result":"unstable"/s/^.*"system":"\([^"]*\)","test":"\([^"]*\)","case":"\([^"]*\)".*$/\1: \2: \3/p' |
		sort | uniq -c | sort -k 1,1nr -s | sed -n 1,5p |
		while read -r count what_case; do
			echo "check: unstable most often: $what_case: $count times in $runs runs"
		done
}

# record PASSED FAILED SKIPPED UNSTABLE: this run's file
record()
{
	local file commit changed=false history=$IPOIB_VM_CACHE/history
	local git=(git -c safe.directory='*' -C "$VM_REPO")

	commit=$("${git[@]}" rev-parse HEAD 2> /dev/null) || commit=unknown
	[ -z "$("${git[@]}" status --porcelain 2> /dev/null)" ] || changed=true
	mkdir -p "$history"
	file=$history/$(date -u +%Y%m%dT%H%M%SZ)-${commit:0:12}-$$.json
	awk -F '\t' -v head="\"commit\":\"$commit\",\"changed\":$changed,\"date\":\"$(date -u +%FT%TZ)\",\"seconds\":$SECONDS,\"passed\":$1,\"failed\":$2,\"skipped\":$3,\"unstable\":$4" \
		-v arguments="${args[*]}" '
	function text(string) {
		gsub(/\\/, "\\\\", string)
		gsub(/"/, "\\\"", string)
		gsub(/[\001-\037]/, " ", string)
		return "\"" string "\""
	}
	function object(line) {
		printf "%s%s", comma, line
		comma = ",\n"
	}
	BEGIN { printf "{%s,\"arguments\":%s,\n\"tests\":[\n", head, text(arguments) }
	FNR == 1 { part++ }
	part == 1 && $1 == "job" { kernel[$2] = $5; fabric[$2] = $6 }
	part == 1 && $1 == "test" {
		spec[$3, $4] = $5
		of[$3, $4] = $2
	}
	part == 1 { next }
	part == 2 && $1 == "end" {
		name = of[$2, $3]
		object("{\"system\":" text($2) ",\"kernel\":" text(kernel[name]) \
			",\"fabric\":" text(fabric[name] == "-" ? "tools" : fabric[name]) \
			",\"test\":" text($3) ",\"spec\":" text(spec[$2, $3]) ",\"seconds\":" $4 + 0 "}")
	}
	part == 2 { next }
	!results++ {
		printf "\n],\n\"results\":[\n"
		comma = ""
	}
	$1 ~ /^(pass|fail|fault|skip|xfail|unstable)$/ {
		split($4, word, " ")
		object("{\"system\":" text($2) ",\"test\":" text($3) ",\"case\":" text(word[1]) \
			",\"result\":\"" $1 "\",\"text\":" text($4) ",\"ms\":" ($5 == "" ? "null" : $5 + 0) "}")
	}
	END {
		if (!results)
			printf "\n],\n\"results\":["
		printf "\n]}\n"
	}' "$plan" "$results" "$results" > "$file"
	find "$IPOIB_VM_CACHE/history" -name '*.json' | sort -r | tail -n +501 | xargs -r rm -f
	cp "$file" "$out/results.json"
}

summary()
{
	local passed failed skipped unstable

	echo
	cat "$out"/job-* > "$out/results"
	results=$out/results
	account > "$out/account"
	judge_unstable >> "$out/account"
	cat "$out/account" >> "$results"
	tell_failures
	awk '$1 == "xfail" { n++ } END {
		if (n) print "check: " n " known failures of the stock driver"
	}' "$results"
	tell_slowest
	read -r passed failed skipped unstable < <(awk -F '\t' '{ n[$1]++ } END {
		print n["pass"] + 0, n["fail"] + n["fault"], n["skip"] + 0, n["unstable"] + 0 }' "$results")
	record "$passed" "$failed" "$skipped" "$unstable"
	tell_unstable_most
	echo "check: $SECONDS s, logs: $out"
	echo "$passed passed, $failed failed, $skipped skipped$([ "$unstable" -eq 0 ] || echo ", $unstable unstable")"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# write_times [JSON...]: the table, anew for what the records have, the median of each
write_times()
{
	local files=("$@")

	[ $# -gt 0 ] || mapfile -t files < <(find "$IPOIB_VM_CACHE/history" -name '*.json' | sort)
	[ ${#files[@]} -gt 0 ] || die "there is no record of a run in $IPOIB_VM_CACHE/history"
	{
		sed -n '/^#/p' "$here/check-times"
		{
			awk '!/^#/ { print $1, $2, $3, $4, "old" }' "$here/check-times"
			cat "${files[@]}" | sed -n 's/^{"system":"[^"]*","kernel":"\(stock\|debug\|kcsan\)","fabric":"\([^"]*\)","test":"[^"]*","spec":"\([^"]*\)","seconds":\([0-9]*\)}.*$/\1 \2 \3 \4 new/p'
		} | sort -k 1,3 -k 5,5 -k 4,4n | awk '
			function tell() {
				if (n)
					print key, value[int((n + 1) / 2)]
			}
			$1 " " $2 " " $3 != key {
				tell()
				key = $1 " " $2 " " $3
				n = 0
				kind = $5
			}
			$5 == kind { value[++n] = $4 }
			END { tell() }'
	} > "$here/check-times.new"
	mv "$here/check-times.new" "$here/check-times"
}
