#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# gnuplot draws what our scripts ask for: test-plots.sh PATH_OF_plots
#
# Skipped (77) where there is no gnuplot.
set -eu

command -v gnuplot >/dev/null || {
	echo 'skipped: there is no gnuplot'
	exit 77
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" "$dir"
cd "$dir"

# Fails if a script fails, or says anything.
draw() {
	gnuplot -e "terminal='$1'; output='$2'" "$3" >"$2.said" 2>&1 || {
		echo "$3: gnuplot failed:"
		cat "$2.said"
		exit 1
	}
	if [ -s "$2.said" ]; then
		echo "$3: gnuplot said:"
		cat "$2.said"
		exit 1
	fi
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
for drawn in d-* e-*; do
	case $drawn in
	'd-*' | 'e-*') ;;
	*)
		echo "$drawn was drawn of nothing"
		exit 1
		;;
	esac
done
if grep -L '</svg>' ./*.svg | grep .; then
	echo 'is no whole picture'
	exit 1
fi
echo 'all pictures are there'
