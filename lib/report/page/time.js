/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Charts over the time of a run: throughput, groups, counters, latency, resources. All have
 * one time axis, one cursor, and the same bands: warm-up, stalls, borders of phases.
 */
const WIDE_POINTS = 600, SMALL_POINTS = 240, HEAT_COLUMNS = 160, HEAT_STEPS = 10, COUNTERS_DRAWN = 6;

function seconds(ns) {
	return ns / 1e9;
}

/* ---- spans: merged neighbouring samples, with gaps between phases ---- */

function beginOf(sample) {
	return Math.max(0, sample.end_ns - sample.duration_ns);
}

function isApart(before, sample) {
	return sample.phase !== before.phase || beginOf(sample) > before.end_ns + sample.duration_ns / 2;
}

function spanOf(samples) {
	const begin = seconds(beginOf(samples[0])), end = seconds(samples[samples.length - 1].end_ns);
	return {begin: begin, end: end, samples: samples, ops: sum(samples.map(it => it.ops)),
		seconds: end - begin};
}

/* At most `wanted` spans, and gaps as spans without samples. */
function spansOf(samples, wanted) {
	const every = Math.ceil(samples.length / wanted), spans = [];
	let open = [];
	const close = () => open.length > 0 && spans.push(spanOf(open));
	samples.forEach((sample, i) => {
		const apart = i > 0 && isApart(samples[i - 1], sample), at = i > 0 && seconds(samples[i - 1].end_ns);
		if (apart || open.length === every) {
			close();
			open = [];
		}
		if (apart)
			spans.push({begin: at, end: at, samples: [], ops: 0, seconds: 0});
		open.push(sample);
	});
	close();
	return spans;
}

function middles(spans) {
	return spans.map(span => (span.begin + span.end) / 2);
}

function values(spans, read) {
	return spans.map(span => span.samples.length > 0 && span.seconds > 0 ? read(span) : null);
}

/* ---- common parts of the charts of a run ---- */

function endOf(series) {
	const ends = series.samples.length > 0 ? series.samples.map(sample => sample.end_ns)
		: series.pulses.map(pulses => pulses.begin_ns + pulses.ops.length * pulses.pulse_ns);
	return seconds(Math.max(0, ...ends));
}

/* Consecutive samples of a warm-up form one band. */
function warmups(samples) {
	const bands = [];
	samples.forEach((sample, i) => {
		if (sample.is_warmup && i > 0 && samples[i - 1].is_warmup)
			bands[bands.length - 1].to = seconds(sample.end_ns);
		else if (sample.is_warmup)
			bands.push({kind: 'warmup', from: seconds(beginOf(sample)), to: seconds(sample.end_ns)});
	});
	return bands;
}

function borders(samples) {
	return samples.filter((sample, i) => i > 0 && sample.phase !== samples[i - 1].phase)
		.map(sample => ({kind: 'phase', from: seconds(beginOf(sample)), to: seconds(beginOf(sample))}));
}

function stallBands(result) {
	return result.own.stalls.worst.map(stall => ({kind: 'stall', from: seconds(stall.begin_ns),
		to: seconds(stall.begin_ns + stall.duration_ns)}));
}

function seriesOfRun(result) {
	return result.measured.series || {samples: [], pulses: [], counters: []};
}

function overTime(result, chart) {
	const series = seriesOfRun(result);
	return figureOf({sync: result.id,
		bands: [...warmups(series.samples), ...stallBands(result), ...borders(series.samples)],
		...chart, x: {name: 'time, s', unit: 's', min: 0, max: endOf(series)}});
}

/* ---- throughput ---- */

function point(x, rates) {
	return {x: x, mean: rates.length > 0 ? sum(rates) / rates.length : null,
		low: rates.length > 0 ? Math.min(...rates) : null, high: rates.length > 0 ? Math.max(...rates) : null,
		isSpread: rates.length > 1};
}

/* The last pulse of a phase is incomplete and is left out. */
function pointsOfPulses(all) {
	const every = Math.ceil(sum(all.map(it => it.ops.length)) / WIDE_POINTS);
	return all.flatMap((pulses, i) => {
		const begin = seconds(pulses.begin_ns), step = seconds(pulses.pulse_ns);
		const used = pulses.ops.length > 2 ? pulses.ops.slice(0, -1) : pulses.ops;
		const points = i > 0 ? [point(begin, [])] : [];
		for (let first = 0; first < used.length; first += every) {
			const rates = used.slice(first, first + every).map(ops => ops / step);
			points.push(point(begin + (first + rates.length / 2) * step, rates));
		}
		return points;
	});
}

function rateOf(sample) {
	return sample.duration_ns > 0 ? sample.ops / seconds(sample.duration_ns) : 0;
}

function pointsOfSamples(samples) {
	return spansOf(samples, WIDE_POINTS).map(span => ({
		...point((span.begin + span.end) / 2, span.samples.map(rateOf)),
		mean: span.seconds > 0 ? span.ops / span.seconds : null}));
}

function pointsOfIntervals(intervals) {
	return intervals.map(it => point(seconds(it.end_ns - it.duration_ns / 2), [it.rate_ops_s]));
}

function throughputPoints(result) {
	const series = seriesOfRun(result);
	return series.pulses.some(pulses => pulses.ops.length > 0) ? pointsOfPulses(series.pulses)
		: series.samples.length > 0 ? pointsOfSamples(series.samples) : pointsOfIntervals(result.intervals);
}

/* x must ascend, but a gap may begin where the previous phase ended. */
function ordered(points) {
	return points.filter((it, i) => i === 0 || it.x > points[i - 1].x);
}

function throughputChart(result) {
	const points = ordered(throughputPoints(result)), isSpread = points.some(it => it.isSpread);
	return overTime(result, {title: 'Operations per second', xs: points.map(it => it.x),
		y: {name: 'operations/s', unit: 'count'},
		lines: [{name: 'operations/s', ys: points.map(it => it.mean),
			low: isSpread && points.map(it => it.low), high: isSpread && points.map(it => it.high)}]});
}

/*
 * The line of a kind of operation: its group, if no other group of the phase executes that
 * kind, else the kind. If only a sample was timed, `scale` is the number of operations for
 * each timed one.
 */
function ownerOf(result, phase, name) {
	const owners = result.groups.filter(group => group.phase === phase &&
		group.operations.some(it => it.operation === name));
	const all = owners.flatMap(group => group.operations).filter(it => it.operation === name);
	return {name: owners.length === 1 ? owners[0].name : name,
		scale: sum(all.map(it => it.ops)) / sum(all.map(it => it.service ? it.service.count : 0))};
}

function groupsChart(result) {
	const spans = spansOf(seriesOfRun(result).samples, SMALL_POINTS), isIn = new Set();
	const done = spans.map(span => {
		const counts = new Map();
		span.samples.forEach(sample => sample.latencies.filter(it => !it.is_response).forEach(it => {
			const owner = ownerOf(result, sample.phase, it.operation);
			isIn.add(sample.phase + owner.name);
			counts.set(owner.name, (counts.get(owner.name) || 0) + it.count * owner.scale);
		}));
		return counts;
	});
	const names = [...new Set(done.flatMap(counts => [...counts.keys()]))];
	return names.length < 2 ? null : overTime(result, {title: 'Operations per second of each ' +
		(result.groups.length > 1 ? 'group' : 'kind'), xs: middles(spans), y: {name: 'operations/s', unit: 'count'},
	lines: names.map(name => ({name: name, ys: spans.map((span, i) => span.seconds > 0 &&
		isIn.has(span.samples[0].phase + name) ? (done[i].get(name) || 0) / span.seconds : null)}))});
}

function stallSentence(stalls) {
	if (stalls.looked_ns === 0)
		return null;
	const rate = formats.count(stalls.median_ops_s), looked = time(stalls.looked_ns);
	return el('p', stalls.worst.length === 0
		? `No stall was found in ${looked}. A stall is a gap that chance does not explain, or 100ms or more ` +
			`below half of the median, which is ${rate} ops/s.`
		: `${time(stalls.slow_ns)} of ${looked} (${percent(stalls.slow_ns / stalls.looked_ns, 1)}) were below ` +
			`half of the median of ${rate} ops/s.`,
	stalls.longest_gap_ns > 0 ? ` The longest time in which no operation ended was ${time(stalls.longest_gap_ns)}, ` +
		`at ${seconds(stalls.longest_gap_at_ns).toFixed(2)} s.` : '');
}

function stallTable(stalls) {
	return stalls.worst.length === 0 ? null : table('The longest stalls, in order of time',
		['at', 'for#', 'ops/s meanwhile#', 'what the engine counted'], stalls.worst.map(stall => [
			seconds(stall.begin_ns).toFixed(2) + '\u00a0s', time(stall.duration_ns),
			formats.count(stall.rate_ops_s), stall.cause || 'nothing known']));
}

function throughputPart(result) {
	const chart = throughputChart(result);
	return [el('h3', 'Throughput over time'), chart || el('p', 'The result has no data over time.'),
		chart ? groupsChart(result) : null, chart ? stallSentence(result.own.stalls) : null,
		stallTable(result.own.stalls)];
}

/* ---- the engine's counters that changed most ---- */

/* Coefficient of variation: of a counter's growth per second, or of a gauge's level. */
function variation(series, index) {
	const isGauge = series.counters[index].kind === 'gauge', seen = [];
	let grown = 0;
	series.samples.forEach(sample => {
		grown += seconds(sample.duration_ns);
		if (sample.counters.length === 0)
			return;
		const value = sample.counters[index] || 0;
		seen.push(isGauge ? value : grown > 0 ? value / grown : 0);
		grown = 0;
	});
	const mean = sum(seen) / seen.length;
	return mean > 0 ? Math.sqrt(Math.max(0, sum(seen.map(it => it * it)) / seen.length - mean * mean)) / mean : 0;
}

const counterUnits = {bytes: ['bytes', 1], KiB: ['bytes', 1024], MiB: ['bytes', 1024 ** 2],
	GiB: ['bytes', 1024 ** 3], ns: ['ns', 1], us: ['ns', 1e3], ms: ['ns', 1e6], s: ['ns', 1e9]};

/* A growth covers the time since the previous known counters. */
function counterValues(spans, index, isGauge, scale) {
	let grown = 0;
	return spans.map(span => {
		const told = span.samples.filter(sample => sample.counters.length > 0).map(it => it.counters[index] || 0);
		grown = span.samples.length === 0 ? 0 : grown + span.seconds;
		if (told.length === 0)
			return null;
		const value = scale * (isGauge ? told[told.length - 1] : sum(told) / grown);
		grown = 0;
		return value;
	});
}

function counterChart(result, spans, index) {
	const counter = seriesOfRun(result).counters[index], isGauge = counter.kind === 'gauge';
	const [unit, scale] = counterUnits[counter.unit] || ['count', 1];
	const name = (unit === 'ns' ? 'time' : unit === 'bytes' ? 'bytes' : counter.unit || 'level') +
		(isGauge ? '' : ' per second');
	return overTime(result, {title: counter.name, small: true, xs: middles(spans), y: {name: name, unit: unit},
		lines: [{name: name, ys: counterValues(spans, index, isGauge, scale), area: !isGauge}]});
}

function countersPart(result) {
	const series = seriesOfRun(result), spans = spansOf(series.samples, SMALL_POINTS);
	const changed = series.counters.map((counter, index) => ({index: index,
		variation: counter.has_run_back ? 0 : variation(series, index)})).filter(it => it.variation > 1e-6);
	const chosen = changed.sort((one, other) => other.variation - one.variation || one.index - other.index)
		.slice(0, COUNTERS_DRAWN).sort((one, other) => one.index - other.index);
	return series.samples.length < 2 || chosen.length === 0 ? null : [
		el('h4', 'Counters of the engine'),
		chosen.length < series.counters.length ? el('p', `These of its ${series.counters.length} counters ` +
			'changed most; the totals of all are below.') : null,
		el('div.grid', chosen.map(it => counterChart(result, spans, it.index)))];
}

/* ---- latency over time ---- */

async function heatColumns(spans, isResponse) {
	return Promise.all(spans.map(async span => merged(await Promise.all(span.samples.flatMap(sample =>
		sample.latencies.filter(it => it.hdr && it.is_response === isResponse).map(decode))))));
}

/* Shades are logarithmic in the count, so that the few slow operations are visible. */
function heatOf(spans, columns) {
	const rowOf = bucket => bucket.low > 0 ? Math.floor(Math.log10(bucket.low) * HEAT_STEPS + 1e-9) : 0;
	const counts = columns.map(column => {
		const rows = new Map();
		column.buckets.forEach(it => rows.set(rowOf(it), (rows.get(rowOf(it)) || 0) + it.count));
		return rows;
	});
	const used = counts.flatMap(rows => [...rows.keys()]), first = Math.min(...used);
	const most = Math.max(...counts.flatMap(rows => [...rows.values()]));
	const rows = [...Array(Math.max(...used) - first + 1).keys()];
	const shade = count => count ? 1 + Math.min(7, Math.floor(8 * Math.log1p(count) / Math.log1p(most))) : 0;
	return {begin: spans.map(span => span.begin), end: spans.map(span => span.end),
		bounds: [...rows, rows.length].map(row => 10 ** ((first + row) / HEAT_STEPS)),
		columns: counts.map(column => rows.map(row => shade(column.get(first + row))))};
}

async function heatMembers(spans, isResponse) {
	const columns = await heatColumns(spans, isResponse);
	const line = (name, read) => ({name: name, ys: columns.map(it => it.count > 0 ? read(it) : null)});
	return {lines: [line('p50', it => percentileAt(it, 2)), line('p99', it => percentileAt(it, 100)),
		line('max', it => it.max)], heat: columns.some(it => it.count > 0) ? heatOf(spans, columns) : null};
}

function heatPart(result) {
	const latencies = seriesOfRun(result).samples.flatMap(sample => sample.latencies).filter(it => it.hdr);
	const isResponse = latencies.some(it => it.is_response);
	const spans = spansOf(seriesOfRun(result).samples, HEAT_COLUMNS);
	return latencies.length === 0 ? null : [el('h3', 'Latency over time'), overTime(result, {
		title: isResponse ? 'Response times, of what had a rate' : 'Service times of all operations',
		xs: middles(spans), y: {name: 'latency, logarithmic', unit: 'ns', log: true}, hasHeat: true,
		load: () => heatMembers(spans, isResponse)})];
}

/* ---- resources ---- */

/* A count of the system, per second. */
function counts(scale, ...fields) {
	return fields.map(([name, field]) => [name, span => sum(span.samples.map(it => it.used[field] || 0)) *
		scale / span.seconds]);
}

/* A level: the maximum of the span. */
function levels(...fields) {
	return fields.map(([name, field]) => [name, span => Math.max(...span.samples.map(it => it.levels[field] || 0))]);
}

const resources = [
	{title: 'CPU time', axis: 'CPUs', needs: 'process', stacked: true,
		lines: counts(1e-9, ['user', 'user_ns'], ['user + system', 'system_ns'])},
	{title: 'Resident memory', axis: 'bytes', unit: 'bytes', stacked: true,
		lines: levels(['anonymous', 'anonymous_bytes'], ['anonymous + file', 'file_bytes'])},
	{title: 'Bytes by calls', axis: 'bytes per second', unit: 'bytes', needs: 'io',
		lines: counts(1, ['by read(2) and the like', 'call_read_bytes'], ['by write(2) and the like', 'call_write_bytes'])},
	{title: 'Bytes of storage', axis: 'bytes per second', unit: 'bytes', needs: 'io',
		lines: counts(1, ['fetched', 'storage_read_bytes'], ['dirtied', 'storage_write_bytes'])},
	{title: 'Bytes of the device, whoever used it', axis: 'bytes per second', unit: 'bytes', needs: 'device',
		lines: counts(1, ['read', 'device_read_bytes'], ['written', 'device_write_bytes'])},
	{title: 'Device busy', axis: 'share of the time', needs: 'device',
		lines: counts(1e-9, ['busy', 'device_busy_ns'])},
	{title: 'Page faults', axis: 'faults per second', needs: 'process',
		lines: counts(1, ['minor', 'minor_faults'], ['major', 'major_faults'])},
	{title: 'Context switches', axis: 'switches per second', needs: 'process',
		lines: counts(1, ['voluntary', 'voluntary_switches'], ['involuntary', 'involuntary_switches'])},
	{title: 'Database and dirty page cache', axis: 'bytes', unit: 'bytes',
		lines: levels(['database', 'data_bytes'], ['dirty, of the machine', 'dirty_bytes'])},
	{title: 'Some task was held up (pressure)', axis: 'share of the time', needs: 'pressure',
		lines: counts(1e-9, ['CPU', 'pressure_cpu_ns'], ['memory', 'pressure_memory_ns'], ['I/O', 'pressure_io_ns'])},
	{title: 'Taken by the hypervisor or the cgroup', axis: 'CPUs', needs: 'machine',
		lines: counts(1e-9, ['steal', 'steal_ns'], ['throttled', 'throttled_ns'])},
	{title: 'Swap, of the machine', axis: 'bytes per second', unit: 'bytes', needs: 'machine',
		lines: counts(1, ['in', 'swap_in_bytes'], ['out', 'swap_out_bytes'])},
	{title: 'Processor', axis: 'per second', needs: 'cycles',
		lines: counts(1, ['cycles', 'cycles'], ['instructions', 'instructions'])},
	{title: 'Cache misses', axis: 'per second', needs: 'cache', lines: counts(1, ['misses', 'cache_misses'])}
];

/* Values of private servers and their client. Samples of old results have no servers. */
function servers(scale, field) {
	return span => scale * sum(span.samples.map(it => it.server ? it.server[field] : 0)) / span.seconds;
}

const resourcesOfServers = [
	{title: 'CPU time of servers and client', axis: 'CPUs', lines: [['servers', servers(1e-9, 'cpu_ns')],
		['client', span => 1e-9 * sum(span.samples.map(it => (it.used.user_ns || 0) + (it.used.system_ns || 0))) /
			span.seconds]]},
	{title: 'Memory of servers and client', axis: 'bytes', unit: 'bytes', lines: [
		['servers', span => Math.max(...span.samples.map(it => it.server ? it.server.resident_bytes : 0))],
		['client', span => Math.max(...span.samples.map(it => (it.levels.anonymous_bytes || 0) +
			(it.levels.file_bytes || 0)))]]},
	{title: 'Storage bytes of servers', axis: 'bytes per second', unit: 'bytes', lines: [
		['fetched', servers(1, 'storage_read_bytes')], ['dirtied', servers(1, 'storage_write_bytes')]]}
];

/* Draw a resource; null if it is unknown or always 0. */
function resourceChart(result, spans, it) {
	const isKnown = span => !it.needs || span.samples.every(sample => (sample.used.known || []).includes(it.needs));
	const lines = it.lines.map(([name, read]) => ({name: name, ys: values(spans, span => isKnown(span)
		? read(span) : null)}));
	if (!lines.some(line => line.ys.some(value => value > 0)))
		return null;
	if (it.stacked) {
		lines[1].ys = lines[1].ys.map((value, i) => value === null ? null : value + lines[0].ys[i]);
		lines[0].area = true;
	}
	return overTime(result, {title: it.title, small: true, xs: middles(spans), lines: lines,
		y: {name: it.axis, unit: it.unit || 'count'}});
}

function queueChart(result, spans) {
	const overdue = values(spans, span => Math.max(...span.samples.map(sample => sample.behind_ops)));
	return !overdue.some(value => value > 0) ? null : overTime(result, {title: 'Queue: operations due and not done',
		small: true, xs: middles(spans), y: {name: 'operations', unit: 'count'},
		lines: [{name: 'overdue', ys: overdue, area: true}]});
}

function resourcesPart(result) {
	const spans = spansOf(seriesOfRun(result).samples, SMALL_POINTS), title = el('h3', 'Resources over time');
	if (spans.length === 0)
		return [title, el('p', 'The result has no data over time.')];
	const drawn = resources.map(it => resourceChart(result, spans, it));
	const left = resources.filter((it, i) => drawn[i] === null).map(it => it.title);
	return [title, el('div.grid', queueChart(result, spans), drawn),
		left.length > 0 ? el('p.aside', `Not known, or 0 throughout: ${left.join('; ')}.`) : null];
}

function serversPart(result) {
	const server = result.measured.server, spans = spansOf(seriesOfRun(result).samples, SMALL_POINTS);
	if (!server)
		return null;
	return [el('h3', 'Servers'), el('p', `While the operations ran, ${server.servers} private ` +
		`server${server.servers > 1 ? 's' : ''} and their children used ${time(server.cpu_ns)} of CPU time, and the ` +
		`client ${time((result.measured.used.user_ns || 0) + (result.measured.used.system_ns || 0))}.`),
	spans.length > 0 ? el('div.grid', resourcesOfServers.map(it => resourceChart(result, spans, it))) : null];
}
