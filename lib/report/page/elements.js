/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements of the page. Untrusted texts become text nodes, never markup. */

/*
 * Characters that C's page_text() replaces, too: controls, changes of direction, stray
 * bytes.
 */
const unwanted = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e' +
	'\\u2066-\\u2069\\uef80-\\uefff\\ufffe\\uffff]', 'g');

function clean(text) {
	return String(text).replace(unwanted, '\ufffd');
}

function append(element, children) {
	children.flat(Infinity).forEach(child => {
		if (child !== null && child !== undefined && child !== false && child !== '')
			element.append(child instanceof Node ? child : clean(child));
	});
	return element;
}

/* el('p.hint', 'text', child...): children may be arrays; empty ones are left out. */
function el(name, ...children) {
	const [tag, ...classes] = name.split('.');
	const element = document.createElement(tag);
	if (classes.length > 0)
		element.className = classes.join(' ');
	return append(element, children);
}

/* The same with an explanation of the text as a tooltip, from `mininb explain`. */
function named(name, text) {
	const element = el(name, text);
	element.title = figures.terms[text] || '';
	return element;
}

function link(id, text) {
	const element = el('a', text);
	element.href = '#' + id;
	return element;
}

function section(id, title, ...children) {
	const element = el('section', el('h2', title), children);
	element.id = id;
	return element;
}

/* `fill` creates the content when the element is opened for the first time. */
function folded(summary, fill) {
	const element = el('details', el('summary', summary));
	element.fill = () => {
		append(element, [fill()]);
		element.fill = () => {};
	};
	element.addEventListener('toggle', () => element.open && element.fill());
	return element;
}

function openAll() {
	for (let closed; (closed = document.querySelectorAll('details:not([open])')).length > 0;) {
		closed.forEach(element => {
			if (element.fill)
				element.fill();
			element.open = true;
		});
	}
}

/* ---- tables ---- */

/* On a narrow screen each row is a card, with the column's title beside each value. */
function cell(column, value) {
	const element = value instanceof HTMLTableCellElement ? value
		: el('td', value === null || value === undefined ? '' : value);
	if (column.number)
		element.classList.add('n');
	if (element.textContent === '')
		element.classList.add('empty');
	element.dataset.name = column.title;
	return element;
}

/* A title 'ops/s#' marks a column of numbers. */
function columnOf(title) {
	return {title: title.replace('#', ''), number: title.endsWith('#')};
}

function table(caption, titles, rows) {
	const columns = titles.map(columnOf);
	const head = el('tr', columns.map(column => {
		const title = named(column.number ? 'th.n' : 'th', column.title);
		title.scope = 'col';
		return title;
	}));
	const body = rows.map(row => el('tr', row.map((value, i) => {
		if (i > 0)
			return cell(columns[i], value);
		const name = el('th', value);
		name.scope = 'row';
		return name;
	})));
	return el('div.table', el('table.rows', el('caption', caption), el('thead', head),
		el('tbody', body)));
}

/* Names and values; an empty or unknown value has no row. */
function facts(caption, pairs) {
	const rows = pairs.filter(pair => pair[1] !== '' && pair[1] !== null && pair[1] !== undefined);
	return el('div.table', el('table', el('caption', caption), el('tbody',
		rows.map(([name, value]) => el('tr', el('th', name), el('td', value))))));
}

/* A cell with a bar below its text. */
function barCell(text, share) {
	const bar = el('span');
	bar.style.width = Math.round(100 * share) + '%';
	return el('td.bar', bar, text);
}
