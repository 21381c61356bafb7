/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes each chart over an axis, which is there as SVG, one whose values can be read and that
 * can be zoomed: by uPlot, from the JSON beside it. The SVG stays for paper and for those who
 * switch back. Charts are made as they come into view.
 *
 * With #test behind the address all are made at once, and what came of it stands in data-*
 * attributes of <html>.
 */
(function () {
	'use strict';

	var root = document.documentElement, errors = 0, figures = [], isLive = true;

	window.addEventListener('error', function (event) {
		root.setAttribute('data-error-' + errors++, String(event.message));
	});

	/* ---- numbers, as lib/base/units.c writes them ---- */

	function plain(value) {
		return String(Number(Math.abs(value) < 1 ? value.toPrecision(3) : value.toFixed(3)));
	}

	function three(value) {
		if (value >= 99.95)
			return String(Math.round(value));
		if (value < 1)
			return plain(value);
		return String(Number(value.toFixed(value >= 9.995 ? 1 : 2)));
	}

	function stepped(value, base, suffixes) {
		var step = 0;
		while (step + 1 < suffixes.length && value >= base * 0.9995) {
			value /= base;
			step++;
		}
		return three(value) + suffixes[step];
	}

	function time(ns) {
		var seconds = Math.round(ns / 1e9), rest;
		if (ns < 60e9)
			return stepped(ns, 1000, ['ns', 'us', 'ms', 's']);
		if (seconds < 3600) {
			rest = seconds % 60;
			return Math.floor(seconds / 60) + 'm' + (rest < 10 ? '0' : '') + rest + 's';
		}
		rest = Math.floor(seconds / 60) % 60;
		return Math.floor(seconds / 3600) + 'h' + (rest < 10 ? '0' : '') + rest + 'm';
	}

	function percentile(x) {
		var beyond = 100 / x, digits = 0;
		for (var rest = beyond; rest < 0.9999 && digits < 9; rest *= 10)
			digits++;
		return (100 - beyond).toFixed(digits) + '%';
	}

	var formats = {
		count: function (v) { return stepped(v, 1000, ['', 'k', 'M', 'G', 'T']); },
		bytes: function (v) {
			return stepped(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
		},
		ns: time,
		s: plain,
		percentile: percentile
	};

	/* ---- ticks, as lib/report/svg.c chooses them ---- */

	function linearTicks(axis, low, high, wanted) {
		var factor = 1, ticks = [];
		while (axis.unit === 'bytes' && factor * 1024 <= high)
			factor *= 1024;
		var least = (high - low) / factor / wanted;
		var power = Math.pow(10, Math.floor(Math.log10(least)));
		var digit = least / power;
		var step = factor * power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
		for (var i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
			ticks.push(i * step);
		return ticks;
	}

	function logTicks(low, high, wanted) {
		var decades = Math.log10(high / low), ticks = [];
		var fine = decades * 3 <= wanted ? [1, 2, 5] : [1];
		var every = Math.max(1, Math.ceil(decades / wanted));
		var first = Math.log10(low);
		first = fine.length > 1 ? Math.floor(first) : Math.ceil(first - 1e-9);
		for (var p = first; p <= Math.ceil(Math.log10(high)); p += every) {
			fine.forEach(function (f) {
				var tick = f * Math.pow(10, p);
				if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9))
					ticks.push(tick);
			});
		}
		return ticks.length > 1 || high <= low ? ticks : [low, high];
	}

	function percentileTicks(low, high) {
		var ticks = low <= 2 && high >= 2 ? [2] : [];
		for (var tick = 10; tick <= high * (1 + 1e-9); tick *= 10)
			if (tick >= low)
				ticks.push(tick);
		return ticks.length > 0 ? ticks : [low, high];
	}

	function ticksOf(axis, low, high, wanted) {
		if (!(high > low))
			return [low];
		if (axis.unit === 'percentile')
			return percentileTicks(low, high);
		return axis.log ? logTicks(low, high, wanted) : linearTicks(axis, low, high, wanted);
	}

	/* ---- looks ---- */

	var dashes = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4], [2, 4], [9, 2, 2, 2, 2, 2]];
	var shades = [0, 0.06, 0.12, 0.19, 0.27, 0.36, 0.45, 0.55, 0.66];
	var bandLooks = [['--warmup', 0.22], ['--stall', 0.3], ['--stall', 0.8]];

	function colour(name) {
		return getComputedStyle(root).getPropertyValue(name).trim();
	}

	/* ---- below the lines ---- */

	function fillBox(u, x0, x1, y0, y1) {
		var box = u.bbox;
		var left = Math.max(x0, box.left), right = Math.min(x1, box.left + box.width);
		var top = Math.max(y1, box.top), bottom = Math.min(y0, box.top + box.height);
		if (right > left && bottom > top)
			u.ctx.fillRect(left, top, right - left, bottom - top);
	}

	function drawBands(u, bands) {
		var box = u.bbox, least = 2 * (window.devicePixelRatio || 1);
		bands.forEach(function (band) {
			var from = u.valToPos(band[0], 'x', true), to = u.valToPos(band[1], 'x', true);
			u.ctx.fillStyle = colour(bandLooks[band[2]][0]);
			u.ctx.globalAlpha = bandLooks[band[2]][1];
			fillBox(u, from, Math.max(to, from + least), box.top + box.height, box.top);
		});
		u.ctx.globalAlpha = 1;
	}

	function drawHeat(u, heat) {
		u.ctx.fillStyle = colour('--heat');
		var rows = heat.bounds.map(function (y) { return u.valToPos(y, 'y', true); });
		heat.columns.forEach(function (column, i) {
			var from = Math.floor(u.valToPos(heat.begin[i], 'x', true));
			var to = Math.floor(u.valToPos(heat.end[i], 'x', true));
			for (var row = 0; row < column.length; row++) {
				if (column[row] === '0')
					continue;
				u.ctx.globalAlpha = shades[column[row]];
				fillBox(u, from, to, Math.floor(rows[row]), Math.floor(rows[row + 1]));
			}
		});
		u.ctx.globalAlpha = 1;
	}

	/* ---- a chart ---- */

	/* The axis reaches as far as it does in the drawing: points without values at its ends. */
	function padded(chart) {
		var x = chart.data[0], before = chart.x.min < x[0] ? [null] : [];
		var after = chart.x.max > x[x.length - 1] ? [null] : [];
		return chart.data.map(function (column, i) {
			return (i === 0 ? before.map(function () { return chart.x.min; }) : before)
				.concat(column, i === 0 ? after.map(function () { return chart.x.max; }) : after);
		});
	}

	function isAscending(values) {
		return values.every(function (value, i) { return i === 0 || value > values[i - 1]; });
	}

	function seriesOf(chart, format) {
		var series = [{label: chart.x.name, value: function (u, v) {
			return v === null || v === undefined ? '-' : formats[chart.x.unit](v);
		}}];
		function show(u, v) {
			return v === null || v === undefined ? '-' : format(v);
		}
		chart.lines.forEach(function (line, i) {
			var stroke = colour('--c' + i % 8);
			series.push({
				label: line[0], stroke: stroke, width: chart.heat ? 2.2 : 1.6, value: show,
				dash: dashes[(i + Math.floor(i / 8)) % 8],
				fill: line[1] ? stroke + '29' : undefined,
				points: {show: chart.data[0].length <= 48, size: 5}
			});
		});
		if (chart.spread) {
			['lowest', 'highest'].forEach(function (label) {
				series.push({label: label, stroke: 'transparent', width: 0, value: show,
					points: {show: false}});
			});
		}
		return series;
	}

	function axisOf(axis, wanted, size) {
		return {
			stroke: colour('--quiet'),
			grid: {stroke: colour('--rule'), width: 1, show: size !== undefined},
			ticks: {stroke: colour('--rule'), width: 1, size: 4},
			font: '11px system-ui, "DejaVu Sans", sans-serif',
			size: size === undefined ? 26 : size,
			gap: 4,
			filter: function (u, splits) { return splits; },
			splits: function (u, index, low, high) { return ticksOf(axis, low, high, wanted); },
			values: function (u, splits) { return splits.map(formats[axis.unit]); }
		};
	}

	function rangeOf(chart) {
		return function (u, low, high) {
			if (chart.heat || low === null || high === null)
				return [chart.y.min, chart.y.max];
			if (chart.y.log)
				return [low / 1.25, high * 1.25];
			return [Math.min(low, 0), high > 0 ? high * 1.06 : 1];
		};
	}

	function markerDash(u, index) {
		var dash = index > 0 ? (index - 1 + Math.floor((index - 1) / 8)) % 8 : 0;
		return dash === 0 ? 'solid' : dash === 2 || dash === 6 ? 'dotted' : 'dashed';
	}

	function optionsOf(it, width) {
		var chart = it.chart;
		var narrow = width < 480, index = chart.lines.length;
		return {
			width: width,
			height: chart.small ? 160 : narrow ? 220 : 270,
			padding: [8, 22, 0, 0],
			series: seriesOf(chart, formats[chart.y.unit]),
			scales: {
				x: {time: false, distr: chart.x.log ? 3 : 1,
					range: function (u, low, high) { return [low, high]; }},
				y: {distr: chart.y.log ? 3 : 1, range: rangeOf(chart)}
			},
			axes: [axisOf(chart.x, narrow || chart.small ? 5 : 9),
				axisOf(chart.y, chart.small ? 3 : 5, 58)],
			bands: chart.spread ?
				[{series: [index + 2, index + 1], fill: colour('--c0') + '38'}] : [],
			cursor: {
				sync: chart.sync ? {key: chart.sync, scales: ['x', null]} : undefined,
				drag: {x: true, y: false}
			},
			legend: {markers: {dash: markerDash}, mount: function (u, legend) {
				it.figure.insertBefore(legend, it.figure.querySelector('ul.legend'));
				it.legend = legend;
			}},
			hooks: {drawClear: [function (u) {
				drawBands(u, chart.bands);
				if (chart.heat)
					drawHeat(u, chart.heat);
			}]}
		};
	}

	function make(it) {
		if (it.plot !== null || !isLive)
			return;
		it.figure.classList.add('live');
		it.plot = new uPlot(optionsOf(it, it.box.clientWidth), padded(it.chart), it.box);
		it.plot.root.setAttribute('aria-hidden', 'true');
	}

	function unmake(it) {
		if (it.plot === null)
			return;
		it.plot.destroy();
		it.legend.remove();
		it.plot = null;
		it.figure.classList.remove('live');
	}

	function remake() {
		figures.forEach(function (it) {
			if (it.plot !== null) {
				unmake(it);
				make(it);
			}
		});
	}

	/* ---- the page ---- */

	function find() {
		document.querySelectorAll('figure.chart > script').forEach(function (script) {
			var chart = JSON.parse(script.textContent), figure = script.parentNode;
			if (isAscending(chart.data[0]))
				figures.push({figure: figure, chart: chart, plot: null, legend: null,
					box: figure.querySelector('.plot')});
			figure.querySelectorAll('.swatch').forEach(function (swatch) {
				swatch.parentNode.classList.add('kept');
			});
		});
	}

	function makeInView() {
		var seen = new IntersectionObserver(function (entries) {
			entries.forEach(function (entry) {
				figures.forEach(function (it) {
					if (entry.isIntersecting && it.figure === entry.target)
						make(it);
				});
			});
		}, {rootMargin: '600px'});
		figures.forEach(function (it) { seen.observe(it.figure); });
	}

	function resize() {
		figures.forEach(function (it) {
			var width = it.box.clientWidth;
			if (it.plot !== null && width > 0 && width !== it.plot.width)
				it.plot.setSize({width: width, height: it.plot.height});
		});
	}

	function addButton() {
		var button = document.createElement('button'), hint = document.createElement('p');
		button.type = 'button';
		hint.className = 'hint';
		hint.textContent = 'Point at a chart to read its values, drag to zoom, double-click to ' +
			'reset.';
		function label() {
			button.textContent = isLive ? 'Plain charts' : 'Charts to zoom';
			hint.hidden = !isLive;
		}
		button.addEventListener('click', function () {
			isLive = !isLive;
			figures.forEach(isLive ? make : unmake);
			label();
		});
		label();
		document.querySelector('header').appendChild(button);
		document.querySelector('header').after(hint);
	}

	function openAll() {
		document.querySelectorAll('details').forEach(function (it) { it.open = true; });
	}

	function tell() {
		figures.forEach(make);
		root.setAttribute('data-charts', document.querySelectorAll('.uplot').length);
		root.setAttribute('data-client-width', root.clientWidth);
		root.setAttribute('data-scroll-width', document.scrollingElement.scrollWidth);
	}

	find();
	addButton();
	window.addEventListener('resize', resize);
	window.addEventListener('beforeprint', openAll);
	window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', remake);
	if (location.hash === '#test')
		tell();
	else
		makeInView();
}());
