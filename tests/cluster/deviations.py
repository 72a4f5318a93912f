"""Where annals answers otherwise on purpose, each with its reason; docs/reference/deviations.md says more.

A deviation excuses only what it names: `applies` looks at both (normalised) answers.
"""

import dataclasses
import json
import re
import typing


@dataclasses.dataclass
class Deviation:
    why: str
    applies: typing.Callable  # (step, kube's answer, annals' answer)


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
    r"continue key is not valid", r"invalid JSON document", r"error in our request", r"delta from previous", r"is registered for version", r"StorageError",
]))


PATCH_SHOWN = re.compile(r'patch: Invalid value: "map\[.*": ', re.DOTALL)


def is_converters(step, kube, annals):
    """What is wrong with the outcome of a strategic patch is said to the letter; of the patch kube shows what it has not taken away while it merged lists."""
    if '"$' not in json.dumps(step.body):
        return False
    return without_texts(kube) == without_texts(annals) and PATCH_SHOWN.sub("", message(kube)) == PATCH_SHOWN.sub("", message(annals))


def is_go_text(step, kube, annals):
    if PATCH_SHOWN.search(message(kube)):
        return is_converters(step, kube, annals)
    return bool(GO_TEXTS.search(message(kube))) and without_texts(kube) == without_texts(annals)


def is_clients_mistake(step, kube, annals):
    return kube["status"] == 500 and annals["status"] in (400, 422)


def is_data_by_value(step, kube, annals):
    return kube["status"] == 422 and annals["status"] == 200 and re.search(r"\bdata: .*field is immutable", message(kube))


def asks_for(step, kind):
    return kind in (step.headers.get("Accept") or "")


def is_late_refusal(step, kube, annals):
    """kube notices that the form does not fit when it has the answer, which may then be another refusal."""
    return asks_for(step, "PartialObjectMetadataList") and annals["status"] == 406 and kube["status"] in (404, 422)


def lists_kinds(step):
    path = step.path.partition("?")[0].rstrip("/")
    return path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/") or path.startswith("/openapi/v3/")


def is_other_kinds(step, kube, annals):
    return lists_kinds(step) and kube["status"] == annals["status"] == 200


def is_health_report(step, kube, annals):
    path, _, query = step.path.partition("?")
    is_health = path.startswith(("/healthz", "/livez", "/readyz"))
    return is_health and (query.startswith("verbose") and kube["status"] == annals["status"] or path.endswith("/log"))


def is_bare_watch(step, kube, annals):
    return step.path.rstrip("/").endswith("/v1/watch") and kube["status"] == 500 and annals["status"] == 404


def is_left_behind(step, kube, annals):
    return kube["status"] == 404 and annals["status"] == 200


def without_differences(answer):
    """Of each message, what stands before a difference of Go structs."""
    return without_texts(answer), re.sub(r"\n@@ .*", "", message(answer), flags=re.DOTALL).split("`spec.containers")[0]


def is_go_difference(step, kube, annals):
    return "\n@@ " in message(kube) and without_differences(kube)[0] == without_differences(annals)[0] \
        and message(annals).startswith(without_differences(kube)[1].rstrip())


def without_column_texts(answer):
    columns = [{**column, "description": ""} for column in answer["body"].get("columnDefinitions") or []]
    return {**answer, "body": {**answer["body"], "columnDefinitions": columns}}


def is_column_text(step, kube, annals):
    return kube["status"] == annals["status"] in (200, 201) and without_column_texts(kube) == without_column_texts(annals)


def is_other_roles(step, kube, annals):
    return kube["status"] == annals["status"] == 201 and "resourceRules" in str(annals["body"])


def without(answer, name):
    """A review's answer without that part of its status."""
    status = answer["body"].get("status")
    return {**answer, "body": {**answer["body"], "status": {key: value for key, value in status.items() if key != name}}} if isinstance(status, dict) else answer


def is_unexplained(step, kube, annals):
    return "RBAC: allowed by" in str(kube["body"]) and without(kube, "reason") == annals


def is_without_audience(step, kube, annals):
    return without(kube, "audiences") == annals


def without_owners(answer):
    metadata = {name: value for name, value in answer["body"]["metadata"].items() if name != "managedFields"}
    return {**answer, "body": {**answer["body"], "metadata": metadata}}


def is_remembered(step, kube, annals):
    return kube["status"] == annals["status"] == 200 and without_owners(kube) == without_owners(annals)


def is_token_error(step, kube, annals):
    return "invalid bearer token" in kube["body"]["status"]["error"] and without(kube, "error") == without(annals, "error")


def without_taint(answer):
    body = answer["body"]
    spec = {name: value for name, value in body.get("spec", {}).items() if name != "taints"}
    return {**answer, "body": {**body, "spec": spec}}


def is_not_ready(step, kube, annals):
    return "node.kubernetes.io/not-ready" in json.dumps(kube["body"]) and without_taint(kube) == annals


GIVEN = re.compile(r"10\.0\.0\.\d+|:3\d{4}(?=/)")  # in a table: from the range of services, or a port of nodes


def without_given(node):
    """An answer without addresses and ports of nodes."""
    if isinstance(node, list):
        return [without_given(item) for item in node]
    if isinstance(node, dict):
        given = {"nodePort", "healthCheckNodePort", *(("clusterIP", "clusterIPs") if str(node.get("clusterIP", "")).startswith("10.0.0.") else ())}
        return {name: without_given(value) for name, value in node.items() if name not in given}
    return GIVEN.sub(lambda match: "" if match[0][0] == ":" else "<none>", node) if isinstance(node, str) else node


def is_without_addresses(step, kube, annals):
    kube, annals = without_given(kube), without_given(annals)
    return kube == annals or (isinstance(kube["body"], dict) and "columnDefinitions" in kube["body"] and is_column_text(step, kube, annals))


def is_unprotected(step, kube, annals):
    metadata = {name: value for name, value in kube["body"]["metadata"].items() if name != "finalizers"}
    return kube["body"]["metadata"].get("finalizers") == ["kubernetes.io/pv-protection"] and {**kube, "body": {**kube["body"], "metadata": metadata}} == annals


def is_unwarned(step, kube, annals):
    headers = {name: values for name, values in kube["headers"].items() if name != "warning"}
    return all("is deprecated since" in text for text in kube["headers"].get("warning", [])) and {**kube, "headers": headers} == annals


def is_unwarned_of_gone_types(step, kube, annals):
    headers = {name: values for name, values in kube["headers"].items() if name != "warning"}
    return all("non-functional in" in text for text in kube["headers"].get("warning", [])) and {**kube, "headers": headers} == annals


def is_affinity_kept(step, kube, annals):
    """Both refuse the change of the affinity, in words of their own."""
    return kube["status"] == annals["status"] == 422 and all("nodeAffinity" in json.dumps(it["body"]) and "field is immutable" in json.dumps(it["body"]) for it in (kube, annals))


GENERATION = "deprecated.daemonset.template.generation"


def without_generation(item):
    metadata = dict(item.get("metadata") or {})
    notes = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key != GENERATION}
    return {**item, "metadata": {**metadata, **({"annotations": notes} if notes else {})}}


def without_generations(answer):
    body = dict(answer["body"])
    if "rows" in body:
        body["rows"] = [{**row, "object": without_generation(row.get("object") or {})} for row in body["rows"] or []]
    if "items" in body:
        body["items"] = [without_generation(item) for item in body["items"] or []]
    return {**answer, "body": body}


def is_daemon_table(step, kube, annals):
    return is_column_text(step, without_generations(kube), without_generations(annals))


def without_owners(answer):
    metadata = {key: value for key, value in answer["body"]["metadata"].items() if key != "managedFields"}
    return {**answer, "body": {**answer["body"], "metadata": metadata}}


def is_generations_owner(step, kube, annals):
    """Nothing but managedFields differs, and the status was written without the annotation."""
    is_one = all(isinstance(answer["body"], dict) and answer["body"].get("kind") == "DaemonSet" for answer in (kube, annals))
    return is_one and GENERATION in json.dumps(kube["body"]) and without_owners(kube) == without_owners(annals)


def is_odd_annotation(step, kube, annals):
    return kube["status"] == 400 and annals["status"] == 422 and "must be a decimal number of 64 bits" in message(annals)


GO_TEXT = Deviation("the text is one of Go's parsers, or shows Go's types", is_go_text)
CLIENTS_MISTAKE = Deviation("500 says the server is broken, and alerts fire on it", is_clients_mistake)
DATA_BY_VALUE = Deviation("data that means the same may be written back", is_data_by_value)
MEDIA_TYPES = Deviation("lists of media types name others that annals does not have",
                        lambda step, kube, annals: kube["status"] in (406, 415)
                        and without_texts(kube) == without_texts(annals))
LATE_REFUSAL = Deviation("a refused request should have done nothing, so the form is looked at first", is_late_refusal)
OTHER_KINDS = Deviation("annals has other kinds, so other documents about them; storageVersionHash is that of another storage version", is_other_kinds)
HEALTH_REPORT = Deviation("other servers have other checks", is_health_report)
BARE_WATCH = Deviation("500 for a path that does not exist", is_bare_watch)
GO_DIFFERENCE = Deviation("the message ends with a difference of Go structs", is_go_difference)
ODD_ANNOTATION = Deviation("an annotation that must be a number is checked with all others, so that the answer names it", is_odd_annotation)
DAEMON_TABLE = Deviation("rows show the annotations that the object has, with that of the template's generation", is_daemon_table)
GENERATIONS_OWNER = Deviation("a writer of a status owns what it sent, and not the annotation that the server put back", is_generations_owner)
JOB_VALUES = Deviation("messages show values as the API has them, not as Go has them", lambda step, kube, annals: without_texts(kube) == without_texts(annals))
COLUMN_TEXTS = Deviation("columns are described in other words", is_column_text)
LEFT_BEHIND = Deviation("finalizers can be taken off objects left in a namespace that is gone", is_left_behind)
OTHER_ROLES = Deviation("what everybody may do is not kept as RBAC's roles here, so the list reads differently", is_other_roles)
TOKEN_ERROR = Deviation("other servers ask others about tokens, and their errors read differently", is_token_error)
UNEXPLAINED = Deviation("there are no roles to name as the reason", is_unexplained)
NO_AUDIENCE = Deviation("tokens are for this server and no other audience", is_without_audience)
NOT_READY_TAINT = Deviation("nobody here would take the taint off a node that has become ready", is_not_ready)
ADDRESSES = Deviation("nothing here leads an address or a port of a node to pods, so none is given", is_without_addresses)
UNPROTECTED = Deviation("nobody here would take the finalizer off, and volumes would never go", is_unprotected)
GONE_VOLUMES = Deviation("nobody here mounts volumes of types that no longer work", is_unwarned_of_gone_types)
AFFINITY_KEPT = Deviation("old names of labels are not replaced, and the message shows JSON", is_affinity_kept)
OLD_LABELS = Deviation("nobody here looks at labels of nodes", is_unwarned)
REMEMBERED = Deviation("who wrote through another group still owns what he wrote", is_remembered)

EVERYWHERE = [GO_TEXT, CLIENTS_MISTAKE, DATA_BY_VALUE, MEDIA_TYPES, LATE_REFUSAL, OTHER_KINDS, HEALTH_REPORT, BARE_WATCH]


def find(step, kube, annals):
    """The deviation that explains why the answers differ, or None."""
    known = ([step.deviates] if step.deviates else []) + EVERYWHERE
    return next((deviation for deviation in known if deviation.applies(step, kube, annals)), None)
