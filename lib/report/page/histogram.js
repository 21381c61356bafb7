/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes HdrHistogram's V2 log format, as lib/base/histogram_codec.c writes it: the counts
 * of the buckets with their runs of zeros, compressed, in base64. Percentiles are computed
 * like nb_histogram_percentile(): the upper end of the bucket, never above the exact
 * maximum.
 */
const HALF_BUCKETS = 1024, OUTER_BYTES = 8, HEADER_BYTES = 40, SUPPORT = 10;

async function inflate(base64) {
	const bytes = Uint8Array.from(atob(base64), byte => byte.charCodeAt(0));
	const stream = new Blob([bytes.subarray(OUTER_BYTES)]).stream()
		.pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* The ZigZag LEB128 numbers: counts, or as negative numbers how many buckets are empty. */
function* words(bytes) {
	for (let at = HEADER_BYTES; at < bytes.length;) {
		let value = 0, byte, size = 0;
		do {
			byte = bytes[at++];
			value += (size === 8 ? byte : byte & 0x7f) * 2 ** (7 * size++);
		} while (byte >= 0x80 && size < 9);
		yield value % 2 === 1 ? -(value + 1) / 2 : value / 2;
	}
}

function lowest(bucket) {
	const shift = bucket < 2 * HALF_BUCKETS ? 0 : Math.floor(bucket / HALF_BUCKETS) - 1;
	return {low: (bucket - shift * HALF_BUCKETS) * 2 ** shift, width: 2 ** shift};
}

/* The buckets that are not empty: [{low, high, count}]. */
async function bucketsOf(histogram) {
	const buckets = [];
	let index = 0;
	for (const word of words(await inflate(histogram.hdr))) {
		if (word < 0) {
			index -= word;
			continue;
		}
		const {low, width} = lowest(index++);
		if (word > 0)
			buckets.push({low: low, high: low + width - 1, count: word});
	}
	return buckets;
}

/* Decode a histogram; a damaged one is empty. */
async function decode(histogram) {
	const max = histogram.max_ns;
	const buckets = await bucketsOf(histogram).catch(() => []);
	return {count: buckets.reduce((sum, it) => sum + it.count, 0), max: max, buckets: buckets};
}

function merged(histograms) {
	const counts = new Map();
	histograms.forEach(one => one.buckets.forEach(it => {
		const before = counts.get(it.low);
		counts.set(it.low, {low: it.low, high: it.high, count: it.count + (before ? before.count : 0)});
	}));
	return {count: histograms.reduce((sum, it) => sum + it.count, 0),
		max: Math.max(0, ...histograms.map(it => it.max)),
		buckets: [...counts.values()].sort((one, other) => one.low - other.low)};
}

/* The value at a percentile; x is 1 / (1 - share). null: fewer than ten values lie beyond. */
function percentileAt(histogram, x) {
	if (histogram.count < SUPPORT * Math.max(x, x / (x - 1)) * (1 - 1e-9) || x <= 1)
		return null;
	const rank = Math.max(1, Math.ceil(histogram.count * (1 - 1 / x) * (1 - 1e-12)));
	let seen = 0;
	const bucket = histogram.buckets.find(it => (seen += it.count) >= rank);
	return bucket ? Math.min(bucket.high, histogram.max) : histogram.max;
}
