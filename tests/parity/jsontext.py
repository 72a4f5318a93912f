"""JSON as exchanges need it: the spelling of numbers and duplicate members stay visible; pointers; edits."""

import json
import re


def parse_json(text):
    """Parse a response: floats and -0 keep their spelling, duplicate keys become visible."""
    def pairs(items):
        out = {}
        for key, value in items:
            while key in out:
                key += " <duplicate>"
            out[key] = value
        return out
    return json.loads(text, object_pairs_hook=pairs, parse_float=lambda s: "<number:%s>" % s,
                      parse_int=lambda s: "<number:-0>" if s == "-0" else int(s),
                      parse_constant=lambda s: "<constant:%s>" % s)


def canonical(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def split_pointer(pointer):
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise ValueError("bad JSON pointer %r" % pointer)
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def resolve(node, pointer):
    """The value at a JSON pointer; LookupError when there is none.

    In a list, KEY=VALUE is the first element in which KEY (a.b goes deeper) has that value.
    """
    for part in split_pointer(pointer):
        if isinstance(node, list):
            node = node[int(part)] if part.isdigit() else node[find(node, part)]
        elif isinstance(node, dict):
            node = node[part]
        else:
            raise LookupError(part)
    return node


def find(items, part):
    """The index of an element of a list, given as text or as KEY=VALUE."""
    key, equals, value = part.partition("=")
    for index, item in enumerate(items if equals else []):
        for name in key.split("."):
            item = item.get(name) if isinstance(item, dict) else None
        if item == value:
            return index
    try:
        return items.index(part)
    except ValueError:
        raise LookupError(part) from None


def remove(node, parts):
    """Delete what a split pointer names; '*' stands for every member or element."""
    head, rest = parts[0], parts[1:]
    if isinstance(node, dict):
        for key in list(node) if head == "*" else [head] if head in node else []:
            if rest:
                remove(node[key], rest)
            else:
                del node[key]
    elif isinstance(node, list):
        indexes = range(len(node)) if head == "*" else [int(head)] if head.isdigit() and int(head) < len(node) else []
        for index in reversed(indexes):
            if rest:
                remove(node[index], rest)
            else:
                del node[index]


def edit(value, changes):
    """Apply {"set": {pointer: value}, "remove": [pointer]} to a copy of value."""
    value = json.loads(json.dumps(value))
    for pointer, new in changes.get("set", {}).items():
        parts = split_pointer(pointer)
        node = value
        for part in parts[:-1]:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        if isinstance(node, list):
            node.insert(int(parts[-1]), new) if int(parts[-1]) == len(node) else node.__setitem__(int(parts[-1]), new)
        else:
            node[parts[-1]] = new
    for pointer in changes.get("remove", []):
        remove(value, split_pointer(pointer))
    return value


def lexeme(text, key):
    """The exact spelling of one top-level member of a JSON object."""
    decoder = json.JSONDecoder()
    skip = re.compile(r"[\s,:]*")
    position = skip.match(text, text.index("{") + 1).end()
    while text[position] != "}":
        name, position = decoder.raw_decode(text, position)
        start = skip.match(text, position).end()
        _, position = decoder.raw_decode(text, start)
        if name == key:
            return text[start:position]
        position = skip.match(text, position).end()
    return None
