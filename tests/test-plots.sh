#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# gnuplot draws the scripts that mininb writes: test-plots.sh MININB STORED_RESULTS
#
# Exit status 77: gnuplot is not installed.
set -eu

command -v gnuplot >/dev/null || {
	echo 'skipped: gnuplot is not installed'
	exit 77
}

mininb=$(realpath "$1")
stored=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# The label contains every character that could end a string of gnuplot.
# shellcheck disable=SC2016
sed 's/"label": ""/"label": "50 % \\"a\\\\b\\" '"'c'"' `d` $e @f"/' "$stored/put.json" >put.json
python3 -c 'import json, sys
def keep(name, wanted):
    file = json.load(open(sys.argv[1] + "/" + name))
    file["results"] = [it for it in file["results"] if wanted(it)]
    json.dump(file, open(name, "w"))
keep("put-engines.json", lambda it: "measured" not in it)
keep("sweep.json", lambda it: it["sweep"])' "$stored"
"$mininb" report --format=gnuplot put.json "$stored/groups.json" sweep.json >results.gp
"$mininb" report --format=candlestick put.json "$stored/run-a.json" >threads.gp
"$mininb" report --notebook=notebook.json put.json "$stored/run-a.json" >/dev/null
"$mininb" report --notebook=notebook.json put.json "$stored/get.json" >/dev/null
"$mininb" report --format=candlestick notebook.json >notebook.gp
"$mininb" report --format=gnuplot put-engines.json >nothing.gp
"$mininb" report --format=candlestick put-engines.json >no-threads.gp

# Fail if a script fails or prints anything.
draw() {
	gnuplot -e "terminal='$1'; output='$2'" "$3" >"$2.said" 2>&1 || {
		echo "$3: gnuplot failed:"
		cat "$2.said"
		exit 1
	}
	if [ -s "$2.said" ]; then
		echo "$3: gnuplot printed:"
		cat "$2.said"
		exit 1
	fi
	rm "$2.said"
}

expect() {
	for picture; do
		[ -s "$picture" ] || {
			echo "$picture is missing or empty"
			exit 1
		}
	done
}

draw svg a results.gp
expect a-throughput.svg a-percentiles.svg a-over-time-1.svg a-over-time-2.svg a-sweep.svg
draw png a results.gp
expect a-throughput.png a-percentiles.png a-over-time-1.png a-over-time-2.png a-sweep.png
draw svg b threads.gp
expect b-ops.svg b-puts.svg b-gets.svg
draw svg c notebook.gp
expect c-ops.svg c-puts.svg c-gets.svg
draw svg d nothing.gp
draw svg e no-threads.gp
for drawn in [de]-*; do
	[ ! -e "$drawn" ] || {
		echo "$drawn exists, but its script has no data"
		exit 1
	}
done
if grep -L '</svg>' ./*.svg | grep .; then
	echo 'these pictures are incomplete'
	exit 1
fi
echo 'all pictures exist'
