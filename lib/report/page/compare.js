/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results side by side, and the tables of a comparison. C computes ratios, intervals and
 * verdicts. The dot of a run is at its value divided by the median of the base.
 */
const ROWS_DRAWN = 32, THROUGHPUT_BINS = 60;

formats.ratio = ratioText;

function ratioText(ratio) {
	return ratio.toFixed(ratio >= 0.1 ? 3 : 4);
}

function valueText(metric, value) {
	return formats[metric.unit === 'ns' ? 'ns' : 'count'](value);
}

function workTitle(work) {
	return [work.action, work.driver, work.label].filter(text => text).join(' ');
}

function metricOf(work, name) {
	return work.metrics.find(metric => metric.name === name);
}

function pairOf(metric, sample) {
	return metric.pairs.find(pair => pair.of === sample.sample);
}

function median(values) {
	return [...values].sort((one, other) => one - other)[(values.length - 1) >> 1];
}

/* ---- the forest plot ---- */

function forestRow(axis, metric, sample) {
	const pair = pairOf(metric, sample), base = metric.samples[0].median;
	const look = pair && (pair.verdict === 'better' || pair.verdict === 'worse') ? pair.verdict : 'unclear';
	const marks = [placed('i.one', axis, 1),
		...sample.values.map(value => placed('i.run', axis, value / base, undefined, valueText(metric, value)))];
	if (pair && pair.low !== undefined)
		marks.unshift(placed('i.interval.' + look, axis, pair.low, pair.high));
	if (pair)
		marks.push(placed('i.ratio.' + look, axis, pair.ratio, undefined, ratioText(pair.ratio)));
	return {name: sample.sample, marks: marks, value: !pair ? 'base' : ratioText(pair.ratio) +
		(pair.low === undefined ? '' : ` (${ratioText(pair.low)} to ${ratioText(pair.high)})`)};
}

function forest(metric) {
	const samples = metric.samples.filter(sample => sample.values.length > 0);
	const axis = axisAround([1, ...samples.flatMap(sample => sample.values
		.map(value => value / metric.samples[0].median)),
	...metric.pairs.flatMap(pair => [pair.ratio, pair.low, pair.high])], 'ratio', true);
	return rowsFigure(metric.name === 'throughput' ? 'Throughput' : metric.name, axis,
		metric.higher_is_better ? 'ratio; right is better' : 'ratio; left is better',
		samples.map(sample => forestRow(axis, metric, sample)),
		[['run', 'a run'], ['ratio', 'ratio and its interval']]);
}

/* For each phase, the figures of the verdict. */
function forests() {
	const drawn = ['throughput', ...HEADLINE];
	return comparison.comparisons.map(work => [el('h3', workTitle(work)), el('div.grid.two',
		drawn.map(name => metricOf(work, name)).filter(metric => metric && metric.pairs.length > 0)
			.map(forest))]);
}

/* ---- tables of a comparison ---- */

function pairCells(pair) {
	return !pair ? ['', '', '', ''] : [ratioText(pair.ratio), pair.low === undefined ? ''
		: `${ratioText(pair.low)}..${ratioText(pair.high)}`,
	pair.p === undefined ? '' : pair.p.toPrecision(2).replace(/\.?0+$/, ''), pair.verdict];
}

function rankingTable(work, compared) {
	const metric = metricOf(work, 'throughput');
	if (!metric)
		return null;
	const best = [...metric.samples].sort((one, other) => other.median - one.median);
	return table('Throughput of all contestants: median over the runs, its spread, and ratio to ' +
		`${metric.samples[0].sample} with its interval of ${100 * compared.confidence} %`,
	['contestant', 'runs#', 'ops/s#', 'MAD#', 'lowest#', 'highest#', 'ratio#', 'CI#', 'p#', 'verdict'],
	best.map(sample => {
		const cells = pairCells(pairOf(metric, sample)), values = sample.values;
		return [sample.sample, values.length, ...[sample.median, sample.mad, values[0],
			values[values.length - 1]].map(value => known('count', value)), ...cells.slice(0, 3),
		sample === metric.samples[0] ? 'base' : cells[3]];
	}));
}

function pairTable(work, index) {
	const first = work.metrics[0].samples;
	return table(`${first[index].sample} against ${first[0].sample}, ${work.latency} times; ` +
		'medians over the runs',
	['figure', first[0].sample + '#', first[index].sample + '#', 'ratio#', 'CI#', 'p#', 'verdict'],
	work.metrics.map(metric => [metric.name, valueText(metric, metric.samples[0].median),
		valueText(metric, metric.samples[index].median),
		...pairCells(pairOf(metric, metric.samples[index]))]));
}

function pairTables(work, compared) {
	const samples = work.metrics.length > 0 ? work.metrics[0].samples : [];
	const absent = TIMES.filter(name => name !== 'max' && !metricOf(work, name));
	return [samples.slice(1).map((sample, i) => pairTable(work, i + 1)),
		absent.length > 0 ? el('p.hint', `Too few operations for ${absent.join(', ')}.`) : null,
		el('p.hint', `CI: the interval of ${100 * compared.confidence} %.`)];
}

function comparisonSection() {
	if (comparison === null)
		return null;
	return section('versus', 'Comparison', comparison.comparisons.map(work => [
		el('h3', workTitle(work)), rankingTable(work, comparison),
		folded('All figures against the base', () => pairTables(work, comparison))]));
}

/* ---- side by side ---- */

/* The sample of the comparison that has exactly the throughputs of these runs. */
function sampleOf(contestant, name) {
	const rates = contestant.runs.map(run => run.throughput_ops_s).sort((one, other) => one - other);
	const work = comparison && comparison.comparisons.find(it => it.action === contestant.shown.action &&
		it.label === contestant.shown.label);
	const throughput = work && metricOf(work, 'throughput'), metric = work && metricOf(work, name);
	const index = throughput ? throughput.samples.findIndex(sample =>
		sample.values.length === rates.length && sample.values.every((value, i) =>
			Math.abs(value / rates[i] - 1) < 1e-9)) : -1;
	return metric && index >= 0 && contestant.runs.length > 1 ? metric.samples[index] : null;
}

/* The median over the runs if C compared them, else the value of the shown run. */
function typical(contestant, name, own) {
	const sample = sampleOf(contestant, name);
	return sample ? sample.median : own;
}

function rowOf(contestant, highest, hasResponse, hasRuns) {
	const run = contestant.shown, service = run.service;
	const rate = typical(contestant, 'throughput', run.throughput_ops_s);
	const spread = sampleOf(contestant, 'throughput');
	return [link(run.id, contestant.title), run.engine.version, run.durability,
		hasRuns ? contestant.runs.length : null,
		barCell(formats.count(rate), rate / highest),
		hasRuns ? known('count', spread && spread.mad) : null,
		known('count', typical(contestant, 'settled', run.settled_throughput_ops_s)),
		...HEADLINE.map(name => [name, timeAt(service, name)]).map(
			([name, value]) => known('ns', hasRate(run) ? value : typical(contestant, name, value))),
		known('ns', service.max_ns),
		hasResponse ? known('ns', hasRate(run) && run.response.p99_ns) : null,
		known('ns', run.cpu_ns_op), known('bytes', run.measured.data_bytes),
		known('bytes', run.measured.max_resident_bytes),
		run.end || (run.measured.is_partial ? 'partial' : 'done')];
}

const sideColumns = ['result', 'version', 'durability', 'runs#', 'ops/s#', 'spread#', 'settled#',
	...HEADLINE.map(name => name + '#'), 'max#', 'response p99#', 'CPU/op#', 'database#', 'memory#', 'end'];

function sideTable(list, failed) {
	const hasResponse = list.some(it => hasRate(it.shown)), hasRuns = list.some(it => it.runs.length > 1);
	const kept = sideColumns.map(title => title === 'response p99#' ? hasResponse
		: title === 'runs#' || title === 'spread#' ? hasRuns : true);
	const highest = Math.max(...list.map(it => typical(it, 'throughput', it.shown.throughput_ops_s)));
	const rows = [...list.map(it => rowOf(it, highest, hasResponse, hasRuns)),
		...failed.map(it => [titleOf(it), ...sideColumns.slice(2).map(() => ''), 'no result'])];
	return table(hasRuns ? 'Medians over the runs, with the median absolute deviation as spread; the ' +
		'other figures are of the run with the median throughput; latencies are service times'
		: 'All results; latencies are service times',
	sideColumns.filter((title, i) => kept[i]), rows.map(row => row.filter((value, i) => kept[i])));
}

function throughputBars(list) {
	const rates = list.map(it => [typical(it, 'throughput', it.shown.throughput_ops_s),
		typical(it, 'settled', it.shown.settled_throughput_ops_s)]);
	const axis = axisAround(rates.flat(), 'count', false);
	return axis && rowsFigure('Throughput', axis, 'operations/s', list.map((it, i) => ({name: it.title,
		marks: rates[i].map((rate, v) => rate > 0 ? placed('i.bar.v' + v, axis, 0, rate) : null),
		value: formats.count(rates[i][0])})),
	[['v0', 'acknowledged'], ['v1', 'with settling and closing']]);
}

function latencyDots(list) {
	const names = [...HEADLINE, 'max'];
	const times = list.map(it => names.map(name => timeAt(it.shown.service, name)));
	const axis = axisAround(times.flat(), 'ns', true);
	return axis && rowsFigure('Service times', axis, 'latency, logarithmic', list.map((it, i) => ({name: it.title,
		marks: times[i].map((value, v) => value > 0 ? placed('i.dot.v' + v, axis, value, undefined,
			`${names[v]} ${time(value)}`) : null), value: times[i][1] > 0 ? `${names[1]} ${time(times[i][1])}` : ''})),
	names.map((name, v) => ['v' + v, name]));
}

/* The curve of a contestant: the median over its runs, with a band from the lowest to the highest. */
function bandOf(name, xs, columns) {
	const over = choose => xs.map((x, i) => {
		const values = columns.map(column => column[i]).filter(value => value !== null);
		return values.length === columns.length ? choose(values) : null;
	});
	return {name: name, ys: over(median), low: columns.length > 1 && over(values => Math.min(...values)),
		high: columns.length > 1 && over(values => Math.max(...values))};
}

function comparedThroughput(list) {
	const drawn = list.map(it => ({name: it.title, runs: it.runs.map(throughputPoints)}))
		.filter(it => it.runs.every(points => points.length > 2));
	if (drawn.length < 2)
		return null;
	const runs = drawn.flatMap(it => it.runs), lastOf = points => points[points.length - 1].x;
	const end = Math.max(...runs.map(lastOf)), apart = Math.max(...runs.map(it => lastOf(it) / it.length));
	const bins = Math.max(2, Math.min(THROUGHPUT_BINS, Math.floor(end / apart / 2)));
	const xs = [...Array(bins).keys()].map(i => (i + 0.5) * end / bins);
	const columnOf = points => xs.map(x => {
		const means = points.filter(it => it.mean !== null && Math.abs(it.x - x) <= end / bins / 2)
			.map(it => it.mean);
		return means.length > 0 ? sum(means) / means.length : null;
	});
	return figureOf({title: 'Operations per second', xs: xs, x: {name: 'time, s', unit: 's', min: 0, max: end},
		y: {name: 'operations/s', unit: 'count'},
		lines: drawn.map(it => bandOf(it.name, xs, it.runs.map(columnOf)))});
}

function comparedCurves(title, list, histogramOf) {
	const shown = list.filter(it => histogramOf(it.shown));
	const most = Math.max(0, ...shown.flatMap(it => it.runs.map(run => histogramOf(run).count)));
	if (shown.length < 2 || most < 2 * SUPPORT)
		return null;
	return figureOf(percentileChart(title, async xs => Promise.all(shown.map(async it => {
		const runs = await Promise.all(it.runs.map(run => decode(histogramOf(run))));
		return bandOf(it.title, xs, runs.map(run => xs.map(x => percentileAt(run, x))));
	})), most));
}

function phase(action, list, failed) {
	const drawn = list.slice(0, ROWS_DRAWN), isOne = list.length < 2;
	return [actions().length > 1 ? el('h3', action) : null, differences(action), sideTable(list, failed),
		isOne ? null : el('div.grid.two', throughputBars(drawn), latencyDots(drawn)),
		isOne ? null : comparedThroughput(list),
		isOne ? null : comparedCurves('Service times of all operations, by percentile', list, it => it.service),
		isOne ? null : comparedCurves('Response times of what had a rate, by percentile', list,
			it => hasRate(it) ? it.response : null),
		list.length > MAX_LINES ? el('p.hint', `The first ${MAX_LINES} of ${list.length} are drawn.`) : null];
}

/* One table for each phase, because different actions are never ranked against each other. */
function sideBySide() {
	const failed = results.filter(result => !result.isMeasured), list = contestants();
	const names = actions().length > 0 ? actions() : [''];
	if (results.length === 0)
		return el('p', 'There are no results.');
	return section('side', results.length > 1 ? 'Results side by side' : 'The result', names.map((action, i) =>
		phase(action, list.filter(it => it.shown.action === action), i === 0 ? failed : [])));
}
