/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page: what came out first, then why it may be wrong, then all charts and tables. Charts
 * are drawn as they come into view; before printing all of them, in light colours.
 */
const PAPER_WIDE = 680, PAPER_SMALL = 330; /* pixels, of A4 without its margins */
const RESULTS_LOADED = 12;

function pageParts() {
	const only = results.length === 1 && results[0].isMeasured ? results[0] : null;
	return [failures(), only ? [tiles(only), inWords(only)] : null, sweepSection(), verdictSection(),
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

/* Paper needs light colours and the width of A4. What is not loaded yet stays empty. */
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

/* Decodes all histograms first, which printing itself would not wait for. */
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

/* Loads what can be seen now, so that the browser's own printing has it. */
function loadSoon() {
	const loadAll = () => charts.filter(it => it.figure.isConnected).forEach(make);
	if (results.length <= RESULTS_LOADED)
		(window.requestIdleCallback || setTimeout)(loadAll);
}

/* A link to a run inside a folded part opens it. */
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
