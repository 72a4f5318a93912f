#!/usr/bin/env python3
"""Writes files as texts in C: embed-text.py OUTPUT HEADER NAME FILE..., a table of struct embedded_text as HEADER declares it."""

import json
import pathlib
import sys

output, header, name, *paths = sys.argv[1:]
rows = []
for path in map(pathlib.Path, paths):
    lines = [json.dumps(line + "\n", ensure_ascii=True) for line in path.read_text(encoding="ascii").splitlines()]
    rows.append(f'\t{{"{path.suffix[1:]}", ' + "\n\t\t".join(lines) + "},\n")
pathlib.Path(output).write_text(f'#include "{header}"\n\nconst struct embedded_text {name}[] = {{\n{"".join(rows)}\t{{0}},\n}};\n', encoding="utf-8")
