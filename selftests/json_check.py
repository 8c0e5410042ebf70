#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""json_check.py COMMAND: validates the output of "omertactl -j COMMAND" on standard input.

By Documentation/omertactl.schema.json; "monitor" prints an object per line.
"""
import json
import pathlib
import sys

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent


def main():
    name = sys.argv[1].replace(" ", "-")
    # In the guest it is beside the scripts' folder.
    path = next(p for p in (HERE.parent / "Documentation/omertactl.schema.json",
                            HERE.parent / "omertactl.schema.json") if p.exists())
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    schema["$ref"] = f"#/$defs/output/$defs/{name}"
    validator = jsonschema.Draft202012Validator(schema)
    text = sys.stdin.read()
    values = [json.loads(line) for line in text.splitlines()] if name == "monitor" \
        else [json.loads(text)]
    errors = [error for value in values for error in validator.iter_errors(value)]
    for error in errors:
        print(f"{error.json_path}: {error.message}")
    if not values:
        print("no output")
    sys.exit(bool(errors) or not values)


main()
