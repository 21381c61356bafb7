/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page: results first, then the reasons why they may be wrong, then all charts and
 * tables. Charts are drawn when they come into view. Before printing, all are drawn, in
 * light colours.
 */
const PAPER_WIDE = 680, PAPER_SMALL = 330; /* pixels on A4 without margins */
const RESULTS_LOADED = 12;

function pageParts() {
	const only = results.length === 1 && results[0].isMeasured ? results[0] : null;
	const isAlone = figures.refusal && contestants().length === 1; /* with its repetitions */
	const headline = isAlone ? contestants()[0].shown : only;
	return [failures(), headline ? [tiles(headline), inWords(headline)] : null, sweepSection(), verdictSection(),
		baselineSection(), notesSection(), only ? null : sideBySide(), comparisonSection(),
		contestants().map(contestantSections), only ? sideBySide() : null, commandSection()];
}

function watch() {
	const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting)
		.forEach(entry => charts.filter(it => it.figure === entry.target).forEach(make)), {rootMargin: '600px'});
	let watched = 0;
	const watchNew = () => {
		for (; watched < charts.length; watched++)
			seen.observe(charts[watched].figure);
	};
	watchNew();
	document.addEventListener('toggle', () => setTimeout(watchNew), true);
}

/* Paper needs light colours and the width of A4. Charts that are not loaded yet stay empty. */
function toPaper() {
	document.documentElement.classList.add('paper');
	openAll();
	charts.filter(it => !it.chart.load).forEach(it => plot(it));
	remake(it => it.chart.small ? PAPER_SMALL : PAPER_WIDE);
}

function fromPaper() {
	document.documentElement.classList.remove('paper');
	remake();
}

/* Decode all histograms first, because printing would not wait for that. */
async function drawAll() {
	openAll();
	await Promise.all(charts.map(make));
}

function addPrintButton() {
	const button = el('button', 'Print all');
	button.type = 'button';
	button.addEventListener('click', () => drawAll().then(() => window.print()));
	document.querySelector('header').append(button);
}

/* Load everything visible, so that the browser's own print command includes it. */
function loadSoon() {
	const loadAll = () => charts.filter(it => it.figure.isConnected).forEach(make);
	if (results.length <= RESULTS_LOADED)
		(window.requestIdleCallback || setTimeout)(loadAll);
}

/* If a link leads to a run inside a folded part, open that part. */
function openTarget() {
	const target = document.getElementById(location.hash.slice(1));
	if (target && target.classList.contains('result')) {
		target.querySelectorAll('details').forEach((element, i) => element.open = element.open || i === 0);
		target.scrollIntoView();
	}
}

append(document.querySelector('main'), pageParts());
document.querySelector('main').prepend(el('p.hint', 'Point at a chart to read its values, drag to zoom, ' +
	'double-click to reset.'));
window.addEventListener('resize', resize);
window.addEventListener('beforeprint', toPaper);
window.addEventListener('afterprint', fromPaper);
window.addEventListener('hashchange', openTarget);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => remake());
addPrintButton();
watch();
loadSoon();
