# SPDX-License-Identifier: BSD-2-Clause
"""
Compare result files with their schema. The schema describes every written member, because it
allows no others. Every described member occurs in at least one document. Every member has a
description.

    test_result_schema.py SCHEMA TEST_JSON_READ

TEST_JSON_READ is the test of the reader, which writes its documents to $MININB_DOCUMENTS.
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator as Validator
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-jsonschema)")
    sys.exit(77)


def documents(program):
    with tempfile.TemporaryDirectory() as directory:
        env = dict(os.environ, MININB_DOCUMENTS=directory, CK_VERBOSITY="silent")
        subprocess.run([program], env=env, check=True, stdout=subprocess.DEVNULL)
        for path in sorted(glob.glob(directory + "/*.json")):
            with open(path, encoding="utf-8") as file:
                yield json.load(file)


def members(schema, path=""):
    """All described members: pairs (path in the schema, schema of the member)."""
    if isinstance(schema, dict):
        for name, member in schema.get("properties", {}).items():
            if "if" not in path:
                yield f"{path}/properties/{name}", member
        for key, value in schema.items():
            if key not in ("if", "then"):
                yield from members(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from members(value, f"{path}/{index}")


def mark(root, schema, path, value, seen):
    """Note which described members this value has."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        mark(root, root["$defs"][name], f"/$defs/{name}", value, seen)
    for index, one in enumerate(schema.get("anyOf", [])):
        mark(root, one, f"{path}/anyOf/{index}", value, seen)
    if isinstance(value, dict):
        for name, member in value.items():
            if name in schema.get("properties", {}):
                at = f"{path}/properties/{name}"
                seen.add(at)
                mark(root, schema["properties"][name], at, member, seen)
    elif isinstance(value, list) and "items" in schema:
        for element in value:
            mark(root, schema["items"], f"{path}/items", element, seen)


def check_all(schema, found):
    failures = 0
    validator = Validator(schema)
    for index, document in enumerate(found):
        for error in list(validator.iter_errors(document))[:5]:
            print(f"document {index}: {error.json_path}: {error.message[:300]}")
            failures += 1
    return failures


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    Validator.check_schema(schema)
    found = list(documents(sys.argv[2]))
    failures = check_all(schema, found)
    if len(found) < 10:
        print(f"only {len(found)} documents")
        failures += 1

    seen = set()
    for document in found:
        mark(schema, schema, "", document, seen)
    for path, member in members(schema):
        text = path.rsplit("/", 1)[1]
        if not member.get("description"):
            print(f"{path}: has no description")
            failures += 1
        # the name contains the unit, and the description states it
        units = {"_ns": "ns", "_bytes": "byte", "_hz": "Hz", "_mhz_max": "MHz"}
        for suffix, unit in units.items():
            if text.endswith(suffix) and unit not in member.get("description", ""):
                print(f"{path}: does not say its unit, {unit}")
                failures += 1
        of_mix = path.rsplit("/", 3)[-3] in ("mix", "operations", "answers", "verdicts")
        if path not in seen and not of_mix:
            print(f"{path}: is described and in no document")
            failures += 1

    # a schema that lacks a member is detected
    lacking = copy.deepcopy(schema)
    del lacking["$defs"]["measured"]["properties"]["open_ns"]
    if Validator(lacking).is_valid(found[0]):
        print("a member that is not described is not found out")
        failures += 1
    print(f"{len(found)} documents, {len(seen)} members, {failures} failures")
    return failures > 0


sys.exit(main())
