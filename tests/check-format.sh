#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that every C file in the repository is formatted as .clang-format demands: check-format.sh
# [source tree]
set -eu

cd "${1:-.}"
if ! command -v clang-format >/dev/null; then
	echo "skipped: clang-format is not installed"
	exit 77
fi
# Versions of clang-format differ on some lines.
if ! clang-format --version | grep -q 'version 14\.'; then
	echo "skipped: the files are formatted with clang-format 14, not with this version"
	exit 77
fi
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	echo "skipped: only git knows the files of the repository, and this is not a checkout"
	exit 77
fi
files=$(git ls-files -- '*.c' '*.h')
if [ -z "$files" ]; then
	echo "the repository contains no C files"
	exit 1
fi
# Our file names contain no spaces.
# shellcheck disable=SC2086
clang-format --dry-run -Werror $files
