"""What a server answers to a case, and how that compares with what was recorded."""

import difflib
import json
import re

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


def put_in_order(document):
    """Sort the errors of a Status and the warnings, which some validations of kube-apiserver give in random order."""
    if isinstance(warnings := document.get("headers", {}).get("Warning"), list):
        warnings.sort()
    body = document.get("body")
    if isinstance(body, dict) and body.get("kind") == "Status":
        if match := re.fullmatch(r"(.* is invalid: \[)(.*)(\])", str(body.get("message")), re.S):
            head, errors, tail = match.groups()
            body["message"] = head + ", ".join(sorted(errors.split(", "))) + tail
        if isinstance((body.get("details") or {}).get("causes"), list):
            body["details"]["causes"].sort(key=canonical)


def observe(client, case, hooks):
    """Run a case and return its normalized results and the order of its resourceVersions."""
    run = Run(client, case, hooks)
    run.execute()
    for step, result in zip(case["steps"], run.results):
        if result:
            narrow(result, {"only": run.expand_json(step.get("only", []))})
    normalizer = Normalizer(run)
    results = [None if step.get("setup") else normalizer.apply(result) for step, result in zip(case["steps"], run.results)]
    if case.get("unordered"):
        for result in results:
            put_in_order(result or {})
    return results, normalizer.order()


# kube-apiserver's controllers write a definition once or twice after its creation; annals establishes it in that write
# (docs/reference/deviations.md). So versions of a definition have no numbers here.
DEFINITION_VERSION = re.compile(r"(<rv:(?:not before )?[a-z]+\.<ns>[-a-z0-9]*\.example\.com#\d+)\.\d+>")


def without_definition_versions(document):
    return json.loads(DEFINITION_VERSION.sub(r"\1>", json.dumps(document, ensure_ascii=False)))


def order_of_objects(order):
    return [label for label in order if not re.match(r"[a-z]+\.<ns>[-a-z0-9]*\.example\.com#", label)]


def without_ignored(document, pointers):
    document = json.loads(json.dumps(document))
    for pointer in pointers:
        remove(document, split_pointer(pointer))
    return document


def compare(case, expected, order, actual, actual_order):
    """{step: (expected, actual)} of all that is compared: numbers from 1 on, and "order" of the resourceVersions."""
    compared = {}
    for number, (step, want, got) in enumerate(zip(case["steps"], expected, actual), 1):
        if is_exchange(step) and not step.get("setup"):
            pointers = case.get("ignore", []) + step.get("ignore", [])
            want, got = without_ignored(want, pointers), without_ignored(got, pointers)
            compared[str(number)] = without_definition_versions(want), without_definition_versions(got)
    if len(order_of_objects(order)) > 1:
        compared["order"] = order_of_objects(order), order_of_objects(actual_order)
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
