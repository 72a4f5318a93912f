"""What a server answers to a case, and how that compares with what was recorded."""

import difflib
import json

from jsontext import canonical, remove, resolve, split_pointer
from normalizer import Normalizer
from play import Run, is_exchange


def narrow(document, step):
    """Keep only the elements or members a step asks to compare."""
    for rule in step.get("only", []):
        try:
            node = resolve(document, rule["at"])
        except (LookupError, ValueError):
            continue
        if "members" in rule and isinstance(node, dict):
            for key in [key for key in node if key not in rule["members"]]:
                del node[key]
        elif "values" in rule and isinstance(node, list):
            def wanted(item):
                try:
                    return resolve(item, rule.get("key", "")) in rule["values"]
                except (LookupError, ValueError):
                    return False
            node[:] = [item for item in node if wanted(item)]


def observe(client, case, hooks):
    """Run a case and return its normalized results and the order of its resourceVersions."""
    run = Run(client, case, hooks)
    run.execute()
    for step, result in zip(case["steps"], run.results):
        if result:
            narrow(result, step)
    normalizer = Normalizer(run)
    return [normalizer.apply(result) for result in run.results], normalizer.order()


def without_ignored(document, pointers):
    document = json.loads(json.dumps(document))
    for pointer in pointers:
        remove(document, split_pointer(pointer))
    return document


def compare(case, expected, order, actual, actual_order):
    """{step: (expected, actual)} of all that is compared: numbers from 1 on, and "order" of the resourceVersions."""
    compared = {}
    for number, (step, want, got) in enumerate(zip(case["steps"], expected, actual), 1):
        if is_exchange(step):
            pointers = case.get("ignore", []) + step.get("ignore", [])
            compared[str(number)] = without_ignored(want, pointers), without_ignored(got, pointers)
    if len(order) > 1:
        compared["order"] = order, actual_order
    return compared


def is_same(want, got):
    return canonical(want) == canonical(got)


def difference(want, got, names=("kube-apiserver", "annals")):
    def lines(value):
        return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).split("\n")

    return "\n".join(difflib.unified_diff(lines(want), lines(got), *names, n=4, lineterm=""))


def trouble(want, got, listed, names=("kube-apiserver", "annals")):
    """What is wrong with an answer, for people; None: nothing. listed: (status or None, why) where it is meant to differ, else None."""
    if listed is None:
        return None if is_same(want, got) else difference(want, got, names)
    status, why = listed
    if is_same(want, got):
        return f"listed as a deviation ({why}), but there is none any more"
    found = got.get("status") if isinstance(got, dict) else None
    wanted = status or (want.get("status") if isinstance(want, dict) else None)
    return None if found == wanted else f"deviates otherwise than {why}\n{difference(want, got, names)}"
