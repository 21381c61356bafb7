#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Pages as a browser shows them: test_page_chromium.py MININB PAGE_RIG STORED PAGE_CSS [KEEP]

The pages show the stored results, which come from real runs, and results made by PAGE_RIG. On a
wide screen and on one of 360 pixels, every chart and table appears, with the values of the
result file. Nothing is wider than the screen, and the console is empty. Cursor and zoom are
linked. Light, dark and paper work. Without scripts, the page shows the text report. With KEEP,
the pages, screenshots and PDF stay in that directory.
"""
import concurrent.futures
import html
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PHONE, WIDE = 360, 1280  # pixels; a headless window cannot be as narrow, a frame in it can
STORED = ['groups', 'sweep', 'slo', 'vs', 'rate', 'put-engines', 'crashed', 'put', 'get-missing',
          'transactions', 'failed', 'steps']
MADE = ['one', 'many', 'versus', 'empty', 'alone']

# Reads the pages, each in its own frame, first wide and then as narrow as on a phone. Prints the
# displayed content as JSON.
FRAMES = '''<!DOCTYPE html><meta charset="utf-8"><title>frames</title>
<body style="margin:0;background:#777"><div style="display:flex">{frames}</div><pre id="told"></pre>
<script>
function texts(from, selector) {{
	return Array.from(from.querySelectorAll(selector), function (it) {{ return it.textContent; }});
}}
function within(it) {{
	var section = it.closest('section');
	return section ? section.id : '';
}}
function readChart(figure) {{
	var chart = figure.chart;
	return {{title: figure.querySelector('figcaption').textContent, of: within(figure),
		plots: figure.querySelectorAll('.uplot canvas').length, isEmpty: !chart,
		legend: texts(figure, '.u-series'), xs: chart && chart.xs, bands: chart && chart.bands,
		sync: chart && chart.sync, heat: chart && chart.heat && chart.heat.columns.length,
		lines: chart && chart.lines.map(function (line) {{
			return {{name: line.name, ys: line.ys, low: line.low, high: line.high, marks: line.marks}};
		}})}};
}}
function readTable(table) {{
	return {{caption: texts(table, 'caption')[0], of: within(table), head: texts(table, 'thead th'),
		rows: Array.from(table.querySelectorAll('tbody tr'), function (row) {{
			return texts(row, 'th, td');
		}})}};
}}
function readDots(figure) {{
	return {{title: figure.querySelector('figcaption').textContent, of: within(figure),
		names: texts(figure, '.lanes .name'), values: texts(figure, '.lanes .value'),
		runs: figure.querySelectorAll('.track .run').length}};
}}
function read(inside) {{
	return {{width: inside.scrollingElement.scrollWidth,
		scripts: inside.querySelectorAll('script:not([type])').length,
		headings: texts(inside, 'h1, h2, h3, h4'), order: texts(inside, 'main > :not(script):not(noscript)'),
		hints: Array.from(inside.querySelectorAll('th[title]'), function (it) {{ return [it.textContent, it.title]; }}),
		charts: Array.from(inside.querySelectorAll('figure.chart'), readChart),
		tables: Array.from(inside.querySelectorAll('.table table'), readTable),
		dots: Array.from(inside.querySelectorAll('figure.dots'), readDots),
		tiles: Array.from(inside.querySelectorAll('.tile'), function (tile) {{
			return [within(tile), texts(tile, '.name')[0], texts(tile, 'b')[0],
				texts(tile, '.delta').join('')];
		}}),
		notes: texts(inside, '#notes summary, #notes p')[0], heavy: texts(inside, '#notes > details > ul > li.serious'),
		items: texts(inside, '#notes > details > ul > li'), verdicts: texts(inside, '.verdicts li'),
		warnings: texts(inside, '.warning'), report: texts(inside, 'noscript pre')[0],
		ids: Array.from(inside.querySelectorAll('[id]'), function (it) {{ return it.id; }})}};
}}
function pause() {{
	return new Promise(function (done) {{ setTimeout(done, 60); }});
}}
/* The mouse goes over the throughput, drags from 20 % to 60 % of it, then double-clicks. */
async function act(inside) {{
	function named(name) {{
		return Array.from(inside.querySelectorAll('figure.chart')).find(function (it) {{
			return it.querySelector('figcaption').textContent === name;
		}});
	}}
	function both() {{
		return ['Operations per second', 'CPU time'].map(function (name) {{
			return named(name).querySelector('.u-value').textContent;
		}});
	}}
	function mouse(type, share) {{
		var over = named('Operations per second').querySelector('.u-over');
		var box = over.getBoundingClientRect();
		over.dispatchEvent(new inside.defaultView.MouseEvent(type, {{bubbles: true, button: 0,
			movementX: 9, clientX: box.left + box.width * share, clientY: box.top + 50}}));
	}}
	var told = {{before: texts(named('Operations per second'), '.u-value')}};
	mouse('mouseenter', 0.5);
	mouse('mousemove', 0.5);
	told.half = both();
	mouse('mousedown', 0.2);
	mouse('mousemove', 0.6);
	mouse('mouseup', 0.6);
	await pause();
	mouse('mousemove', 0.001);
	told.zoomed = both();
	mouse('dblclick', 0.5);
	await pause();
	mouse('mousemove', 0.999);
	told.reset = both();
	return told;
}}
window.onload = async function () {{
	var told = {{frames: []}};
	for (const frame of document.querySelectorAll('iframe')) {{
		if (!frame.sandbox.length)
			await frame.contentWindow.drawAll();
		if (!{phone})
			continue;
		var wide = read(frame.contentDocument);
		if ({acts} && told.frames.length === 0)
			told.acted = await act(frame.contentDocument);
		frame.style.width = '{phone}px';
		frame.contentWindow.dispatchEvent(new Event('resize'));
		await pause();
		told.frames.push([wide, read(frame.contentDocument)]);
	}}
	document.getElementById('told').textContent = JSON.stringify(told);
}};
</script>'''


def fail(text):
    sys.exit(f'not ok: {text}')


def check(is_true, *what):
    if not is_true:
        fail(': '.join(str(it)[:600] for it in what))


def browser():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        # Ubuntu's package is a script that requests a snap.
        if shutil.which(name) and subprocess.run([name, '--version'],
                                                 capture_output=True, check=False).returncode == 0:
            return name
    print('skipped: no chromium that runs')
    sys.exit(77)


class Pages:
    """The pages, their result files, and the browser."""

    def __init__(self, mininb, rig, stored, directory):
        self.chromium, self.mininb, self.directory = browser(), mininb, directory
        subprocess.run([rig, directory], check=True, stdout=subprocess.DEVNULL)
        self.make_steps(os.path.join(stored, 'groups.json'))
        for name in STORED:
            made = self.path(f'{name}.json')
            self.report(name, made if os.path.exists(made) else os.path.join(stored, f'{name}.json'))
        self.report('baseline', f'--baseline={stored}/get.json', f'{stored}/get-again.json')
        shutil.copy(self.path('groups.html'), self.path('plain.html'))

    def make_steps(self, path):
        """A level of transactions, requests in flight, one operation in four with stamps, servers."""
        with open(path, encoding='utf-8') as file:
            made = json.load(file)
        readers, writer = made['results'][0]['groups']
        readers.update(level='snapshot', latency='sampled:4')
        readers['operations'][0]['ops'] *= 4
        writer['depth'] = 16
        measured = made['results'][0]['measured']
        measured['batch'] = writer['operations'][0]['service']
        measured['server'] = {'servers': 2, 'cpu_ns': 3_000_000, 'storage_read_bytes': 4096,
                              'storage_write_bytes': 8192, 'resident_bytes': 8 << 20}
        for sample in measured['series']['samples']:
            sample['server'] = measured['server']
        with open(self.path('steps.json'), 'w', encoding='utf-8') as file:
            json.dump(made, file)

    def path(self, name):
        return os.path.join(self.directory, name)

    def report(self, name, *words):
        with open(self.path(f'{name}.html'), 'w', encoding='utf-8') as file:
            subprocess.run([self.mininb, 'report', '--format=html', *words], check=True, stdout=file)

    def block(self, name, block):
        with open(self.path(f'{name}.html'), encoding='utf-8') as file:
            found = re.search(f'id="{block}">(.*?)</script>', file.read(), re.S)
        # A byte that is not UTF-8 is one of these in JSON, and U+FFFD on the page.
        return json.loads(re.sub('[\uef80-\uefff]', '\ufffd', found[1])) if found else None

    def run(self, name, url, *options):
        """The output of chromium. Any message on the console is a failure."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [self.chromium, '--headless', '--no-sandbox', '--disable-gpu',
                 '--hide-scrollbars', '--disable-dev-shm-usage', '--no-first-run',
                 '--disable-background-networking', f'--user-data-dir={profile}',
                 '--allow-file-access-from-files', '--enable-logging=stderr', '--v=0',
                 '--virtual-time-budget=20000', *options, f'file://{self.path(url)}'],
                capture_output=True, text=True, timeout=240)
        console = [line for line in done.stderr.splitlines()
                   if 'CONSOLE' in line and "'allow-scripts' permission is not set" not in line]
        check(not console, name, console)
        check(done.returncode == 0, name, done.returncode, done.stderr[-500:])
        return done.stdout

    def frames(self, name, frames, phone, acts=False):
        """Writes a page of frames: (page, width). Without scripts if the page's name is plain.
        After the first reading, all frames get the width `phone`; 0: they keep theirs."""
        elements = ''.join(
            f'<iframe src="{page}.html" {"sandbox=allow-same-origin" if page == "plain" else ""} '
            f'style="border:0;flex:none;width:{width}px;height:3000px"></iframe>'
            for page, width in frames)
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(FRAMES.format(frames=elements, acts='true' if acts else 'false', phone=phone))

    def look(self, names, acts=False):
        """The displayed content of each page, wide and narrow."""
        name = names[0]
        self.frames(f'{name}-frames.html', [(page, WIDE) for page in names], PHONE, acts)
        dom = self.run(name, f'{name}-frames.html', '--window-size=1300,2000', '--dump-dom')
        told = re.search(r'<pre id="told">(.*?)</pre>', dom, re.S)[1]
        check(told, name, 'drawing did not end')
        return json.loads(html.unescape(told))


# ---- numbers as lib/base/units.c writes them ----

def three(value):
    if value < 1:
        return f'{float(f"{value:.3g}"):.12g}'
    scale = 1 if value >= 99.95 else 10 if value >= 9.995 else 100
    return f'{math.floor(value * scale + 0.5) / scale:g}'


def stepped(value, base, suffixes):
    step = 0
    while step + 1 < len(suffixes) and value >= base * 0.9995:
        value, step = value / base, step + 1
    return three(value) + suffixes[step]


def count(value):
    return stepped(value, 1000, ['', 'k', 'M', 'G', 'T'])


def ns(value):
    return stepped(value, 1000, ['ns', 'us', 'ms', 's'])


def near(one, other):
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


# ---- required content of a page ----

def measured(file):
    return [(f'r{i}', it) for i, it in enumerate(file['results']) if 'measured' in it]


def samples_of(result):
    return (result['measured']['series'] or {}).get('samples') or []


def latencies(result):
    """(name, histogram) of each operation's service and response times."""
    for group in result['groups']:
        for operation in group['operations']:
            for kind in ('service', 'response'):
                if operation[kind] and operation[kind]['count'] > 0:
                    several = f'{group["name"]}: ' if len(result['groups']) > 1 else ''
                    yield f'{several}{operation["operation"]}, {kind}', operation[kind]
    for name, member in (('batch', 'batch'), ('checkpoint', 'checkpoints')):
        if member in result['measured']:
            yield name, result['measured'][member]


RESOURCES = {
    'CPU time': ('process', ['user_ns', 'system_ns']),
    'Bytes by calls': ('io', ['call_read_bytes', 'call_write_bytes']),
    'Bytes of storage': ('io', ['storage_read_bytes', 'storage_write_bytes']),
    'Bytes of the device, whoever used it': ('device', ['device_read_bytes', 'device_write_bytes']),
    'Device busy': ('device', ['device_busy_ns']),
    'Page faults': ('process', ['minor_faults', 'major_faults']),
    'Context switches': ('process', ['voluntary_switches', 'involuntary_switches']),
    'Some task was held up (pressure)': (
        'pressure', ['pressure_cpu_ns', 'pressure_memory_ns', 'pressure_io_ns']),
    'Taken by the hypervisor or the cgroup': ('machine', ['steal_ns', 'throttled_ns']),
    'Swap, of the machine': ('machine', ['swap_in_bytes', 'swap_out_bytes']),
    'Processor': ('cycles', ['cycles', 'instructions']),
    'Cache misses': ('cache', ['cache_misses']),
}
LEVELS = {'Resident memory': ['anonymous_bytes', 'file_bytes'],
          'Database and dirty page cache': ['data_bytes', 'dirty_bytes']}
SERVERS = ['CPU time of servers and client', 'Memory of servers and client',
           'Storage bytes of servers']


def wanted_charts(result):
    """Titles of the charts that a run must have, except those of the engine's counters."""
    series, samples = result['measured']['series'] or {}, samples_of(result)
    if samples or series.get('pulses') or result['intervals']:
        yield 'Operations per second'
    if max((it['count'] for _, it in latencies(result)), default=0) >= 20:
        yield 'Each kind of operation'
    hdr = [it for sample in samples for it in sample['latencies'] or [] if it.get('hdr')]
    if hdr:
        yield ('Response times, of what had a rate' if any(it['is_response'] for it in hdr)
               else 'Service times of all operations')
    if any(sample['behind_ops'] for sample in samples):
        yield 'Queue: operations due and not done'
    for title, (needs, fields) in RESOURCES.items():
        if any(sample['used'].get(field, 0) > 0 and needs in sample['used']['known']
               for sample in samples for field in fields):
            yield title
    for title, fields in LEVELS.items():
        if any(sample['levels'].get(field, 0) > 0 for sample in samples for field in fields):
            yield title
    if samples and 'server' in result['measured']:
        yield from SERVERS


def check_run_charts(name, section, result, page):
    charts = {it['title']: it for it in page['charts'] if it['of'] == section}
    for title in wanted_charts(result):
        check(title in charts, name, section, f'no chart "{title}"', list(charts))
    for title in [*RESOURCES, *LEVELS, *SERVERS]:
        check(title not in charts or title in wanted_charts(result), name, section, title)
    for title, chart in charts.items():
        check(chart['plots'] == 1 or chart['isEmpty'], name, section, title, 'is not drawn')
    if 'Operations per second' in charts:
        check_throughput(name, result, charts['Operations per second'])
    if name in STORED and 'Operations per second of each group' in charts:
        check_groups(result, charts['Operations per second of each group'])
    if 'Each kind of operation' in charts:
        check_percentiles(name, result, charts['Each kind of operation'])
    if 'CPU time' in charts:
        check_cpu(name, result, charts)
    syncs = {chart.get('sync') for title, chart in charts.items()
             if chart.get('sync') and not chart['isEmpty']}
    check(len(syncs) <= 1, name, section, 'several time axes', syncs)


def check_throughput(name, result, chart):
    pulses = (result['measured']['series'] or {}).get('pulses') or []
    if len(pulses) == 1 and 2 < len(pulses[0]['ops']) <= 600:
        rates = [ops * 1e9 / pulses[0]['pulse_ns'] for ops in pulses[0]['ops'][:-1]]
        drawn = chart['lines'][0]['ys']
        check(len(drawn) == len(rates) and all(map(near, drawn, rates)), name, 'throughput', drawn)


def check_groups(result, chart):
    """Each group's operations, also where few of them were timed: their mean is its throughput."""
    lines = {line['name']: [it for it in line['ys'] if it is not None] for line in chart['lines']}
    for group in result['groups']:
        ops = sum(it['ops'] for it in group['operations'])
        mean = sum(lines[group['name']]) / len(lines[group['name']])
        check(0.7 < mean * group['wall_ns'] / 1e9 / ops < 1.4, group['name'], mean, ops)


def check_percentiles(name, result, chart):
    """The curves come from the histograms, the figures beside them from C: both agree."""
    members = {'p50': 'p50_ns', 'p99': 'p99_ns', 'p99.9': 'p999_ns'}
    lines = {line['name']: line for line in chart['lines']}
    for operation, histogram in latencies(result):
        marks = {mark['name']: mark['y'] for mark in lines[operation]['marks']}
        wanted = {key: histogram[member] for key, member in members.items() if member in histogram}
        check(marks == wanted, name, operation, marks, wanted)


def check_cpu(name, result, charts):
    samples = samples_of(result)
    if len(samples) > 100 or len({sample['phase'] for sample in samples}) > 1:
        return
    user = [it['used'].get('user_ns', 0) / it['duration_ns'] for it in samples]
    drawn = charts['CPU time']['lines'][0]['ys']
    check(len(drawn) == len(user) and all(abs(a - b) < 1e-6 + b / 1e3 for a, b in zip(drawn, user)),
          name, 'CPU time', drawn, user)


def latency_of(result):
    has_rate = result['job'] and any(group['is_paced'] for group in result['groups'])
    is_response = has_rate and result['response'] and result['response']['count'] > 0
    return ('response', result['response']) if is_response else ('service', result['service'])


def check_tiles(name, section, result, page):
    tiles = {tile: value for of, tile, value, _ in page['tiles'] if of == section}
    kind, latency = latency_of(result)
    findings = [group['findings'] for group in result['groups']]
    errors = sum(number for it in findings for verdict, number in it['verdicts'].items()
                 if verdict != 'good')
    verified = sum(it['verified'] for it in findings)
    wanted = {'ops/s': count(result['throughput_ops_s']),
              'errors': 'failed' if result['end'] else count(errors),
              'verified': count(verified) if verified else 'none'}
    for percentile, member in (('p50', 'p50_ns'), ('p99', 'p99_ns'), ('p99.9', 'p999_ns')):
        wanted[f'{percentile} {kind}'] = ns(latency[member]) if member in latency else 'too few'
    tiles.pop('stalls')
    check(tiles == wanted, name, section, tiles, wanted)


def rows_of(page, caption, section=None):
    return [(table['head'], table['rows']) for table in page['tables']
            if table['caption'] and table['caption'].startswith(caption) and
            (section is None or table['of'] == section)]


def check_run_tables(name, section, result, page):
    [(_, rows)] = rows_of(page, 'Latencies;', section)
    wanted = [[operation, str(it['count']),
               *(ns(it[member]) if it.get(member) else ''
                 for member in ('p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'p9999_ns', 'max_ns'))]
              for operation, it in latencies(result)]
    check(rows == wanted, name, section, rows, wanted)
    [(_, rows)] = rows_of(page, 'Engine', section)
    facts = dict(rows)
    check(facts['Stream digest'] == result['digest'], name, section, facts)
    for option in result['engine']['options'] or []:
        check(facts[option['name']] == option['value'], name, section, option)
    [(_, rows)] = rows_of(page, 'Machine and environment', section)
    check(dict(rows)['Kernel'] == result['environment']['kernel'], name, section, rows)
    if result['job']:
        [(_, rows)] = rows_of(page, 'What was done', section)
        check([row[0] for row in rows] == [it['name'] for it in result['groups']], name, rows)
        for row, group in zip(rows, result['groups']):
            told = [group.get('level', ''), group.get('latency', ''),
                    f'depth {group["depth"]}' if 'depth' in group else '']
            check(all(it in ' '.join(row) for it in told), name, row, told)
        check([row[-1] for row in rows] == [count(it['throughput_ops_s']) if it['ops'] else ''
                                            for it in result['groups']], name, rows)
    if result['measured']['counters']:
        [(_, rows)] = rows_of(page, 'What the engine counted', section)
        check([row[0] for row in rows] == [it['name'] for it in result['measured']['counters']], name)


def check_notes(name, file, page):
    """Sorted by weight, each text once, counted in the summary."""
    notes = [note for _, result in measured(file) for note in result['notes']]
    if len(file['results']) == 1:
        serious = [it['text'] for it in notes if it['weight'] == 'serious']
        usual = [it['text'] for it in notes if it['weight'] == 'usual']
        check(page['items'] == serious + usual, name, page['items'])
        check(page['heavy'] == serious, name, page['heavy'])
        if notes:
            check(f'{len(serious)} serious, {len(usual)} usual' in page['notes'], name, page['notes'])
    shown = '\n'.join(page['items'])
    for note in notes:
        check(note['text'] in shown, name, 'a note is lost', note)


def check_sweep(name, file, page):
    for section, result in measured(file):
        if not result['sweep'] or not result['sweep']['points']:
            continue
        points = result['sweep']['points']
        chart = next(it for it in page['charts'] if it['title'] == 'Latency over the offered rate')
        check(chart['xs'] == [it['offered_ops_s'] for it in points], name, chart['xs'])
        p99 = next(line for line in chart['lines'] if line['name'] == 'p99 of response')
        check(p99['ys'] == [it['response_p99_ns'] or None for it in points], name, p99)
        shaded = [band for band in chart['bands'] if band['kind'] == 'overload']
        check(len(shaded) == sum(it['queue_grew'] for it in points), name, shaded)
        [(_, rows)] = rows_of(page, 'Points of the curve')
        check([row[0] for row in rows] == [count(it['offered_ops_s']) for it in points], name, rows)
        check(page['headings'][1] == 'Latency over throughput', name, page['headings'])


def check_comparison(name, pages, file, page):
    comparison, figures = pages.block(name, 'comparison'), pages.block(name, 'figures')
    if comparison is None:
        check(not page['verdicts'] or name == 'baseline', name, page['verdicts'])
        return
    verdicts = [text for work in comparison['comparisons'] for text in work['verdicts']]
    check(page['verdicts'] == (verdicts if figures['is_ranked'] else []), name, page['verdicts'])
    for reason in comparison['not_comparable']:
        check(any(reason in text for text in page['warnings']), name, reason)
    rankings = rows_of(page, 'Throughput of all contestants')
    for work, (_, rows) in zip(comparison['comparisons'], rankings, strict=True):
        check_ranking(name, work, rows)
    if figures['is_ranked']:
        check_forests(name, comparison, page)


def check_ranking(name, work, rows):
    """Phase by phase, best first, each contestant once."""
    throughput = next(it for it in work['metrics'] if it['name'] == 'throughput')
    samples = sorted(throughput['samples'], key=lambda it: -it['median'])
    check([row[0] for row in rows] == [it['sample'] for it in samples], name, rows)
    check([row[1] for row in rows] == [str(len(it['values'])) for it in samples], name, rows)
    check([row[2] for row in rows] == [count(it['median']) for it in samples], name, rows)
    pairs = {it['of']: it for it in throughput['pairs']}
    check([row[9] for row in rows] == [pairs[row[0]]['verdict'] if row[0] in pairs else 'base'
                                       for row in rows], name, rows)


def check_forests(name, comparison, page):
    """Each phase has a row for each contestant and a dot for each run; ratios are C's."""
    forests = [it for it in page['dots'] if it['of'] == 'verdict']
    throughputs = [it for it in forests if it['title'] == 'Throughput']
    for work, forest in zip(comparison['comparisons'], throughputs, strict=True):
        metric = next(it for it in work['metrics'] if it['name'] == 'throughput')
        check(forest['names'] == [it['sample'] for it in metric['samples']], name, forest)
        check(forest['runs'] == sum(len(it['values']) for it in metric['samples']), name, forest)
        for pair in metric['pairs']:
            text = forest['values'][forest['names'].index(pair['of'])]
            check(float(text.split()[0]) == round(pair['ratio'], 3 if pair['ratio'] >= 0.1 else 4),
                  name, text, pair)


def check_side_by_side(name, file, page):
    """A table for each action, so that different actions are not ranked with each other."""
    tables = [it for it in page['tables'] if it['of'] == 'side' and 'result' in it['head']]
    for it in page['dots']:
        if it['title'] == 'Service times':
            check(all(not text or text.startswith('p99 ') for text in it['values']), name, it)
    runs = measured(file)
    actions = list(dict.fromkeys(result['action'] for _, result in runs))
    check(len(tables) == max(len(actions), 1) or not file['results'], name, len(tables))
    for action, table in zip(actions, tables):
        engines = {result['name'] or result['driver'] for _, result in runs
                   if result['action'] == action}
        rows = [row for row in table['rows'] if row[-1] != 'no result']
        check(all(any(row[0].startswith(engine) for row in rows) for engine in engines), name, rows)
        if any(result['contestant'] for _, result in runs):
            check(len(rows) == len(engines), name, 'repetitions are not one row', rows)
    failed = [it for it in file['results'] if 'measured' not in it]
    if tables:
        check(len([row for row in tables[0]['rows'] if row[-1] == 'no result']) == len(failed), name)
    for result in file['results']:
        check(not result['end'] or any(result['end'] in text for text in page['warnings']),
              name, result['end'], page['warnings'])


def check_order(name, file, page):
    """What came out is first: tiles or the verdict, before notes, before charts."""
    parts = [text[:60] for text in page['order']]
    notes = next(i for i, text in enumerate(parts) if text.startswith('Why these numbers'))
    before = ' '.join(parts[:notes])
    check(not file['results'] or notes <= 6, name, parts)
    if len(measured(file)) == 1 and len(file['results']) == 1:
        check('ops/s' in before, name, parts)
    if len({result['name'] or result['driver'] for _, result in measured(file)
            if result['contestant']}) > 1:
        check('Verdict' in before, name, parts)


def check_page(pages, name, width, page):
    file = pages.block(name, 'results')
    check(page['width'] <= width, name, f'{page["width"]} pixels wide, not {width}')
    check(page['scripts'] == 1, name, f'{page["scripts"]} scripts: a text became one')
    check(len(set(page['ids'])) == len(page['ids']), name, 'an id is there twice')
    terms = pages.block(name, 'figures')['terms']
    check(all(terms.get(column, '') == hint for column, hint in page['hints']), name, page['hints'])
    for section, result in measured(file):
        check(['p99', terms['p99']] in page['hints'], name, 'p99 is not explained')
        check_run_charts(name, section, result, page)
        check_tiles(name, section if len(file['results']) > 1 else '', result, page) \
            if not result['sweep'] else None
        check_run_tables(name, section, result, page)
    check_notes(name, file, page)
    check_sweep(name, file, page)
    check_comparison(name, pages, file, page)
    check_side_by_side(name, file, page)
    check_order(name, file, page)
    return f'{name}, {width} pixels: {len(page["charts"])} charts, {len(page["tables"])} tables'


def check_frames(pages, names, told):
    return [check_page(pages, name, width, page) for name, both in zip(names, told['frames'])
            for width, page in zip((WIDE, PHONE), both)]


def check_pages(pages, names):
    return '\n'.join(check_frames(pages, names, pages.look(names)))


def check_rig(pages):
    """Results made by hand: a stall of 600 ms at 12 s, a warm-up of 2 s, a knee, hostile names."""
    told = pages.look([*MADE, 'baseline', 'plain'], acts=True)
    lines = check_frames(pages, MADE, told)
    (one, _), (many, _), (versus, _), _, (alone, _), (_, baseline), (_, plain) = told['frames']
    for chart in one['charts']:
        if chart.get('sync'):
            kinds = {band['kind']: band for band in chart['bands']}
            check(near(kinds['stall']['from'], 12) and near(kinds['warmup']['to'], 2), chart)
    check(['', 'stalls', '1', ''] in one['tiles'], one['tiles'])
    check(one['tables'] and rows_of(one, 'The longest stalls')[0][1][0][1] == '600ms', one)
    groups = next(it for it in one['charts'] if it['title'] == 'Operations per second of each group')
    check([line['name'] for line in groups['lines']] == ['readers', 'writers'], groups)
    check(any('<script>alert(1)</script>' in text for text in many['headings']), many['headings'])
    curves = [it for it in versus['charts'] if it['of'] == 'side']
    check('Operations per second' in [it['title'] for it in curves], 'no throughput of the engines')
    check(all(line['low'] and line['high'] for chart in curves for line in chart['lines']),
          'no bands of runs')
    order = ' '.join(alone['order'])
    check('All results are of leveldb, so nothing is compared.' in order, order)
    check(len(alone['warnings']) == 1 and 'gdbm' in alone['warnings'][0], alone['warnings'])
    check(['', 'ops/s'] in [tile[:2] for tile in alone['tiles']], alone['tiles'])
    return '\n'.join([*lines, check_acted(told['acted']), check_baseline(pages, baseline),
                      check_without_scripts(plain)])


def check_acted(acted):
    """The time axis of the rig's run is 30 s long; samples of the CPU are a second each."""
    check('-' not in acted['before'], 'a legend without a latest value', acted['before'])
    for key, wanted in {'half': 15, 'zoomed': 6, 'reset': 30}.items():
        seconds = [float(value) for value in acted[key] if value != '-']
        check(len(seconds) == 2 and all(abs(it - wanted) <= 1 for it in seconds), key, acted)
    return 'cursor and zoom are the same in all charts over time'


def check_baseline(pages, page):
    """Deltas come from C's comparison and have its colour."""
    baseline = pages.block('baseline', 'baseline')
    [work] = baseline['comparisons']
    check(page['verdicts'] == work['verdicts'], page['verdicts'])
    deltas = {tile.split()[0]: delta for _, tile, _, delta in page['tiles'] if delta}
    pairs = {it['name']: it['pairs'][0]['ratio'] for it in work['metrics']}
    for tile, metric in (('ops/s', 'throughput'), ('p50', 'p50'), ('p99', 'p99')):
        share = float(deltas[tile].replace('\u2212', '-').rstrip('\u00a0%'))
        check(abs(share - 100 * (pairs[metric] - 1)) < 0.06, deltas, pairs)
    check(page['width'] <= PHONE, 'baseline', page['width'])
    return f'baseline: {deltas}'


def check_without_scripts(page):
    check(page['report'] and 'Throughput' not in page['headings'], page['report'])
    check('readers: read 100 %' in page['report'], page['report'])
    check(page['width'] <= PHONE, 'without scripts', page['width'])
    return 'without scripts: the text report'


def check_picture(pages, name, widths):
    picture = f'{name}.png'
    pages.frames(f'{name}.html', [('one', width) for width in widths], 0)
    pages.run(picture, f'{name}.html', f'--window-size={sum(widths)},3000',
              f'--screenshot={pages.path(picture)}',
              f'--blink-settings=preferredColorScheme={0 if name == "dark" else 1}')
    with open(pages.path(picture), 'rb') as file:
        data = file.read()
    check(data[:8] == b'\x89PNG\r\n\x1a\n' and
          struct.unpack('>II', data[16:24]) == (sum(widths), 3000), picture, 'no picture of that size')
    check(len(data) > 100000, picture, f'{len(data)} bytes, so hardly anything is on it')
    return f'{picture}: {len(data)} bytes'


def check_paper(pages):
    pages.run('paper', 'one.html', '--no-pdf-header-footer',
              f'--print-to-pdf={pages.path("one.pdf")}')
    with open(pages.path('one.pdf'), 'rb') as file:
        data = file.read()
    sheets = len(re.findall(rb'/Type\s*/Page[^s]', data))
    pictures = len(re.findall(rb'/Subtype\s*/Image', data))
    check(data.startswith(b'%PDF') and 4 <= sheets <= 15, f'paper: {sheets} pages')
    return f'paper: {sheets} pages, {pictures} pictures'


# ---- colours: the contrast of WCAG 2.1, section 1.4.3 ----

def luminance(colour):
    def linear(part):
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
    digits = colour[1:] if len(colour) == 7 else ''.join(2 * digit for digit in colour[1:])
    red, green, blue = (linear(int(digits[i:i + 2], 16) / 255) for i in (0, 2, 4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def check_colours(path):
    with open(path, encoding='utf-8') as file:
        blocks = re.findall(r':root(?:\S*) \{(.*?)\}', file.read(), re.S)
    check(len(blocks) == 2, f'{len(blocks)} sets of colours')
    for block in blocks:
        colours = dict(re.findall(r'--([\w-]+): (#\w+);', block))
        for name, wanted in [('text', 7), ('quiet', 4.5), ('link', 4.5), ('stall', 3), ('better', 4), ('worse', 4),
                             *((f'c{i}', 3) for i in range(8))]:
            for behind in ('page', 'card'):
                is_ = contrast(colours[name], colours[behind])
                if is_ < wanted:
                    fail(f'--{name} on --{behind}: {is_:.2f}:1, less than {wanted}')
        if contrast(colours['text'], colours['warn']) < 7:
            fail('--text on --warn')
    return 'colours are told from what is behind them'


def main(mininb, rig, stored, css, keep=None):
    print(check_colours(css))
    with tempfile.TemporaryDirectory() as directory:
        if keep is not None:
            os.makedirs(keep, exist_ok=True)
        pages = Pages(mininb, rig, stored, os.path.abspath(keep or directory))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(check_pages, pages, STORED[:4]), pool.submit(check_rig, pages),
                    pool.submit(check_pages, pages, STORED[4:]), pool.submit(check_paper, pages),
                    pool.submit(check_picture, pages, 'light', [WIDE, PHONE]),
                    pool.submit(check_picture, pages, 'dark', [PHONE])]
            for job in jobs:
                print(job.result())


main(*sys.argv[1:])
