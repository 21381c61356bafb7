/* SPDX-License-Identifier: BSD-2-Clause */
/* The section of one run: groups, charts over time, percentiles, layers, threads. */
const STEPS_A_DECADE = 12, THREADS_DRAWN = 64;

/* ---- groups ---- */

function mixOf(group) {
	const total = sum(Object.values(group.mix));
	return group.trace || Object.entries(group.mix).filter(([, weight]) => weight > 0)
		.map(([name, weight]) => `${name} ${Number((100 * weight / total).toPrecision(4))}\u00a0%`).join(', ');
}

function loadOf(group) {
	return (group.speed > 0 ? `times of the trace, at ${group.speed}x`
		: group.rate ? `${group.rate} ops/s offered`
		: group.is_paced && group.rate_ops_s > 0 ? `${formats.count(group.rate_ops_s)} ops/s offered`
		: group.is_paced ? 'with a rate' : 'closed loop') + (group.depth ? `, depth ${group.depth}` : '') +
		(group.latency ? `, stamps ${group.latency}` : '') + (group.is_background ? ', in the background' : '');
}

function groupsPart(result) {
	const level = result.groups.some(group => group.level) ? ['level'] : [];
	return result.job === null ? null : table('What was done, without the warm-up', ['group', 'mix', 'phase#',
		'threads#', 'load', ...level, 'operations#', 'in#', 'ops/s#'], result.groups.map(group =>
		[group.name, mixOf(group), group.phase + 1, group.threads, loadOf(group),
			...level.map(() => group.level || ''), known('count', group.ops), known('ns', group.wall_ns),
			known('count', group.throughput_ops_s)]));
}

/* ---- latency by percentile ---- */

/*
 * Histograms for the lines: the service or response times of operations, or of batches or
 * checkpoints.
 */
function latenciesOf(result) {
	const others = [['batch', result.measured.batch], ['checkpoint', result.measured.checkpoints]];
	return [...result.groups.flatMap(group => group.operations.flatMap(operation =>
		['service', 'response'].filter(name => operation[name] && operation[name].count > 0).map(name =>
			({name: (result.groups.length > 1 ? group.name + ': ' : '') + operation.operation + ', ' + name,
				histogram: operation[name]})))),
	...others.filter(([, it]) => it && it.count > 0).map(([name, it]) => ({name: name, histogram: it}))];
}

/* Points of the axis 1 / (1 - share): evenly spaced ones, and the named percentiles. */
function percentileAxis(most) {
	const points = Math.floor(Math.log10(most / SUPPORT) * STEPS_A_DECADE + 1e-9) + 1;
	const xs = [...Array(points).keys()].map(i => 10 ** (i / STEPS_A_DECADE));
	return [...xs, 2].sort((one, other) => one - other);
}

function marksOf(xs, line) {
	return HEADLINE.map(name => {
		const x = 100 / (100 - Number(name.slice(1)));
		return {x: x, name: name, y: line.ys[xs.findIndex(it => Math.abs(it / x - 1) < 1e-9)]};
	}).filter(mark => mark.y);
}

/*
 * `linesOf(xs)` returns the lines later, because histograms are decoded when the chart
 * comes into view.
 */
function percentileChart(title, linesOf, most) {
	const xs = percentileAxis(most);
	return {title: title, xs: xs, lines: [], x: {name: 'percentile', unit: 'percentile', log: true,
		min: 1, max: xs[xs.length - 1]}, y: {name: 'latency, logarithmic', unit: 'ns', log: true},
	load: async () => ({lines: (await linesOf(xs)).map(line => ({...line, marks: marksOf(xs, line)}))})};
}

function latencyTable(latencies) {
	return table('Latencies; empty where the samples are too few',
		['operation', 'measured#', ...TIMES.map(name => name + '#')], latencies.map(it => [it.name,
			String(it.histogram.count), ...TIMES.map(name => known('ns', timeAt(it.histogram, name)))]));
}

function latencyPart(result) {
	const latencies = latenciesOf(result), most = Math.max(0, ...latencies.map(it => it.histogram.count));
	return [el('h3', 'Latency by percentile'), most < 2 * SUPPORT
		? el('p', 'Too few operations for percentiles.')
		: figureOf(percentileChart('Each kind of operation', xs => Promise.all(latencies.map(async it => {
			const histogram = await decode(it.histogram);
			return {name: it.name, ys: xs.map(x => percentileAt(histogram, x))};
		})), most)),
	latencies.length > MAX_LINES ? el('p.hint', `The first ${MAX_LINES} of ${latencies.length} are drawn.`) : null,
	latencyTable(latencies)];
}

/* ---- from the operation to the device ---- */

function layersTable(own) {
	const row = (name, layer) => layer.logical_bytes === 0 ? [] : [[name, formats.bytes(layer.logical_bytes),
		factor(layer.calls), factor(layer.storage), factor(layer.device)]];
	const rows = [...row('written, with settling', own.write), ...row('read', own.read)];
	return rows.length === 0 ? null : table('Amplification: bytes at each layer for one of keys and values; ' +
		'empty where not known', ['direction', 'asked for#', 'by calls#', 'storage#', 'device#'], rows);
}

function residencyTable(measured) {
	const rows = [['before it was opened', measured.residency_before],
		['before the first operation', measured.residency_begin],
		['after it was closed', measured.residency_after]].filter(([, it]) => it && it.is_known);
	return rows.length === 0 ? null : table('How much of the database was in the page cache',
		['when', 'in memory#', 'of#', 'share#'], rows.map(([when, it]) => [when, formats.bytes(it.resident_bytes),
			known('bytes', it.total_bytes), it.total_bytes > 0 ? percent(it.resident_bytes / it.total_bytes, 1) : '']));
}

const coldness = {
	files: 'Before the run, mininb dropped its files from the page cache.',
	caches: 'Before the run, mininb dropped all of the kernel\'s caches.'
};

function layersPart(result) {
	const own = result.own, measured = result.measured;
	return [el('h3', 'From the operation to the device'), layersTable(own),
		own.space > 0 ? el('p', `Space: the database takes ${own.space.toFixed(2)} bytes on its file system for ` +
			`each byte of the ${formats.bytes(own.live_bytes)} of keys and values that it holds.`) : null,
		own.syncs ? el('p', `Syncs: ${own.syncs}.`) : null, residencyTable(measured),
		coldness[measured.cold] ? el('p', coldness[measured.cold]) : null,
		own.cycles_op > 0 ? el('p', `Processor: ${Math.round(own.cycles_op)} cycles and ` +
			`${Math.round(own.instructions_op)} instructions for an operation` +
			(own.cache_misses_op > 0 ? `, ${Number(own.cache_misses_op.toPrecision(3))} cache misses.` : '.')) : null,
		result.energy_j_op > 0 ? el('p', `Energy: ${Number((1e6 * result.energy_j_op).toPrecision(3))} uJ for an ` +
			'operation.') : null,
		measured.used_missing ? el('p.aside', `Not available: ${measured.used_missing}`) : null];
}

/* ---- threads ---- */

function hiccupSentence(result) {
	const it = result.hiccups;
	if (!it)
		return null;
	const told = HEADLINE.filter(name => timeAt(it, name))
		.map(name => `${name} ${time(timeAt(it, name))}, `).join('');
	return el('p', `Hiccups of the machine, by how much a sleeping thread woke up late: ${told}at most ` +
		`${time(it.max_ns)}, of ${it.count} times. Latencies as long as these may be the machine's and not ` +
		'the engine\'s.');
}

function threadsPart(result) {
	const threads = result.groups.flatMap(group => group.by_thread.map((thread, i) => ({
		name: `${group.name} ${i + 1}`, rate: thread.wall_ns > 0 ? thread.ops / seconds(thread.wall_ns) : 0})));
	const drawn = threads.slice(0, THREADS_DRAWN), axis = axisAround(drawn.map(it => it.rate), 'count', false);
	return [el('h3', 'Threads'), threads.length === 0 ? el('p', 'The result does not say what each thread did.') : null,
		axis && rowsFigure('Throughput of each thread', axis, 'operations/s', drawn.map(it => ({name: it.name,
			marks: [it.rate > 0 ? placed('i.bar.v0', axis, 0, it.rate) : null], value: formats.count(it.rate)})), []),
		threads.length > THREADS_DRAWN ? el('p', `The first ${THREADS_DRAWN} of ${threads.length} threads.`) : null,
		hiccupSentence(result)];
}

/* ---- the section ---- */

function partsOf(result) {
	return [groupsPart(result), throughputPart(result), countersPart(result), latencyPart(result), heatPart(result),
		serversPart(result), resourcesPart(result), layersPart(result), threadsPart(result), conditionsPart(result)];
}

/* A single result is open. With several, each is folded, with its tiles above. */
function runSection(contestant, result) {
	const isOnly = results.length === 1, isMedian = contestant.runs.length > 1 && result === contestant.shown;
	const element = section(result.id, titleOf(result), isMedian
		? el('p', `The run with the median throughput of ${contestant.runs.length}.`) : null,
	isOnly ? null : [tiles(result), inWords(result)],
	isOnly ? partsOf(result) : folded('Charts and figures of this run', () => partsOf(result)));
	element.classList.add('result');
	return element;
}

/* The median run, and the others folded. */
function contestantSections(contestant) {
	const others = contestant.runs.filter(run => run !== contestant.shown);
	return [runSection(contestant, contestant.shown), others.length === 0 ? null
		: folded(`The other runs of ${contestant.title}: ${others.length}`, () =>
			others.map(run => runSection(contestant, run)))];
}
