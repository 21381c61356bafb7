#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Pages as a browser shows them: test_html_chromium.py HTML_PAGES PAGE_CSS [KEEP]

On a wide screen and on one of 360 pixels, light and dark, with scripts and without, and on
paper: all charts are there, nothing is reported on the console, nothing is wider than the
screen, no two labels of a drawing overlap, and none is cut off. Colours are told apart from
what is behind them. With KEEP the pages, screenshots and PDF stay in that directory.
"""
import concurrent.futures
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PHONE, WIDE = 360, 1280  # pixels; a headless window cannot be as narrow, a frame in it can

# What pages look like from within, each in a frame of its own, as JSON into <pre>. What is
# not shown, as a drawing that a script has replaced, has no height.
FRAMES = '''<!DOCTYPE html><meta charset="utf-8"><title>frames</title>
<body style="margin:0;background:#777"><div style="display:flex">{frames}</div><pre id="told"></pre>
<script>
function look(inside) {{
	var bad = [], shown = 0;
	inside.querySelectorAll('svg[role=img]').forEach(function (svg) {{
		var all = svg.getBoundingClientRect(), texts = [];
		if (all.height === 0)
			return;
		shown++;
		svg.querySelectorAll('text').forEach(function (text) {{
			var r = text.getBoundingClientRect(), name = text.lastChild.data;
			if (r.left < all.left - 1 || r.right > all.right + 1 ||
				r.top < all.top - 1 || r.bottom > all.bottom + 1)
				bad.push('cut: ' + name);
			texts.forEach(function (o) {{
				if (r.left < o.r.right - 1 && o.r.left < r.right - 1 &&
					r.top < o.r.bottom - 3 && o.r.top < r.bottom - 3)
					bad.push('overlap: ' + name + ' / ' + o.name);
			}});
			texts.push({{r: r, name: name}});
		}});
	}});
	return {{bad: bad, shown: shown, width: inside.scrollingElement.scrollWidth,
		drawings: inside.querySelectorAll('svg[role=img]').length,
		live: inside.querySelectorAll('.uplot').length,
		scripts: inside.querySelectorAll('script:not([type])').length,
		test: Object.assign({{}}, inside.documentElement.dataset)}};
}}
/* The mouse goes over the throughput, then drags from 20 % to 60 % of it, then double-clicks. */
function act(inside, done) {{
	var live = Array.from(inside.querySelectorAll('figure.live')), told = {{}};
	function named(name) {{
		return live.find(function (it) {{
			return it.querySelector('figcaption').textContent === name;
		}});
	}}
	function read(name) {{
		return named(name).querySelector('.u-value').textContent;
	}}
	function mouse(type, share) {{
		var over = named('Operations per second').querySelector('.u-over');
		var box = over.getBoundingClientRect();
		over.dispatchEvent(new inside.defaultView.MouseEvent(type, {{bubbles: true, button: 0,
			movementX: 9, clientX: box.left + box.width * share, clientY: box.top + 50}}));
	}}
	mouse('mouseenter', 0.5);
	mouse('mousemove', 0.5);
	told.half = [read('Operations per second'), read('CPU time')];
	mouse('mousedown', 0.2);
	mouse('mousemove', 0.6);
	mouse('mouseup', 0.6);
	setTimeout(function () {{
		mouse('mousemove', 0.001);
		told.zoomed = [read('Operations per second'), read('CPU time')];
		mouse('dblclick', 0.5);
		setTimeout(function () {{
			mouse('mousemove', 0.999);
			told.reset = [read('Operations per second'), read('CPU time')];
			inside.querySelector('header button').click();
			told.plain = inside.querySelectorAll('.uplot, .u-legend, .live').length;
			done(told);
		}}, 50);
	}}, 50);
}}
window.onload = function () {{
	var all = Array.from(document.querySelectorAll('iframe'));
	var told = {{frames: all.map(function (frame) {{ return look(frame.contentDocument); }})}};
	act(all[0].contentDocument, function (acted) {{
		told.acted = acted;
		document.getElementById('told').textContent = JSON.stringify(told);
	}});
}};
</script>'''


def fail(text):
    sys.exit(f'not ok: {text}')


def browser():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return name
    print('skipped: no chromium')
    sys.exit(77)


class Frame:
    def __init__(self, page, width, has_script):
        self.page, self.width, self.has_script = page, width, has_script
        self.name = f'{page}, {width} pixels, {"with" if has_script else "without"} scripts'

    def element(self):
        sandbox = '' if self.has_script else 'sandbox="allow-same-origin"'
        return (f'<iframe src="{self.page}.html#test" {sandbox} style="border:0;flex:none;'
                f'width:{self.width}px;height:3000px"></iframe>')


class Pages:
    def __init__(self, program, directory):
        self.chromium = browser()
        self.directory = directory
        subprocess.run([program, directory], check=True, stdout=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, name, url, *options):
        """What chromium prints; what it reports on the console is a failure."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [self.chromium, '--headless', '--no-sandbox', '--disable-gpu',
                 '--hide-scrollbars', '--disable-dev-shm-usage', '--no-first-run',
                 '--disable-background-networking', f'--user-data-dir={profile}',
                 '--allow-file-access-from-files', '--enable-logging=stderr', '--v=0',
                 '--virtual-time-budget=5000', *options, f'file://{self.path(url)}'],
                capture_output=True, text=True, timeout=120)
        console = [line for line in done.stderr.splitlines()
                   if 'CONSOLE' in line and "'allow-scripts' permission is not set" not in line]
        if console:
            fail(f'{name}: {console[0]}')
        if done.returncode != 0:
            fail(f'{name}: chromium ended with {done.returncode}: {done.stderr[-500:]}')
        return done.stdout

    def write_frames(self, name, frames):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(FRAMES.format(frames=''.join(frame.element() for frame in frames)))

    def count(self, page, what):
        with open(self.path(f'{page}.html'), encoding='utf-8') as file:
            return file.read().count(what)


def check_frame(pages, frame, told):
    drawn = pages.count(frame.page, '<svg role="img"')
    to_zoom = pages.count(frame.page, 'type="application/json"') if frame.has_script else 0
    if any(key.startswith('error') for key in told['test']):
        fail(f'{frame.name}: {told["test"]}')
    if told['bad']:
        fail(f'{frame.name}: {told["bad"]}')
    if told['width'] > frame.width:
        fail(f'{frame.name}: {told["width"]} pixels wide')
    if told['drawings'] != drawn or told['shown'] != drawn - to_zoom:
        fail(f'{frame.name}: of {drawn} drawings: {told}')
    if told['live'] != to_zoom:
        fail(f'{frame.name}: {told["live"]} of {to_zoom} charts to zoom')
    if told['scripts'] != 2:
        fail(f'{frame.name}: {told["scripts"]} scripts: a text became one')
    if frame.has_script and told['test'].get('scrollWidth') != str(frame.width):
        fail(f'{frame.name}: {told["test"]}')
    return f'{frame.name}: {drawn} drawings, {to_zoom} of them to zoom'


def check_frames(pages):
    frames = [Frame(page, width, has_script)
              for page in ('one', 'many', 'versus') for width in (WIDE, PHONE)
              for has_script in (True, False)] + [Frame('empty', PHONE, True)]
    pages.write_frames('frames.html', frames)
    dom = pages.run('frames', 'frames.html', '--window-size=1300,2000', '--dump-dom')
    told = json.loads(html.unescape(
        re.search(r'<pre id="told">(.*?)</pre>', dom, re.S).group(1)))
    lines = [check_frame(pages, frame, it) for frame, it in zip(frames, told['frames'])]
    return '\n'.join([*lines, check_acted(told['acted'])])


def check_acted(acted):
    """The time axis of the rig's run is 30 s long; samples of the CPU are a second each."""
    seconds = {key: [float(value) for value in acted[key] if value != '-']
               for key in ('half', 'zoomed', 'reset')}
    wanted = {'half': 15, 'zoomed': 6, 'reset': 30}
    for key, value in wanted.items():
        if len(seconds[key]) != 2 or any(abs(it - value) > 1 for it in seconds[key]):
            fail(f'{key}: cursors at {acted[key]} s, not at {value}')
    if acted['plain'] != 0:
        fail(f'{acted["plain"]} of the charts to zoom are left')
    return 'cursor and zoom are the same in all charts over time'


def check_picture(pages, is_dark):
    name = 'dark' if is_dark else 'light'
    picture = f'{name}.png'
    width = WIDE + PHONE
    pages.write_frames(f'{name}.html', [Frame('one', WIDE, True), Frame('one', PHONE, True)])
    pages.run(picture, f'{name}.html', f'--window-size={width},3000',
              f'--screenshot={pages.path(picture)}',
              f'--blink-settings=preferredColorScheme={0 if is_dark else 1}')
    with open(pages.path(picture), 'rb') as file:
        data = file.read()
    if data[:8] != b'\x89PNG\r\n\x1a\n' or struct.unpack('>II', data[16:24]) != (width, 3000):
        fail(f'{picture}: no picture of that size')
    if len(data) < 100000:
        fail(f'{picture}: {len(data)} bytes, so hardly anything is on it')
    return f'{picture}: {len(data)} bytes'


def check_paper(pages):
    pages.run('paper', 'one.html', '--no-pdf-header-footer',
              f'--print-to-pdf={pages.path("one.pdf")}')
    with open(pages.path('one.pdf'), 'rb') as file:
        data = file.read()
    count = len(re.findall(rb'/Type\s*/Page[^s]', data))
    if not data.startswith(b'%PDF') or not 4 <= count <= 15:
        fail(f'paper: {count} pages')
    return f'paper: {count} pages'


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
        blocks = re.findall(r':root \{(.*?)\}', file.read(), re.S)
    if len(blocks) != 2:
        fail(f'{len(blocks)} sets of colours')
    for block in blocks:
        colours = dict(re.findall(r'--([\w-]+): (#\w+);', block))
        for name, wanted in [('text', 7), ('quiet', 4.5), ('link', 4.5), ('stall', 3),
                             *((f'c{i}', 3) for i in range(8))]:
            for behind in ('page', 'card'):
                is_ = contrast(colours[name], colours[behind])
                if is_ < wanted:
                    fail(f'--{name} on --{behind}: {is_:.2f}:1, less than {wanted}')
        if contrast(colours['text'], colours['warn']) < 7:
            fail('--text on --warn')
    return 'colours are told from what is behind them'


def main(program, css, keep=None):
    print(check_colours(css))
    with tempfile.TemporaryDirectory() as directory:
        if keep is not None:
            os.makedirs(keep, exist_ok=True)
        pages = Pages(program, keep or directory)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(check_frames, pages), pool.submit(check_picture, pages, True),
                    pool.submit(check_picture, pages, False), pool.submit(check_paper, pages)]
            for job in jobs:
                print(job.result())


main(*sys.argv[1:])
