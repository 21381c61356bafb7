/* SPDX-License-Identifier: BSD-2-Clause */
/* The top of the page: tiles, deltas to a baseline, a summary in words, notes. */

/* ---- deltas to the baseline, from C's comparison ---- */

function pairsOf(compared, result) {
	const works = compared.comparisons.filter(work => work.action === result.action &&
		(work.label === '' || work.label === result.label));
	return works.flatMap(work => work.metrics.flatMap(metric =>
		metric.pairs.map(pair => ({metric: metric, pair: pair}))));
}

function change(ratio) {
	const share = 100 * (ratio - 1);
	return (share > 0 ? '+' : share < 0 ? '\u2212' : '') + threeDigits(Math.abs(share)) + '\u00a0%';
}

/* Coloured if the difference is significantly better or worse, or if it cannot be tested. */
function deltaClass(metric, pair) {
	if (pair.verdict === 'better' || pair.verdict === 'worse')
		return pair.verdict;
	const isBetter = metric.higher_is_better ? pair.ratio > 1 : pair.ratio < 1;
	return pair.ratio === 1 || pair.low !== undefined ? 'unclear' : isBetter ? 'better' : 'worse';
}

function delta(result, name) {
	const found = baseline && results.length === 1 &&
		pairsOf(baseline, result).find(it => it.metric.name === name);
	if (!found)
		return null;
	const {metric, pair} = found;
	const text = el('span.delta.' + deltaClass(metric, pair), change(pair.ratio));
	text.title = `${pair.of} against ${pair.against}: ${ratioText(pair.ratio)}, ${pair.verdict}`;
	return text;
}

/* ---- tiles ---- */

function tile(name, value, ...more) {
	return el('div.tile', named('span.name', name), el('b', value), more.map(it => el('small', it)));
}

function latencyTiles(result) {
	const latency = latencyOf(result), isResponse = latency !== result.service;
	return HEADLINE.map(name =>
		tile(`${name} ${isResponse ? 'response' : 'service'}`,
			timeAt(latency, name) ? time(timeAt(latency, name)) : 'too few',
			isResponse && timeAt(result.service, name) ? `service ${time(timeAt(result.service, name))}` : '',
			delta(result, name)));
}

function errorTile(result) {
	const errors = errorsOf(result), others = Object.entries(answersOf(result))
		.map(([answer, count]) => `${formats.count(count)} ${answer.replace(/_/g, ' ')}`);
	const element = tile('errors', result.end ? 'failed' : formats.count(errors), ...others);
	element.classList.toggle('bad', errors > 0 || result.end !== '');
	return element;
}

function stallTile(result) {
	const stalls = result.own.stalls, slow = stalls.slow_ns;
	if (!stalls.looked_ns)
		return tile('stalls', 'unknown');
	const element = tile('stalls', String(stalls.worst.length), slow > 0 ? `${time(slow)} in all` : '');
	element.classList.toggle('bad', stalls.worst.length > 0);
	return element;
}

function tiles(result) {
	const settled = result.settled_throughput_ops_s, verified = verifiedOf(result);
	return el('div.tiles',
		tile('ops/s', formats.count(result.throughput_ops_s),
			settled ? `${formats.count(settled)} settled` : '', delta(result, 'throughput')),
		latencyTiles(result), errorTile(result),
		tile('verified', verified ? formats.count(verified) : 'none'), stallTile(result));
}

/* ---- in words ---- */

function timesInWords(name, histogram) {
	if (!histogram || histogram.count === 0)
		return '';
	const known = HEADLINE.filter(it => timeAt(histogram, it));
	return `; ${name} times: ` + (known.length === 0 ? 'too few for percentiles'
		: known.map(it => `${it} ${time(timeAt(histogram, it))}`).join(', '));
}

function inWords(result) {
	const job = result.job !== null && !result.job.is_replay && result.job.name || '';
	const settled = result.settled_throughput_ops_s;
	const version = result.engine.version;
	return el('p.words', `${result.engine.name} ${version}, ${result.action}` +
		(job ? ` of ${job}` : '') +
		`: ${formats.count(sum(foreground(result).map(group => group.ops)))} operations in ` +
		`${time(result.measured.wall_ns)}, ${formats.count(result.throughput_ops_s)} ops/s` +
		(settled ? ` (${formats.count(settled)} with settling)` : '') +
		timesInWords('service', result.service) +
		timesInWords('response', hasRate(result) ? result.response : null) + '.',
	result.measured.is_partial ? el('b', ' Partial: it ended early.') : null);
}

function foreground(result) {
	const groups = result.groups.filter(group => !group.is_background);
	return groups.length > 0 ? groups : result.groups;
}

/* ---- notes ---- */

/* All notes, equal texts merged: {text, id, weight, owners}. */
function collectNotes() {
	const notes = new Map();
	results.filter(result => result.isMeasured).forEach(result => result.notes.forEach(note => {
		const known = notes.get(note.text) || {...note, owners: []};
		known.owners.push(result);
		notes.set(note.text, known);
	}));
	return [...notes.values()];
}

/* Notes of one kind are shown together, except those of engines, which can have any meaning. */
function kindsOfNotes(notes) {
	const kinds = new Map();
	notes.forEach(note => {
		const key = results.length > 1 && note.id && note.id !== 'engine' ? note.id : note.text;
		kinds.set(key, [...(kinds.get(key) || []), note]);
	});
	return [...kinds.values()];
}

function ownersOf(note) {
	const measured = results.filter(result => result.isMeasured).length;
	const names = [...new Set(note.owners.map(titleOf))];
	return measured < 2 ? null : note.owners.length === measured ? el('b', 'all: ')
		: el('b', names.slice(0, 3).join(', ') +
			(names.length > 3 ? ` and ${names.length - 3} more` : '') + ': ');
}

function noteItem(notes) {
	const [first, ...others] = notes;
	return el('li.' + first.weight, ownersOf(first), first.text, others.length === 0 ? null
		: folded('the same of others', () => el('ul', others.map(it => el('li', ownersOf(it), it.text)))));
}

function notesSection() {
	const kinds = kindsOfNotes(collectNotes());
	const serious = kinds.filter(kind => kind[0].weight === 'serious');
	const usual = kinds.filter(kind => kind[0].weight !== 'serious');
	const title = 'Why these numbers may be wrong: ' + (kinds.length === 0 ? 'no reason was found'
		: `${serious.length} serious, ${usual.length} usual`);
	const element = el('section.notes', kinds.length === 0 ? el('p', title + '.')
		: folded(title, () => el('ul', [...serious, ...usual].map(noteItem))));
	element.id = 'notes';
	element.classList.toggle('serious', serious.length > 0);
	return element;
}

/* Failures are shown above all figures. */
function failures() {
	return results.filter(result => result.end !== '').map(result => el('p.warning',
		el('strong', `${titleOf(result)} did not end well: `), result.end));
}

/* ---- the verdict ---- */

function warnings(texts) {
	return texts.map(text => el('p.warning', el('strong', 'These cannot be ranked: '), text));
}

/* Without a comparison by C: how several runs of one action differ. */
function differences(action) {
	const same = results.filter(it => it.isMeasured && it.action === action && !it.own.is_point);
	const differ = member => new Set(same.map(it => it[member])).size > 1;
	if (comparison !== null)
		return [];
	return warnings([
		differ('digest') && 'they did not do the same operations; the digests of their streams differ.',
		differ('durability') && 'their durability differs, so these are not rates of the same work.'
	].filter(text => text));
}

function verdicts(compared, isRanked) {
	return [warnings(compared.not_comparable),
		isRanked ? el('ul.verdicts', compared.comparisons.flatMap(work => work.verdicts)
			.map(text => el('li', text))) : null,
		compared.warnings.map(text => el('p.hint', el('strong', 'Note: '), text))];
}

function verdictSection() {
	if (figures.refusal && engines().length === 1)
		return el('p.hint', `All results are of ${engines()[0]}, so nothing is compared.`);
	if (figures.refusal)
		return el('p.warning', figures.refusal);
	if (comparison === null)
		return null;
	const element = section('verdict', 'Verdict', verdicts(comparison, figures.is_ranked),
		figures.is_ranked ? forests() : null);
	return element;
}

function baselineSection() {
	if (baseline === null)
		return null;
	return section('changes', 'Against the baseline', verdicts(baseline, true),
		baseline.comparisons.map(work => pairTables(work, baseline)));
}
