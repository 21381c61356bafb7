/* SPDX-License-Identifier: BSD-2-Clause */
'use strict';
/* Formats numbers like lib/base/units.c. */

/* Round like round_to_3(); toFixed() uses more digits than the product has. */
function fixed(value, digits) {
	return Math.round(value * 10 ** digits) / 10 ** digits;
}

function plain(value) {
	return String(Math.abs(value) < 1 ? Number(value.toPrecision(3)) : fixed(value, 3));
}

function threeDigits(value) {
	if (value >= 99.95)
		return String(fixed(value, 0));
	if (value < 1)
		return plain(value);
	return String(fixed(value, value >= 9.995 ? 1 : 2));
}

function stepped(value, base, suffixes) {
	let step = 0;
	for (; step + 1 < suffixes.length && value >= base * 0.9995; step++)
		value /= base;
	return threeDigits(value) + suffixes[step];
}

function twoDigits(value) {
	return String(value).padStart(2, '0');
}

function time(ns) {
	if (ns < 60e9)
		return stepped(ns, 1000, ['ns', 'us', 'ms', 's']);
	const seconds = Math.round(ns / 1e9);
	return seconds < 3600 ? Math.floor(seconds / 60) + 'm' + twoDigits(seconds % 60) + 's'
		: Math.floor(seconds / 3600) + 'h' + twoDigits(Math.floor(seconds / 60) % 60) + 'm';
}

/* x is 1 / (1 - share), HdrHistogram's axis of percentiles. */
function percentileName(x) {
	const beyond = 100 / x;
	let digits = 0;
	for (let rest = beyond; rest < 0.9999 && digits < 9; rest *= 10)
		digits++;
	return (100 - beyond).toFixed(digits) + '%';
}

const formats = {
	count: value => stepped(value, 1000, ['', 'k', 'M', 'G', 'T']),
	bytes: value => stepped(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']),
	ns: time,
	s: plain,
	percentile: percentileName,
	text: String
};

/* Format a value; '' if it is unknown. */
function known(unit, value) {
	return value ? formats[unit](value) : '';
}

function percent(share, digits) {
	return (100 * share).toFixed(digits) + '\u00a0%';
}

/* Bytes at a layer per logical byte; '' if unknown. */
function factor(value) {
	if (!value)
		return '';
	return value < 0.001 ? '< 0.001' : value.toFixed(value < 0.1 ? 3 : 2);
}
