"""All tables of cases: cases_GROUP.py has CASES, a dictionary of name: steps."""

import dataclasses
import importlib
import pathlib


@dataclasses.dataclass
class Case:
    name: str
    steps: list


def load():
    files = sorted(pathlib.Path(__file__).resolve().parent.glob("cases_*.py"))
    groups = {file.stem.removeprefix("cases_"): importlib.import_module(file.stem).CASES for file in files}
    return [Case(f"{group}-{name}", steps) for group, cases in groups.items() for name, steps in cases.items()]
