#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-includes.sh finds each kind of violation, and nothing in a correct tree.
set -eu

check=$(dirname "$0")/check-includes.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# A correct tree.
make_tree() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/cli" "$tree/plugins/mine" "$tree/include/mininb" "$tree/lib/base" \
		"$tree/lib/workload" "$tree/lib/run" "$tree/lib/report" "$tree/lib/serve"
	printf '#include <stdint.h>\n' >"$tree/include/mininb/engine.h"
	printf '#include <mininb/engine.h>\n#include <stdio.h>\n' >"$tree/include/mininb/mininb.h"
	printf '#include <mininb/mininb.h>\n' >"$tree/lib/base/error.h"
	printf '#include "base/error.h"\n' >"$tree/lib/workload/keys.h"
	printf '#include "base/error.h"\n#include "workload/keys.h"\n#include "run.h"\n' \
		>"$tree/lib/run/run.c"
	printf '#include "workload/keys.h"\n' >"$tree/lib/run/run.h"
	printf '#include "run/run.h"\n' >"$tree/lib/report/text.c"
	printf '#include "../../plugins/remote/fabric.h"\n' >"$tree/lib/serve/ofi.c"
	printf '#include <mininb/mininb.h>\n#include "cli.h"\n' >"$tree/cli/main.c"
	printf '#include <mininb/run.h>\n' >"$tree/cli/cli.h"
	printf '#include <mininb/engine.h>\n#include <leveldb/c.h>\n#include "../common/plugin.h"\n' \
		>"$tree/plugins/mine/mine.c"
}

# $1: a file; $2: a wrong line in it.
expect_refusal() {
	make_tree
	printf '%s\n' "$2" >>"$tree/$1"
	if output=$(sh "$check" "$tree"); then
		echo "not detected: $2 in $1"
		failed=1
	elif ! printf '%s\n' "$output" | grep -q "^$1: "; then
		echo "the report does not name $1: $output"
		failed=1
	fi
}

make_tree
if ! sh "$check" "$tree"; then
	echo "a correct tree is rejected"
	failed=1
fi

expect_refusal cli/main.c '#include "base/error.h"'
expect_refusal cli/main.c '#include "../lib/run/run.h"'
expect_refusal cli/cli.h ' #  include "../lib/base/error.h"'
expect_refusal plugins/mine/mine.c '#include <mininb/mininb.h>'
expect_refusal plugins/mine/mine.c '#include "../yours/yours.h"'
expect_refusal plugins/mine/mine.c '#include "base/error.h"'
expect_refusal plugins/mine/mine.c '#include "../../include/mininb/engine.h"'
expect_refusal include/mininb/engine.h '#include <stdbool.h>'
expect_refusal include/mininb/engine.h '#include <mininb/mininb.h>'
expect_refusal include/mininb/mininb.h '#include "base/error.h"'
expect_refusal lib/base/error.h '#include "workload/keys.h"'
expect_refusal lib/run/run.c '#include "../../plugins/remote/fabric.h"'
expect_refusal lib/serve/ofi.c '#include "../../plugins/remote/stream.h"'
expect_refusal lib/base/error.h '#include "../run/run.h"'
expect_refusal lib/workload/keys.h '#include "run/run.h"'
expect_refusal lib/workload/keys.h '#include "report/text.h"'
expect_refusal lib/run/run.c '#include "report/text.h"'
expect_refusal lib/run/run.c '#include "base/../report/text.h"'
expect_refusal lib/report/text.c '#include "cli/cli.h"'
exit "$failed"
