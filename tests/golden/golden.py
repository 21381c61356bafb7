# SPDX-License-Identifier: BSD-2-Clause
"""
Compare the output of mininb for the stored results with the expected files, byte by byte.

    golden.py MININB            compare; print the differences
    golden.py MININB --remake   write the expected files again

The stored results come from real, short runs, whose commands are in `command.words`. Only
`edges` was edited by hand: it has the lines that no real run had, and a label in each result
names them.

The expected files pin every report format. Remake them only in a commit that changes the output
on purpose. Read the diff and give the reason in the commit message. The stored results are never
remade: users have such files, so every later mininb must read them.

The environment is unusual. The test fails if a time zone, a language or a terminal changes the
output.
"""
import base64
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).parent
STORED = HERE / "stored"
EXPECTED = HERE / "expected"
UNUSUAL = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Kathmandu", "COLUMNS": "40",
           "LINES": "10", "TERM": "xterm-256color", "HOME": "/nonexistent"}

DIFF_LINES = 60  # printed for each file

# Large formats are written for a few results, which together contain every section.
SOME = {
    "html": ["crashed", "groups", "put-engines", "rate", "sweep", "vs"],
    "hgrm": ["put", "rate"],
    "hlog": ["put", "rate", "sweep"],
    "gnuplot": ["groups", "put", "sweep"],
    "candlestick": ["get", "groups", "put-engines"],
    "sofaster": ["batches", "crashed", "interrupted", "put", "run-c", "rate"],
}

# The test also compares the files that the command writes to its directory OUT.
OTHERS = {
    "crash.refused": "report crash.json",
    "put.fold": "report --fold put.json",
    "several.text": "report put.json get.json run-c.json",
    "several.md": "report --format=md put.json get.json run-c.json",
    "put.tables": "report --csv=OUT/put put.json",
    "rate.tables": "report --csv=OUT/rate rate.json",
    "edges.tables": "report --csv=OUT/edges edges.json",
    "notebook": "report --notebook=OUT/notebook put.json run-a.json vs.json",
    "merge.text": "merge run-c.json run-c-again.json",
    "merge.csv": "merge --format=csv get.json get-again.json",
    "compare-get.text": "compare get.json get-again.json",
    "compare-get.md": "compare --format=md get.json get-again.json",
    "compare-get.json": "compare --format=json get.json get-again.json",
    "compare-run.text": "compare run-c.json run-c-again.json",
    "compare-vs.text": "compare vs.json",
    "compare-vs.md": "compare --format=md vs.json",
    "compare-vs.json": "compare --format=json vs.json",
    "compare-confidence.text": "compare --confidence=0.8 vs.json",
    "compare-refused": "compare put-engines.json",
    "compare-forced.text": "compare --force procs.json run-a.json",
    "compare-forced.md": "compare --force --format=md failed.json put.json",
    "gate-ok": "gate get.json get-again.json --max-regress=p50:5%,throughput:3%",
    "gate-failed": "gate get-again.json get.json --max-regress=p50:5%,p99.9:3%",
    "gate-refused": "gate run-c.json run-c-again.json --max-regress=settled:5%",
}


def commands():
    """The arguments of mininb for each expected file."""
    for stored in sorted(path.stem for path in STORED.glob("*.json")):
        formats = ["text", "md", "csv", "json"] + [f for f in SOME if stored in SOME[f]]
        for form in formats if stored != "crash" else []:
            yield f"{stored}.{form}", f"report --format={form} {stored}.json"
    yield from OTHERS.items()


def checksum(match):
    """A checksum of the counts in a compressed histogram. Versions of zlib compress differently."""
    compressed = base64.b64decode(match[0])[8:]
    return f"(histogram {zlib.crc32(zlib.decompress(compressed)):08x})"


def reduced(text):
    """Remove the parts that may change although the report does not."""
    text = re.sub(r"HISTFA[A-Za-z0-9+/]+=*", checksum, text)
    # The version of mininb that writes: in JSON, a notebook, a log, a page.
    text = re.sub(r'^( "mininb": )".*"', r"\1VERSION", text, flags=re.M)
    text = re.sub(r'^(      "mininb": )".*"', r"\1VERSION", text, flags=re.M)
    text = re.sub(r"(#\[Logged with mininb )[^]]*", r"\1VERSION", text)
    text = re.sub(r"(<footer><p>Made by mininb )[0-9.]*[0-9]", r"\1VERSION", text)
    # The stored results are older than the weights of notes, which follow from the notes' ids.
    text = re.sub(r'("id": "[a-z-]*"), "weight": "(serious|usual)"', r"\1", text)
    # The page's styles and scripts. test_page.c checks that its results and its text report are
    # those of json and text.
    text = re.sub(r"<(style|script)>.*?</\1>|<!--.*?-->", "", text, flags=re.S)
    return re.sub(r'(id="results">|<noscript><pre>).*?(?=</script>|</pre>)', r"\1", text, flags=re.S)


def read(path):
    # Not read_text(), which would convert \r\n to \n.
    return path.read_bytes().decode() if path.exists() else ""


def diff(before, after, name, context):
    """A unified diff. It shows a missing newline at the end of a file."""
    lines = [text.splitlines(keepends=True) for text in (before, after)]
    return [line if line.endswith("\n") else line + "\n\\ no newline\n"
            for line in difflib.unified_diff(*lines, "expected/" + name, "now", n=context)]


def output(mininb, name, command):
    """Standard output, the files in OUT, standard error, and the exit status if it is not 0."""
    with tempfile.TemporaryDirectory() as out:
        words = command.replace("OUT/", out + "/").split()
        done = subprocess.run([mininb, *words], cwd=STORED, env={**os.environ, **UNUSUAL},
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        text = done.stdout.decode()
        for path in sorted(pathlib.Path(out).iterdir()):
            text += f"==> {path.name}\n{read(path)}"
    text += "==> stderr\n" + done.stderr.decode() if done.stderr else ""
    text += f"==> exit status {done.returncode}\n" if done.returncode else ""
    text = reduced(text)
    if command.startswith("report --format=json"):  # usually equals the stored file
        return "".join(diff(reduced(read(STORED / name)), text, name, 0))
    return text


def main():
    mininb, remake = os.path.abspath(sys.argv[1]), sys.argv[2:] == ["--remake"]
    stale = {path.name for path in EXPECTED.glob("*")}
    differing = 0
    for name, command in commands():
        now, path = output(mininb, name, command), EXPECTED / name
        if now:
            stale.discard(name)
        if now == read(path):
            continue
        differing += 1
        if not remake:
            print(f"mininb {command}\n" + "".join(diff(read(path), now, name, 2)[:DIFF_LINES]))
        elif now:
            EXPECTED.mkdir(exist_ok=True)
            path.write_bytes(now.encode())
    for name in stale:
        differing += 1
        print(f"expected/{name}: no command writes it")
        if remake:
            (EXPECTED / name).unlink()
    print(f"{differing} expected files", "remade" if remake else "differ")
    sys.exit(differing > 0 and not remake)


main()
