#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Clocks that are set or disagree during a run.
# shellcheck disable=SC2154
load helper

# Run mininb with the clock defect $1; it must exit with $2.
stepping()
{
	# a sanitizer must be the first library
	! grep -qa '__asan_init\|__tsan_init' "$MININB" || skip 'a sanitizer must be the first library'
	run "-$2" --separate-stderr env CLOCK_STEPS="$1" LD_PRELOAD="$MININB_TEST_CLOCK_STEPS" \
		timeout 60 "$MININB" "${@:3}"
}

@test "changes of the system time affect only the recorded start time" {
	mininb 0 keys -c 1000
	stepping realtime 0 put -d memory -c 1000 --output=r.json
	equals "$stderr" ''
	equals "$(total_of "$output")" 1000
	lacks "$output" 'the clock drifted'
	stepping realtime 0 run -d memory --read=50 --update=50 --records=100 -c 60 --rate=1k \
		--interval=20ms --sample=20ms --warmup=10ms --hang-after=20s --op-timeout=10s \
		--output=s.json
	equals "$stderr" ''
	# 60 operations at 1000/s take less than a second. A jump of an hour would add 3600 s to a
	# time in the result.
	python3 - <<'PY'
import json
for name in "r.json", "s.json":
    text = open(name).read()
    def walk(value, path=""):
        if isinstance(value, dict):
            for key, item in value.items():
                walk(item, path + "." + key)
        elif isinstance(value, list):
            for item in value:
                walk(item, path)
        elif path.endswith(".begun_at_ns"):
            assert value > 0, (name, path, value)
        elif path.endswith("_ns") and isinstance(value, (int, float)) and "count" not in path:
            assert 0 <= value < 3000e9, (name, path, value)
    walk(json.loads(text))
PY
	stepping realtime 0 check -d memory --only=session --hang-after=30s
}

@test "the result reports a time stamp counter that drifts from the kernel's clock" {
	[[ $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) == tsc ]] ||
		skip 'the kernel does not use the time stamp counter as its clock'
	mininb 0 keys -c 200k
	stepping monotonic 0 put -d memory -c 200k --clock=tsc --output=r.json
	matches "$output" 'the clock drifted: the time stamp counter ran (0\.9|1\.0)[0-9] % slow'
	contains "$(<r.json)" '"clock-drift"'
	mininb 0 put -d memory -c 200k --clock=tsc
	lacks "$output" 'the clock drifted'
}
