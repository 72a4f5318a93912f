#!/usr/bin/env python3
"""Writes docs/reference/api/: a page for each kind in each of its API versions, one for the types they share, and an index."""

import collections
import pathlib
import sys

import declared
import page
import states

FOLDER = "docs/reference/api"
MADE_FROM = "the declarations in api/kinds"
SHARED = "types.md"
# Manifests that tests/integration/test_reference.py creates.
EXAMPLES = pathlib.Path(__file__).resolve().parent / "examples"
SCALARS = {
    "string": "string", "bool": "boolean", "int32": "integer (32 bits)", "int64": "integer (64 bits)", "time": "time",
    "microTime": "time (microseconds)", "bytes": "bytes (base64)", "intOrString": "integer or string", "quantity": "quantity",
    "raw": "any JSON", "fieldsV1": "set of fields",
}
NAME_RULES = {
    "subdomain": "a DNS subdomain: at most 253 lower-case letters, digits, `-` and `.`",
    "label": "a DNS label: at most 63 lower-case letters, digits and `-`",
    "segment": "anything that can be part of a path: neither `.` nor `..`, without `/` and `%`",
}
DEPENDENTS = {
    "deleted": "deleted in the background, unless the request says otherwise",
    "orphaned": "left alone, unless the request says otherwise",
    "ignored": "not looked at: the kind takes no part in garbage collection",
}
VERB_ORDER = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


def group_of(version):
    return version["group"] or "core"


def api_version(version):
    return f'{version["group"]}/{version["version"]}' if version["group"] else version["version"]


def file_of(kind, version):
    return f'{group_of(version)}_{version["version"]}_{kind["kind"].lower()}.md'


def is_annals(version):
    return version["group"] == "annals.dev"


# ---- types ----


def object_in(type_):
    """The object type that it is, or that its items and values are."""
    while "elem" in type_:
        type_ = declared.type_of(type_["elem"])
    return type_ if type_["kind"] == "object" else None


def shared_definitions():
    """Those that more than one kind uses, and those within them: {definition: type}"""
    users = collections.defaultdict(set)

    def walk(type_, kind, within):
        found = object_in(type_)
        name = found and found.get("definition", "")
        if not found or name in within:
            return
        users[name].add(kind)
        for field in found["fields"]:
            walk(declared.type_of(field["type"]), kind, within | {name} - {""})

    tops = set()
    for kind, version in declared.versions():
        type_ = declared.type_of(version["type"])
        tops.add(type_.get("definition"))
        walk(type_, kind["kind"], frozenset())
    by_name = {}
    for type_ in declared.declarations()["types"]:
        name = type_.get("definition", "")
        if name and type_["kind"] == "object" and len(users[name]) > 1 and name not in tops and not name.startswith("dev.annals."):
            by_name.setdefault(name, type_)
    return by_name


def type_text(type_, shared, is_on_shared=False):
    if type_["kind"] == "list":
        return "list of " + type_text(declared.type_of(type_["elem"]), shared, is_on_shared)
    if type_["kind"] == "map":
        return "map of " + type_text(declared.type_of(type_["elem"]), shared, is_on_shared)
    if type_["kind"] == "object":
        if type_.get("definition") not in shared:
            return "object"
        name = declared.short_name(type_)
        return f'[{name}]({"" if is_on_shared else SHARED}#{name.lower()})'
    return SCALARS[type_["kind"]]


def notes(field, type_):
    """What stands behind the description."""
    found = []
    if type_["kind"] == "list" and type_["listType"] == "map":
        keys = ", ".join(f"`{key}`" for key in type_["listKeys"])
        found.append(f"No two items have the same {keys}.")
    if type_["kind"] == "list" and type_["listType"] == "set":
        found.append("No item comes twice.")
    return found


def field_rows(type_, shared, prefix="", is_on_shared=False):
    for field in type_["fields"]:
        inner = declared.type_of(field["type"])
        path = prefix + field["name"]
        need = "required" if field.get("mandatory") else f'`{field["default"]}`' if "default" in field else ""
        text = " ".join([page.plain(field["doc"]), *notes(field, inner)])
        yield [f"`{path}`", type_text(inner, shared, is_on_shared), need, text]
        found = object_in(inner)
        if found and found.get("definition") not in shared:
            behind = {"list": "[]", "map": ".*"}.get(inner["kind"], "")
            yield from field_rows(found, shared, f"{path}{behind}.", is_on_shared)


FIELDS = ["field", "type", "default", "description"]


# ---- a kind ----


def verbs_text(verbs):
    return ", ".join(verb for verb in VERB_ORDER if verb in verbs)


def facts(kind, version):
    short = f' (short: {", ".join(f"`{name}`" for name in kind["shortNames"])})' if kind["shortNames"] else ""
    root = ("/apis/" if version["group"] else "/api/") + api_version(version)
    yield "API version", f"`{api_version(version)}`"
    yield "resource", f'`{kind["resource"]}`{short}'
    if kind["categories"]:
        yield "categories", ", ".join(f"`{name}`" for name in kind["categories"])
    yield "path", f'`{root}{"/namespaces/NAMESPACE" if kind.get("namespaced") else ""}/{kind["resource"]}`'
    yield "scope", "namespaced" if kind.get("namespaced") else "cluster"
    yield "served by", "`annals up` and `annals serve --standalone`" if version.get("standaloneOnly") else "every server"
    yield "verbs", verbs_text(kind["verbs"])
    if kind.get("answered"):
        yield "stored", "no: the server answers the object, and keeps nothing"
    else:
        yield "names", NAME_RULES[kind["nameRule"]]
        yield "objects that it owns, when it is deleted", DEPENDENTS[kind["dependents"]]
    if kind.get("expires"):
        yield "lifetime", "as `--event-ttl` says, from its last write"
    if "deprecation" in version:
        yield "deprecated", version["deprecation"]


def columns_rows(kind, version):
    for column in kind["columns"]:
        if not column.get("annalsOnly") or is_annals(version):
            # Upstream's descriptions of a name and an age are whole paragraphs.
            is_upstreams = column["name"] in ("Name", "Age")
            doc = column["doc"].partition(". ")[0] + "." if is_upstreams else column["doc"]
            yield [column["name"].upper(), "`-o wide`" if column.get("wide") else "always", page.plain(doc)]


def selectors(kind, version):
    yield "metadata.name"
    if kind.get("namespaced"):
        yield "metadata.namespace"
    for field in kind["selectable"]:
        if not field.get("annalsOnly") or is_annals(version):
            yield version["fieldAliases"].get(field["path"], field["path"])


def subresource_rows(kind, version):
    for sub in kind["subresources"]:
        if sub.get("annalsOnly") and not is_annals(version):
            continue
        body = "the object itself"
        if sub.get("diff"):
            body = "a patch from the object that `?from=` names to this one: JSON Patch or merge patch, by `Accept`"
        elif "viewKind" in sub:
            body = f'{sub["viewKind"]} (`{"/".join(filter(None, [sub["viewGroup"], sub["viewVersion"]]))}`)'
        yield [f'`{sub["name"]}`', verbs_text(sub["verbs"]), body]


def others(kind, version):
    """The same objects in other API versions."""
    for other in kind["versions"]:
        if other is not version:
            yield f"[{api_version(other)}]({file_of(kind, other)})"


def kind_page(kind, version, shared):
    type_ = declared.type_of(version["type"])
    text = ["For people who write or read objects of this kind.", "", type_["doc"], ""]
    found = list(others(kind, version))
    if found:
        text += [f'The same objects are readable and writable in other API versions: {", ".join(found)}.', ""]
    text += [page.table(["", ""], [[f"**{name}**", value] for name, value in facts(kind, version)]), ""]
    example = EXAMPLES / file_of(kind, version).replace(".md", ".yaml")
    if example.exists():
        text += ["## Example", "", "```yaml", example.read_text().rstrip(), "```", ""]
    text += ["## Fields", "", page.table(FIELDS, field_rows(type_, shared)), ""]
    if kind["columns"]:
        text += ["## Columns", "", "`kubectl get` shows:", "", page.table(["column", "shown", "description"], columns_rows(kind, version)), ""]
    if "list" in kind["verbs"]:
        names = ", ".join(f"`{name}`" for name in selectors(kind, version))
        text += ["## Field selectors", "", f"`--field-selector` takes {names}.", ""]
        for reference in kind["references"]:
            text += [f'`{reference["prefix"]}NAME=true` selects the objects that refer to the {reference["kind"]} NAME.', ""]
    rows = list(subresource_rows(kind, version))
    if rows:
        text += ["## Subresources", "", page.table(["subresource", "verbs", "body"], rows), ""]
    rows = list(states.condition_rows(kind["kind"]))
    if rows:
        text += ["## Conditions", "", page.table(states.CONDITION_HEAD, rows), ""]
    return "\n".join(text)


# ---- the whole ----


def shared_page(shared):
    text = ["For people who write or read objects: the types that several kinds have in common.", ""]
    for name, type_ in sorted(shared.items(), key=lambda item: (declared.short_name(item[1]).lower(), item[0])):
        text += [f"## {declared.short_name(type_)}", "", f"`{name}`: {page.plain(type_.get('doc', ''))}", ""]
        text += [page.table(FIELDS, field_rows(type_, shared, is_on_shared=True)), ""]
    return "\n".join(text)


def index_rows(is_wanted):
    found = [(kind, version) for kind, version in declared.versions() if is_wanted(version)]
    for kind, version in sorted(found, key=lambda pair: (group_of(pair[1]), pair[1]["version"], pair[0]["kind"])):
        names = ", ".join([f'`{kind["resource"]}`', *(f"`{name}`" for name in kind["shortNames"])])
        note = "deprecated" if "deprecation" in version else "answered, not stored" if kind.get("answered") else ""
        yield [f"[{kind['kind']}]({file_of(kind, version)})", api_version(version), names, "yes" if kind.get("namespaced") else "no", note, kind["doc"]]


INDEX = """
For people who look for a kind or a field.

    kubectl explain recorder.spec.resources

says the same in a terminal. The types that several kinds have in common are on [a page of their own]({shared}).
`make docs` writes OpenAPI documents into the folder `openapi/`: `swagger.json` (v2) and `v3/` (one for each
group and version). A server answers the same at `/openapi/v2` and `/openapi/v3`.

## Kinds of annals, which every server serves

{annals}

## Kinds of Kubernetes, which `annals up` and `annals serve --standalone` serve

Behind a kube-apiserver these are that server's.

{others}
"""


def main(root):
    shared = shared_definitions()
    for kind, version in declared.versions():
        page.write(root, f"{FOLDER}/{file_of(kind, version)}", f'{kind["kind"]} ({api_version(version)})', MADE_FROM, kind_page(kind, version, shared))
    page.write(root, f"{FOLDER}/{SHARED}", "Types that kinds share", MADE_FROM, shared_page(shared))
    head = ["kind", "API version", "resource", "namespaced", "", "what it is"]
    text = INDEX.format(shared=SHARED, annals=page.table(head, index_rows(is_annals)), others=page.table(head, index_rows(lambda version: not is_annals(version))))
    page.write(root, f"{FOLDER}/README.md", "API reference", MADE_FROM, text)


if __name__ == "__main__":
    main(page.root_of(sys.argv))
