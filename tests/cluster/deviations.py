"""Where annals answers otherwise on purpose, each with its reason; docs/deviations.md says more.

A deviation excuses only what it names: `applies` looks at both (normalised) answers.
"""

import dataclasses
import re
import typing


@dataclasses.dataclass
class Deviation:
    why: str
    applies: typing.Callable  # (step, kube's answer, annals' answer)
    everywhere: bool = True  # else only at steps that name it


def message(answer):
    body = answer.get("body")
    return str(body.get("message", "")) if isinstance(body, dict) else str(body or "")


def reason(answer):
    return answer["body"].get("reason") if isinstance(answer.get("body"), dict) else None


def without_texts(answer):
    """Messages may differ: what remains must not."""
    body = answer.get("body")
    if not isinstance(body, dict) or "message" not in body:
        return answer
    details = dict(body.get("details") or {})
    details["causes"] = [{**cause, "message": ""} for cause in details.get("causes") or []]
    return {**answer, "body": {**body, "message": "", "details": details}}


GO_TEXTS = re.compile("|".join([
    r"strconv\.", r"json: ", r"cannot unmarshal", r"invalid character", r"unexpected end of JSON", r"error decoding", r"json patch", r"jsonpatch",
    r"unable to decode", r"into Go ", r"\bv1\.\w+", r"map\[", r"yaml: ", r"unable to parse", r"couldn't get version/kind", r"illegal base64",
    r"converting \(", r"base64", r"ReadObject", r"ReadString", r"readObject", r"expect ", r"unexpected EOF", r"\*\w+\.\w+", r"must be one of",
    r"continue key is not valid", r"invalid JSON document", r"error in our request", r"delta from previous",
]))


def is_go_text(step, kube, annals):
    return bool(GO_TEXTS.search(message(kube))) and without_texts(kube) == without_texts(annals)


def is_clients_mistake(step, kube, annals):
    return kube["status"] == 500 and annals["status"] in (400, 422)


def is_data_by_value(step, kube, annals):
    return kube["status"] == 422 and annals["status"] == 200 and re.search(r"\bdata: .*field is immutable", message(kube))


GO_TEXT = Deviation("the text is one of Go's parsers, or shows Go's types", is_go_text)
CLIENTS_MISTAKE = Deviation("500 says the server is broken, and alerts fire on it", is_clients_mistake)
DATA_BY_VALUE = Deviation("data that means the same may be written back", is_data_by_value)
MEDIA_TYPES = Deviation("lists of media types name protobuf and others that annals does not have",
                        lambda step, kube, annals: "media type" in message(kube) + " media type" and kube["status"] in (406, 415)
                        and without_texts(kube) == without_texts(annals))

EVERYWHERE = [GO_TEXT, CLIENTS_MISTAKE, DATA_BY_VALUE, MEDIA_TYPES]


def find(step, kube, annals):
    """The deviation that explains why the answers differ, or None."""
    known = ([step.deviates] if step.deviates else []) + EVERYWHERE
    return next((deviation for deviation in known if deviation.applies(step, kube, annals)), None)
