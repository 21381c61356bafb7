/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chart over an axis, by uPlot. It is made when it comes into view. A chart is
 *
 *     {title, small, sync, load,
 *      x: {name, unit, log, min, max}, y: {name, unit, log}, xs: [],
 *      lines: [{name, ys, area, low, high, marks}],   null in ys is a gap; low, high: a band
 *      bands: [{kind, from, to, name}],               kinds are those of bandLooks
 *      heat: {begin, end, bounds, columns}}
 *
 * `load` is an async function that returns the members that need decoded histograms.
 */
const dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4], [2, 4], [9, 2, 2, 2, 2, 2]];
const shades = [0, 0.06, 0.12, 0.19, 0.27, 0.36, 0.45, 0.55, 0.66];
const MAX_LINES = 16, MARKED_POINTS = 48, FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const bandLooks = {
	warmup: {colour: '--warmup', alpha: 0.22, text: 'warm-up'},
	stall: {colour: '--stall', alpha: 0.3, text: 'stall'},
	overload: {colour: '--stall', alpha: 0.16, text: 'queue grew'},
	knee: {colour: '--stall', alpha: 0.8, text: 'knee'},
	slo: {colour: '--c2', alpha: 0.9, text: 'limit held'},
	phase: {colour: '--quiet', alpha: 0.7, text: 'next phase'}
};
const charts = [];

function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* ---- ticks ---- */

function linearTicks(axis, low, high, wanted) {
	let unit = 1;
	while (axis.unit === 'bytes' && unit * 1024 <= high)
		unit *= 1024;
	const least = (high - low) / unit / wanted, power = 10 ** Math.floor(Math.log10(least));
	const step = unit * power * [1, 2, 5, 10].find(digit => least <= digit * power * (1 + 1e-9));
	const ticks = [];
	for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
		ticks.push(i * step);
	return ticks;
}

function logTicks(low, high, wanted) {
	const decades = Math.log10(high / low), fine = decades * 3 <= wanted ? [1, 2, 5] : [1];
	const every = Math.max(1, Math.ceil(decades / wanted)), ticks = [];
	for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p += every)
		ticks.push(...fine.map(digit => digit * 10 ** p));
	const within = ticks.filter(tick => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
	return within.length > 1 || high <= low ? within : [low, high];
}

function percentileTicks(low, high) {
	const ticks = low <= 2 && high >= 2 ? [2] : [];
	for (let tick = 10; tick <= high * (1 + 1e-9); tick *= 10)
		if (tick >= low)
			ticks.push(tick);
	return ticks.length > 0 ? ticks : [low, high];
}

function ticksOf(axis, low, high, wanted) {
	return !(high > low) ? [low]
		: axis.unit === 'percentile' ? percentileTicks(low, high)
		: axis.log ? logTicks(low, high, wanted) : linearTicks(axis, low, high, wanted);
}

/* ---- below and above the lines ---- */

function fillBox(u, x0, x1, y0, y1) {
	const box = u.bbox;
	const left = Math.max(x0, box.left), right = Math.min(x1, box.left + box.width);
	const top = Math.max(y1, box.top), bottom = Math.min(y0, box.top + box.height);
	if (right > left && bottom > top)
		u.ctx.fillRect(left, top, right - left, bottom - top);
}

function drawBands(u, bands) {
	const box = u.bbox, least = 2 * (window.devicePixelRatio || 1);
	bands.forEach(band => {
		const from = u.valToPos(band.from, 'x', true), to = u.valToPos(band.to, 'x', true);
		u.ctx.fillStyle = colour(bandLooks[band.kind].colour);
		u.ctx.globalAlpha = bandLooks[band.kind].alpha;
		fillBox(u, from, Math.max(to, from + least), box.top + box.height, box.top);
	});
	u.ctx.globalAlpha = 1;
}

function drawHeat(u, heat) {
	const rows = heat.bounds.map(y => Math.floor(u.valToPos(y, 'y', true)));
	u.ctx.fillStyle = colour('--heat');
	heat.columns.forEach((column, i) => {
		const from = Math.floor(u.valToPos(heat.begin[i], 'x', true));
		const to = Math.floor(u.valToPos(heat.end[i], 'x', true));
		column.forEach((shade, row) => {
			u.ctx.globalAlpha = shades[shade];
			if (shade > 0)
				fillBox(u, from, to, rows[row], rows[row + 1]);
		});
	});
	u.ctx.globalAlpha = 1;
}

/* Draw dots on each line; those of the first line have labels: [{x, y, name}]. */
function drawMarks(u, chart) {
	const ratio = window.devicePixelRatio || 1;
	u.ctx.save();
	u.ctx.font = FONT.replace('11', String(11 * ratio));
	chart.lines.forEach((line, i) => (line.marks || []).forEach(mark => {
		const x = u.valToPos(mark.x, 'x', true), y = u.valToPos(mark.y, 'y', true);
		u.ctx.fillStyle = colour('--c' + i % 8);
		u.ctx.beginPath();
		u.ctx.arc(x, y, 4 * ratio, 0, 2 * Math.PI);
		u.ctx.fill();
		if (i > 0)
			return;
		u.ctx.fillStyle = colour('--text');
		u.ctx.textAlign = x > u.bbox.left + u.bbox.width - 90 * ratio ? 'right' : 'left';
		u.ctx.fillText(`${mark.name} ${formats[chart.y.unit](mark.y)}`, x + 2 * ratio, y - 9 * ratio);
	}));
	u.ctx.restore();
}

/* ---- options of uPlot ---- */

function latest(values) {
	for (let i = values.length - 1; i >= 0; i--)
		if (values[i] !== null && values[i] !== undefined)
			return values[i];
	return null;
}

/* The legend shows the latest value unless the mouse is over the chart. */
function legendValue(chart, format) {
	return (u, value, series, index) => {
		const shown = index === null || index === undefined ? latest(u.data[series]) : value;
		return shown === null || shown === undefined ? '-' : format(shown);
	};
}

function dashOf(i) {
	return (i + Math.floor(i / 8)) % 8;
}

function lineSeries(chart, line, i) {
	const stroke = colour('--c' + i % 8);
	return {label: line.name, stroke: stroke, width: chart.heat ? 2.2 : 1.6,
		value: legendValue(chart, formats[chart.y.unit]), dash: dashes[dashOf(i)],
		fill: line.area ? stroke + '29' : undefined,
		points: {show: chart.xs.length <= MARKED_POINTS, size: 5}};
}

function edgeSeries(chart, line, name) {
	return {label: chart.lines.length > 1 ? `${line.name}, ${name}` : name, width: 0,
		stroke: 'transparent', points: {show: false}, class: 'edge',
		value: legendValue(chart, formats[chart.y.unit])};
}

function seriesOf(chart) {
	const spread = chart.lines.filter(line => line.low);
	return [{label: chart.x.name, value: legendValue(chart, formats[chart.x.unit])},
		...chart.lines.map((line, i) => lineSeries(chart, line, i)),
		...spread.flatMap(line => [edgeSeries(chart, line, 'lowest'),
			edgeSeries(chart, line, 'highest')])];
}

function dataOf(chart) {
	const spread = chart.lines.filter(line => line.low);
	return [chart.xs, ...chart.lines.map(line => line.ys),
		...spread.flatMap(line => [line.low, line.high])];
}

function spreadBands(chart) {
	let index = chart.lines.length + 1;
	return chart.lines.flatMap((line, i) => {
		if (!line.low)
			return [];
		index += 2;
		return [{series: [index - 1, index - 2], fill: colour('--c' + i % 8) + '38'}];
	});
}

function axisOf(axis, wanted, size) {
	return {
		stroke: colour('--quiet'),
		grid: {stroke: colour('--rule'), width: 1, show: size !== undefined},
		ticks: {stroke: colour('--rule'), width: 1, size: 4},
		font: FONT, gap: 4, size: size === undefined ? 26 : size,
		filter: (u, splits) => splits,
		splits: (u, index, low, high) => ticksOf(axis, low, high, wanted),
		values: (u, splits) => splits.map(formats[axis.unit])
	};
}

function rangeOf(chart) {
	return (u, low, high) => {
		if (chart.heat) {
			low = chart.heat.bounds[0];
			high = chart.heat.bounds[chart.heat.bounds.length - 1];
		}
		if (low === null || high === null || low === undefined)
			return chart.y.log ? [1, 10] : [0, 1];
		return chart.y.log ? [low / 1.25, high * 1.25] :
			[Math.min(low, 0), high > 0 ? high * 1.06 : 1];
	};
}

/* Add points without values at x.min and x.max, so that the unzoomed x axis spans both. */
function padded(chart) {
	const {min, max} = chart.x, xs = chart.xs;
	const before = min < xs[0] ? [min] : [], after = max > xs[xs.length - 1] ? [max] : [];
	return dataOf(chart).map((column, i) => i === 0 ? [...before, ...column, ...after]
		: [...before.map(() => null), ...column, ...after.map(() => null)]);
}

function markerDash(u, index) {
	const dash = index > 0 ? dashOf(index - 1) : 0;
	return dash === 0 ? 'solid' : dash === 2 || dash === 6 ? 'dotted' : 'dashed';
}

function optionsOf(chart, figure, width) {
	const narrow = width < 480;
	return {
		width: width,
		height: chart.small ? 160 : narrow ? 220 : 270,
		padding: [10, 22, 0, 0],
		series: seriesOf(chart),
		scales: {
			x: {time: false, distr: chart.x.log ? 3 : 1, range: (u, low, high) => [low, high]},
			y: {distr: chart.y.log ? 3 : 1, range: rangeOf(chart)}
		},
		axes: [axisOf(chart.x, narrow || chart.small ? 5 : 9), axisOf(chart.y, chart.small ? 3 : 5, 58)],
		bands: spreadBands(chart),
		cursor: {sync: chart.sync ? {key: chart.sync, scales: ['x', null]} : undefined,
			drag: {x: true, y: false}},
		legend: {markers: {dash: markerDash}, mount: (u, legend) => figure.append(legend)},
		hooks: {
			drawClear: [u => {
				drawBands(u, chart.bands || []);
				if (chart.heat)
					drawHeat(u, chart.heat);
			}],
			draw: [u => drawMarks(u, chart)]
		}
	};
}

/* ---- the figure ---- */

function bandLegend(chart) {
	const kinds = [...new Set((chart.bands || []).map(band => band.kind))];
	const list = kinds.map(kind => el('li', el('span.swatch.' + kind), bandLooks[kind].text));
	if (chart.load && chart.hasHeat)
		list.push(el('li', el('span.swatch.heat'), 'few to many operations'));
	return chart.small || list.length === 0 ? null : el('ul.legend', list);
}

function hasPoints(chart) {
	return chart.lines.some(line => line.ys.some(y => y !== null && y > (chart.y.log ? 0 : -1)));
}

/* The figure of a chart; null if all its members are present and no line has a value. */
function figureOf(chart) {
	if (!chart.load && !hasPoints(chart))
		return null;
	const plot = el('div.plot'), figure = el(chart.small ? 'figure.chart.small' : 'figure.chart',
		el('figcaption', chart.title), el('p.axis', '\u2191 ', chart.y.name), plot,
		el('p.axis.x', chart.x.name, ' \u2192'), bandLegend(chart));
	charts.push({chart: chart, figure: figure, box: plot, plot: null, loading: null});
	return figure;
}

async function load(it) {
	Object.assign(it.chart, await it.chart.load());
	delete it.chart.load;
	if (hasPoints(it.chart))
		return;
	it.box.textContent = 'Too few operations.';
	it.chart.isEmpty = true;
}

function plot(it, width) {
	if (it.chart.isEmpty || it.plot !== null || !it.figure.isConnected)
		return;
	it.chart.lines = it.chart.lines.slice(0, MAX_LINES);
	it.plot = new uPlot(optionsOf(it.chart, it.figure, width || it.box.clientWidth || 320),
		padded(it.chart), it.box);
	it.figure.chart = it.chart;
	it.plot.root.setAttribute('role', 'img');
	it.plot.root.setAttribute('aria-label', it.chart.title);
}

async function make(it) {
	if (it.chart.load && it.loading === null)
		it.loading = load(it);
	await it.loading;
	plot(it);
}

function remake(width) {
	charts.filter(it => it.plot !== null).forEach(it => {
		it.plot.destroy();
		it.figure.querySelectorAll('.u-legend').forEach(legend => legend.remove());
		it.plot = null;
		plot(it, width ? width(it) : 0);
	});
}

function resize() {
	charts.filter(it => it.plot !== null).forEach(it => {
		const width = it.box.clientWidth;
		if (width > 0 && width !== it.plot.width)
			it.plot.setSize({width: width, height: it.plot.height});
	});
}

/* ---- rows of dots or bars, in HTML, with names beside an axis ---- */

function position(axis, value) {
	const at = axis.log ? Math.log(value / axis.min) / Math.log(axis.max / axis.min)
		: (value - axis.min) / (axis.max - axis.min);
	return (100 * Math.min(1, Math.max(0, at))).toFixed(2) + '%';
}

/* An axis that contains all values, from 0 unless it is logarithmic. */
function axisAround(values, unit, log) {
	const real = values.filter(value => value > 0);
	return real.length === 0 ? null : {unit: unit, log: log, min: log ? Math.min(...real) / 1.15 : 0,
		max: Math.max(...real) * (log ? 1.15 : 1.04)};
}

function placed(name, axis, from, to, title) {
	const element = el(name);
	element.style.left = position(axis, from);
	if (to !== undefined)
		element.style.width = `calc(${position(axis, to)} - ${position(axis, from)})`;
	element.title = title || '';
	return element;
}

/* rows: [{name, marks: [elements], value}]. */
function rowsFigure(title, axis, axisName, rows, legend) {
	const ticks = ticksOf(axis, axis.min, axis.max, 4).map(tick => {
		const label = placed('span', axis, tick);
		label.textContent = axis.unit === 'ratio' ? Number(tick.toPrecision(2)) : formats[axis.unit](tick);
		return label;
	});
	const list = rows.map(row => [el('span.name', row.name), el('div.track', row.marks),
		el('span.value', row.value)]);
	return el('figure.dots', el('figcaption', title), el('div.lanes', list, el('span'),
		el('div.ticks', ticks), el('span')), el('p.axis.x', axisName, ' \u2192'),
	legend.length > 1 ? el('ul.legend', legend.map(([look, text]) => el('li',
		el('i.key.' + look), text))) : null);
}
