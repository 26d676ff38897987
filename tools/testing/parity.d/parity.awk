# SPDX-License-Identifier: GPL-2.0
#
# The table of tools/testing/parity, of two files of lines
#
#	ROW <tab> NAME <tab> COMPARE <tab> VALUE
#
# first the kernel's driver's, then ours. A line of the file in the variable design is
# NAME <tab> our VALUE <tab> REASON; with "-" for NAME it is ROW <tab> why it is not asked.

BEGIN {
	while ((getline line < design) > 0) {
		if (line ~ /^#/ || line == "")
			continue
		split(line, part, "\t")
		if (part[1] == "-") {
			not_asked[++nr_not_asked] = part[2] "\t" part[3]
		} else {
			wanted[part[1]] = part[2]
			reason[part[1]] = part[3]
		}
	}
}

function verdict(name, compare, stock, ours)
{
	if (ours == "")
		return "missing"
	if (name in wanted)
		return ours == wanted[name] ? "by design" : "worse"
	if (stock == ours)
		return compare == "yes" && ours != "yes" ? "neither" : "same"
	if (compare == "yes")
		return ours == "yes" ? "better" : "worse"
	if (compare == "most")
		return ours + 0 >= stock + 0 ? "better" : "worse"
	if (compare == "least")
		return ours + 0 <= stock + 0 ? "better" : "worse"
	return "worse"
}

FNR == NR {
	stock[$2] = $4
	next
}

{
	v = verdict($2, $3, stock[$2], $4)
	count[v]++
	if (v == "same") {
		printf "%-4s %-20s %-10s %s\n", $1, $2, v, $4
		next
	}
	printf "%-4s %-20s %-10s stock: %s\n", $1, $2, v, stock[$2]
	printf "%-36s ours:  %s\n", "", $4
	if (v == "by design")
		printf "%-36s (%s)\n", "", reason[$2]
}

END {
	for (i = 1; i <= nr_not_asked; i++) {
		split(not_asked[i], part, "\t")
		printf "%-4s %-20s %-10s (%s)\n", part[1], "-", "not asked", part[2]
	}
	printf "%d same, %d better, %d by design, %d worse, %d neither, %d missing, %d not asked\n",
		count["same"], count["better"], count["by design"], count["worse"],
		count["neither"], count["missing"], nr_not_asked
	exit count["worse"] + count["missing"] > 0
}
