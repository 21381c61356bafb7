/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data that C embedded: `file` is the result file, `figures` has values that only C
 * computes, `comparison` and `baseline` are the output of compare --format=json, or null.
 * The figures of a result are in its member `own`.
 */
function embedded(id) {
	const element = document.getElementById(id);
	return element === null ? null : JSON.parse(element.textContent);
}

const file = embedded('results'), figures = embedded('figures');
const comparison = embedded('comparison'), baseline = embedded('baseline');
const results = file.results;
/* Names of percentiles and "max" from the table of metrics, and those used in verdicts. */
const TIMES = Object.keys(figures.terms).filter(name => /^(p[0-9.]+|max)$/.test(name));
const HEADLINE = ['p50', 'p99', 'p99.9'];

/* The time with such a name in a histogram. */
function timeAt(histogram, name) {
	return histogram[name.replace('.', '') + '_ns'];
}

/* Replace missing lists of a result by empty ones. */
function fillLists(object, ...names) {
	names.forEach(name => object[name] = object[name] || []);
}

results.forEach((result, index) => {
	result.own = figures.results[index];
	result.id = 'r' + index;
	result.isMeasured = result.measured !== undefined;
	fillLists(result, 'intervals', 'notes', 'groups');
	result.groups.forEach(group => fillLists(group, 'by_thread', 'operations'));
	if (result.isMeasured) {
		fillLists(result.measured, 'counters');
		fillLists(result.engine, 'options');
	}
	const series = result.isMeasured && result.measured.series;
	if (series) {
		fillLists(series, 'samples', 'pulses', 'counters');
		series.samples.forEach(sample => fillLists(sample, 'latencies', 'counters'));
	}
});

function isVersus() {
	return results.length > 0 && results.every(result => result.contestant > 0);
}

function engineOf(result) {
	return result.name || result.driver;
}

/* A key that is equal for runs of the same thing. */
function kindOf(result) {
	const plugin = result.isMeasured && result.engine.path || '';
	return JSON.stringify([result.action, result.label, engineOf(result), plugin]);
}

/* Whether another build of the same engine occurs: its plugin has another path. */
function hasTwin(result) {
	return results.some(other => other.isMeasured && result.isMeasured &&
		other.own.title === result.own.title && other.engine.path && result.engine.path &&
		other.engine.path !== result.engine.path);
}

/* The engine, with its action or label if these differ; names all runs of one kind. */
function groupTitle(result) {
	const plugin = hasTwin(result) ? ' ' + result.engine.path.split('/').pop() : '';
	return clean(result.own.title + plugin);
}

/* The title of one run: with its number if there are several. */
function titleOf(result) {
	const same = results.filter(other => groupTitle(other) === groupTitle(result));
	const number = result.block || (same.length > 1 ? same.indexOf(result) + 1 : 0);
	return groupTitle(result) + (number > 0 ? ` (${number})` : '') +
		(result.is_merged > 0 ? ` (${result.is_merged} runs merged)` : '');
}

/* The run that represents the repetitions, chosen like results_pick(). */
function medianRun(runs) {
	return [...runs].sort((one, other) => one.throughput_ops_s - other.throughput_ops_s)[(runs.length - 1) >> 1];
}

/* Runs grouped by kind: {title, runs, shown}, in the order of the command line. */
function contestants() {
	const kinds = new Map();
	results.filter(result => result.isMeasured).forEach(result => {
		const key = comparison !== null || isVersus() ? kindOf(result) : result.id;
		kinds.set(key, [...(kinds.get(key) || []), result]);
	});
	return [...kinds.values()].map(runs => ({runs: runs, shown: medianRun(runs),
		title: runs.length > 1 ? groupTitle(runs[0]) : titleOf(runs[0])}))
		.sort((one, other) => one.shown.contestant - other.shown.contestant);
}

/* Names of the engines that have a result. */
function engines() {
	return [...new Set(results.filter(it => it.isMeasured).map(engineOf))];
}

function actions() {
	return [...new Set(results.filter(it => it.isMeasured).map(it => it.action))];
}

function hasRate(result) {
	return result.job !== null && result.groups.some(group => group.is_paced);
}

/*
 * The latencies of all foreground operations: response times with a rate, else service
 * times.
 */
function latencyOf(result) {
	return hasRate(result) && result.response && result.response.count > 0 ? result.response
		: result.service;
}

function sum(values) {
	return values.reduce((total, value) => total + value, 0);
}

function verifiedOf(result) {
	return sum(result.groups.map(group => group.findings.verified));
}

/* The number of values that were wrong, stale or missing. */
function errorsOf(result) {
	return sum(result.groups.flatMap(group => Object.entries(group.findings.verdicts)
		.filter(([verdict]) => verdict !== 'good').map(([, count]) => count)));
}

function answersOf(result) {
	const all = {};
	result.groups.forEach(group => group.operations.forEach(operation =>
		Object.entries(operation.answers).filter(([answer]) => answer !== 'ok')
			.forEach(([answer, count]) => all[answer] = (all[answer] || 0) + count)));
	return all;
}
