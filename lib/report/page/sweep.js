/* SPDX-License-Identifier: BSD-2-Clause */
/* The findings of a sweep: latency over the offered rate, with the knee and the limit first. */

function sweepFinding(result) {
	const sweep = result.sweep, knee = sweep.points[result.own.knee];
	return el('p', sweep.capacity_ops_s > 0
		? `Capacity in a closed loop: ${formats.count(sweep.capacity_ops_s)} ops/s. ` : '',
	!knee ? 'There is no knee: a higher load may find one.'
		: `The knee is at ${formats.count(knee.offered_ops_s)} ops/s offered` +
			(knee.share > 0 ? `, ${percent(knee.share, 0)} of the capacity` : '') + '.',
	!sweep.slo ? '' : sweep.slo_ops_s > 0
		? ` The highest rate that held ${sweep.slo}: ${formats.count(sweep.slo_ops_s)} ops/s.`
		: ` No rate that was tried held ${sweep.slo}.`);
}

function sweepTiles(result) {
	const sweep = result.sweep, knee = sweep.points[result.own.knee];
	return el('div.tiles', sweep.slo ? tile(`holds ${sweep.slo}`, known('count', sweep.slo_ops_s) || 'none', 'ops/s') : null,
		tile('knee', knee ? formats.count(knee.offered_ops_s) : 'none', knee ? 'ops/s offered' : ''),
		knee && knee.response_p99_ns ? tile('p99 response there', time(knee.response_p99_ns)) : null,
		tile('capacity', known('count', sweep.capacity_ops_s) || 'unknown', 'ops/s, closed loop'),
		tile('queue grew', `${sweep.points.filter(point => point.queue_grew).length} of ${sweep.points.length}`,
			'points'));
}

/* If the queue grew at a point, shade the range half way to its neighbours. */
function sweepBands(result, points) {
	const xs = points.map(point => point.offered_ops_s), last = xs.length - 1;
	const bands = points.flatMap((point, i) => !point.queue_grew ? [] : [{kind: 'overload',
		from: i > 0 ? (xs[i - 1] + xs[i]) / 2 : xs[i], to: i < last ? (xs[i] + xs[i + 1]) / 2 : xs[i]}]);
	const knee = result.sweep.points[result.own.knee], slo = result.sweep.slo_ops_s;
	if (knee)
		bands.push({kind: 'knee', from: knee.offered_ops_s, to: knee.offered_ops_s});
	if (slo > 0)
		bands.push({kind: 'slo', from: slo, to: slo});
	return bands;
}

/* uPlot needs ascending x: of points with the same offered rate, keep the last. */
function ascending(points) {
	const sorted = [...points].sort((one, other) => one.offered_ops_s - other.offered_ops_s);
	return sorted.filter((point, i) => i + 1 === sorted.length ||
		sorted[i + 1].offered_ops_s > point.offered_ops_s);
}

function sweepChart(result) {
	const points = ascending(result.sweep.points), xs = points.map(point => point.offered_ops_s);
	const line = (name, member) => ({name: name, ys: points.map(point => point[member] || null)});
	return figureOf({title: 'Latency over the offered rate', xs: xs,
		x: {name: 'operations/s offered', unit: 'count', min: xs[0], max: xs[xs.length - 1]},
		y: {name: 'latency, logarithmic', unit: 'ns', log: true}, bands: sweepBands(result, points),
		lines: [line('p50 of response', 'response_p50_ns'), line('p99 of response', 'response_p99_ns'),
			line('p99.9 of response', 'response_p999_ns'), line('p99 of service', 'service_p99_ns')]});
}

function achievedChart(result) {
	const points = ascending(result.sweep.points), xs = points.map(point => point.offered_ops_s);
	return figureOf({title: 'Throughput over the offered rate', xs: xs,
		x: {name: 'operations/s offered', unit: 'count', min: xs[0], max: xs[xs.length - 1]},
		y: {name: 'operations/s achieved', unit: 'count'}, bands: sweepBands(result, points),
		lines: [{name: 'achieved', ys: points.map(point => point.achieved_ops_s)},
			{name: 'offered', ys: xs}]});
}

function sweepTable(result) {
	const state = (point, i) => [i === result.own.knee && 'knee', point.queue_grew && 'queue grew']
		.filter(text => text).join(', ') || 'kept up';
	return table('Points of the curve', ['offered/s', 'achieved/s#', 'service p50#', 'service p99#',
		'service p99.9#', 'response p50#', 'response p99#', 'response p99.9#', 'response max#', 'state'],
	result.sweep.points.map((point, i) => [formats.count(point.offered_ops_s),
		known('count', point.achieved_ops_s), ...['service_p50_ns', 'service_p99_ns', 'service_p999_ns',
			'response_p50_ns', 'response_p99_ns', 'response_p999_ns', 'response_max_ns']
			.map(member => known('ns', point[member])), state(point, i)]));
}

function sweeps() {
	return results.filter(result => result.sweep && result.sweep.points.length > 0);
}

function sweepSection() {
	const all = sweeps();
	return all.length === 0 ? null : section('curve', 'Latency over throughput', all.map(result => [
		all.length > 1 ? el('h3', titleOf(result)) : null, sweepTiles(result), sweepFinding(result),
		sweepChart(result), achievedChart(result), sweepTable(result)]));
}
