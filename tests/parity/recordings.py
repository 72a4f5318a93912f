"""The recorded exchanges, and the deviations from them that are meant.

deviations.json is a list of {"why": the reason, "steps": {"CASE/STEP": what annals answers instead}}: a status code, or null where that is the
recorded one and something else differs.
"""

import json
import pathlib

from compare import order_of_objects
from play import is_exchange

HERE = pathlib.Path(__file__).resolve().parent


def load():
    """All cases, as {"case", "results", "order"}."""
    found = []
    for path in sorted((HERE / "recorded").glob("*.jsonl")):
        with open(path, encoding="utf-8") as lines:
            found += [entry for entry in map(json.loads, lines) if "case" in entry]
    return found


def steps(entry):
    """The names of what is compared in a case."""
    numbers = [str(number) for number, step in enumerate(entry["case"]["steps"], 1) if is_exchange(step) and not step.get("setup")]
    return numbers + (["order"] if len(order_of_objects(entry["order"])) > 1 else [])


def load_deviations():
    """{"CASE/STEP": (status or None, why)}"""
    with open(HERE / "deviations.json", encoding="utf-8") as file:
        return {step: (status, group["why"]) for group in json.load(file) for step, status in group["steps"].items()}


def load_open():
    """The steps that differ by mistake, "CASE/STEP": a list that may only become shorter."""
    with open(HERE / "open.json", encoding="utf-8") as file:
        return set(json.load(file))
