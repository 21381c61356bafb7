#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The stage 'scripts' of extra/test.sh fails if it cannot check anything: test-scripts.sh
# SOURCE_TREE
set -eu

for tool in git shellcheck bash; do
	command -v "$tool" >/dev/null || {
		echo "skipped: $tool is not installed"
		exit 77
	}
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tree/extra" "$dir/bin"
cp "$1/.shellcheckrc" "$dir/tree"
cp "$1/extra/common.sh" "$1/extra/test.sh" "$dir/tree/extra"
printf '#!/bin/sh\n' >"$dir/tree/extra/setup.sh" # installs nothing
chmod +x "$dir/tree/extra/setup.sh"

# The stage must end with status $1, and its output must have a line that matches $2. PATH is $3.
expect() {
	status=0
	PATH=$3 "$dir/tree/extra/test.sh" scripts >"$dir/said" 2>&1 || status=$?
	if [ "$status" -ne "$1" ] || ! grep -q "$2" "$dir/said"; then
		echo "status $status, expected $1 and '$2':"
		cat "$dir/said"
		exit 1
	fi
}

expect 1 '^FAILED: scripts: git lists no script' "$PATH"
git -C "$dir/tree" init -q
git -C "$dir/tree" add .
expect 0 '^ok: shellcheck extra/setup.sh' "$PATH"
# The tools that the script needs before its stages, but neither git nor shellcheck.
for tool in bash basename dirname chmod mktemp rm sed awk timeout; do
	ln -s "$(command -v "$tool")" "$dir/bin"
done
expect 1 '^FAILED: scripts: git is missing' "$dir/bin"
