#!/usr/bin/env python3
"""Makes C of what api/upstream knows about Kubernetes' types: the facts (*.facts, made by tools/upstream.py) and what is ours (*.words).

usage: compile-schemas.py OUTPUT.c HEADER.h FILE...

Types that the header names are for everybody, and with them comes what they reach; the rest is left out. docs/development/upstream.md explains both
kinds of files."""
import collections
import json
import pathlib
import re
import sys

PAGE = "https://kubernetes.io/docs/reference/generated/kubernetes-api/"
SHARED = {
    "string": "type_string", "bool": "type_bool", "int32": "type_int32", "int64": "type_int64", "[]byte": "type_bytes",
    "meta/v1.ObjectMeta": "type_embedded_meta", "meta/v1.ListMeta": "type_list_meta", "meta/v1.Time": "type_time",
    "meta/v1.MicroTime": "type_micro_time", "resource.Quantity": "type_quantity", "intstr.IntOrString": "type_int_or_string",
    "runtime.RawExtension": "type_raw", "core/v1.ObjectReference": "type_object_reference",
    "[]string": "type_string_list", "map[string]string": "type_string_map",
}
META = [("kind", "What kind of object this is."), ("apiVersion", "The version of the API in which the object is written.")]
METADATA = "What every object has: names, versions, labels, owners."
# Amounts in lists of resources are rounded up to thousandths.
ROUNDED = {"core/v1.ResourceList"}
# Structs of Go that are no pointers are written even when they are empty, whatever omitempty says.
VALUES = {"meta/v1.ObjectMeta", "meta/v1.ListMeta", "meta/v1.Time", "meta/v1.MicroTime", "resource.Quantity", "intstr.IntOrString", "runtime.RawExtension"}

Struct = collections.namedtuple("Struct", "package name is_atomic embedded fields home")
Field = collections.namedtuple("Field", "name type number options package")
Words = collections.namedtuple("Words", "doc fields")


def fail(text):
    sys.exit(f"compile-schemas.py: {text}")


def package_of(path):
    return pathlib.Path(path).stem.replace("-", "/")


def read_field(line, package):
    name, go, number, *rest = line.split(" ", 3)
    options = {}
    for option in re.findall(r'(?:[^\s"]|"[^"]*")+', rest[0] if rest else ""):
        key, _, value = option.partition("=")
        options[key] = value
    return Field(name, go, number, options, package)


def read_facts(path, structs):
    package, version = package_of(path), ""
    for line in pathlib.Path(path).read_text().split("\n"):
        if line.startswith("#"):
            version = re.search(r"v1\.\d+", line)[0]
        elif line.startswith("\tembedded "):
            structs[current] = structs[current]._replace(embedded=line.split()[1])
        elif line.startswith("\t"):
            structs[current].fields.append(line[1:] if line == "\tTypeMeta" else read_field(line[1:], package))
        elif line:
            current = (package, line.split()[0])
            structs[current] = Struct(package, current[1], line.endswith(" atomic"), None, [], None)
    return version


def read_words(path, structs, words):
    package = package_of(path)
    for n, line in enumerate(pathlib.Path(path).read_text().split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        if m := re.match(r"(\w+)(?: as (type_\w+))?(?: in ([\w.]+))?: (.*)$", line):
            kind = (package, m[1])
            if kind not in structs:
                fail(f"{path}:{n}: the facts have no {m[1]}")
            if m[2]: # another form of it: the same fields, and more
                fields = [f if f == "TypeMeta" else f._replace(options=dict(f.options)) for f in structs[kind].fields]
                structs[package, m[2]] = structs[kind]._replace(fields=fields, home=m[3])
                words[package, m[2]] = Words(m[4], dict(words[kind].fields))
                kind = (package, m[2])
            else:
                words[kind] = Words(m[4], {})
        elif m := re.match(r"\t\+ (\w+ \S+ \S+(?: [^:]*)?): (.*)$", line):
            field = read_field(m[1], package)
            structs[kind].fields.append(field)
            words[kind].fields[field.name] = (None, m[2])
        elif m := re.match(r"\t(\w+)(?: = (\S+))?(?: \[(.*?)\])?(?:: (.*))?$", line):
            fields = [f for f in structs[kind].fields if f != "TypeMeta" and f.name == m[1]]
            if not fields:
                fail(f"{path}:{n}: the facts have no {kind[1]}.{m[1]}")
            fields[0].options.update(option.partition("=")[::2] for option in (m[3] or "").split())
            words[kind].fields[m[1]] = (m[2], m[4])
        else:
            fail(f"{path}:{n}: what is this?")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def symbol(package, name):
    group = package.split("/")[0]
    return "type_" + ("" if group in ("core", "meta") else group + "_") + snake(name)


def definition(package, name):
    group, version = package.split("/")
    return (f"io.k8s.apimachinery.pkg.apis.meta.{version}." if group == "meta" else f"io.k8s.api.{group}.{version}.") + name


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


class Compiler:
    def __init__(self, structs, words, version, public):
        self.structs, self.words, self.version, self.public = structs, words, version, public
        self.out, self.made = [], {}

    def is_public(self, name):
        return name in self.public

    def row(self, name, text):
        self.out.append(f"{'' if self.is_public(name) else 'static '}const struct type {name} = {text};")

    def once(self, name, text):
        if name not in self.made:
            self.made[name] = True
            self.row(name, text)
        return name

    def plain(self, go, package, atomic=False, granular=False):
        """The C name of a type, which is written out where it is met first."""
        if atomic and go == "map[string]string":
            return self.once("atomic_string_map", "{.kind = TYPE_MAP, .elem = &type_string, .is_atomic = true}")
        go = go.removeprefix("*")
        full = go if "." in go.partition("(")[0] else f"{package}.{go}"
        if full == "core/v1.ObjectReference" and granular:
            return "type_granular_object_reference"
        if go in SHARED or full in SHARED:
            return SHARED.get(go) or SHARED[full]
        if go.startswith("[]"):
            elem = self.plain(go[2:], package)
            return self.once("list_" + elem.removeprefix("type_"), "{.kind = TYPE_LIST, .elem = &%s}" % elem)
        if go.startswith("map["):
            key, _, value = go[4:].partition("]")
            elem = self.plain(value, package)
            if key == "string":
                return self.once("map_" + elem.removeprefix("type_"), "{.kind = TYPE_MAP, .elem = &%s}" % elem)
            version, value = package.split("/")[1], value.partition("(")[0]
            return self.once(f"map_{snake(key)}_" + elem.removeprefix("type_"), "{.kind = TYPE_MAP, .go_type = %s, .elem = &%s}" % (
                quoted(f"map[{version}.{key}]{value if '.' in value else version + '.' + value}"), elem))
        home, _, name = full.partition("(")[0].rpartition(".")
        if "(" in go:
            return self.named(home, name, re.search(r"\((.*)\)$", go)[1])
        return self.struct(home, name, "TypeMeta" in self.structs[home, name].fields)

    def named(self, home, name, basic):
        go_type = quoted("types.UID" if home == "types" else f"{home.split('/')[-1]}.{name}")
        c = symbol(home, name)
        if basic == "string":
            return self.once(c, "{.kind = TYPE_STRING, .go_type = %s}" % go_type)
        if basic.startswith("map["):
            if f"{home}.{name}" in ROUNDED:
                elem = self.once("type_rounded_quantity",
                    '{.kind = TYPE_QUANTITY, .definition = "io.k8s.apimachinery.pkg.api.resource.Quantity", .go_type = "resource.Quantity", '
                    '.doc = "An amount with an optional unit, such as 1.5, 250m or 64Mi.", .is_rounded = true}')
            else:
                elem = self.plain(basic.split("]", 1)[1], home)
            return self.once(c, "{.kind = TYPE_MAP, .go_type = %s, .elem = &%s}" % (go_type, elem))
        if basic.startswith("[]"):
            return self.once(c, "{.kind = TYPE_LIST, .go_type = %s, .elem = &%s}" % (go_type, self.plain(basic[2:], home)))
        fail(f"{home}.{name} is a {basic}")

    def keyed(self, field):
        form, _, keys = field.options["list"].partition(":")
        elem = self.plain(field.type.removeprefix("*")[2:], field.package)
        name = elem.removeprefix("type_")
        if form == "set":
            return "type_string_set" if name == "string" else self.once("set_" + name, "{.kind = TYPE_LIST, .elem = &%s, .list_type = LIST_SET}" % elem)
        names = keys.split(",")
        return self.once(f"list_{name}_by_" + "_".join(map(snake, names)),
            "{.kind = TYPE_LIST, .elem = &%s, .list_type = LIST_MAP, .list_keys = (const char *const[]){%s, NULL}}" %
            (elem, ", ".join(map(quoted, names))))

    def is_struct(self, go, package):
        full = go if "." in go else f"{package}.{go}"
        return full in VALUES or (full.rpartition(".")[0], full.rpartition(".")[2]) in self.structs

    def flags(self, field, default):
        options, flags = field.options, []
        is_value = self.is_struct(field.type, field.package)
        if "omitzero" in options:
            flags.append("FIELD_BY_VALUE")
        elif is_value or "omitempty" not in options:
            flags.append("FIELD_ALWAYS")
        if "required" in options:
            flags.append("FIELD_MANDATORY")
        strategies = options.get("patch", "").split(":")[0].split(",")
        flags += ["FIELD_PATCH_MERGE"] if "merge" in strategies else []
        flags += ["FIELD_RETAIN_KEYS"] if "retainKeys" in strategies else []
        flags += ["FIELD_KEEP_EMPTY"] if field.type.startswith("*") else []
        flags += ["FIELD_SILENT_DEFAULT"] if default else []
        if field.number != "-":
            within, _, number = field.number.rpartition(".")
            flags.append(f"FIELD_NUMBER_IN({within}, {number})" if within else f"FIELD_NUMBER({number})")
        return " | ".join(flags) or "0"

    def page(self, package, name):
        group, version = package.split("/")
        return f"{PAGE}{self.version}/#{name.lower()}-{version}-{group}"

    def field(self, owner, field, words, is_object):
        default, doc = words.fields.get(field.name, (None, None))
        if "type" in field.options:
            c = self.struct(field.package, field.options["type"])
        elif "list" in field.options:
            c = self.keyed(field)
        else:
            c = self.plain(field.type, field.package, field.options.get("map") == "atomic", field.options.get("struct") == "granular")
        key = field.options.get("patch", "").partition(":")[2]
        value = default or field.options.get("default")
        if field.name == "metadata" and "TypeMeta" in owner.fields:
            doc = doc or METADATA
        doc = doc or f"See {self.page(owner.package, owner.name)}."
        return '\t{%s, &%s, %s, %s, %s, %s},' % (quoted(field.name), c, self.flags(field, default), quoted(doc),
            quoted(key) if key else "NULL", quoted(value) if value else "NULL")

    def struct(self, package, name, is_embedded=False):
        """Of a whole object within another, nothing is the server's."""
        c = name if name.startswith("type_") else symbol(package, name)
        c = c.replace("type_", "type_embedded_", 1) if is_embedded else c
        if c in self.made:
            return c
        if (package, name) not in self.structs:
            fail(f"the facts have no {package} {name}")
        self.made[c] = True
        struct, words = self.structs[package, name], self.words.get((package, name), Words(None, {}))
        is_object = "TypeMeta" in struct.fields and not is_embedded
        rows = []
        for field in struct.fields:
            if field == "TypeMeta":
                rows += [] if is_object else [f'\t{{"{n}", &type_string, 0, {quoted(text)}, NULL, NULL}},' for n, text in META]
                continue
            if is_object and field.type == "meta/v1.ObjectMeta":
                rows.append("\tOBJECT_FIELDS_METADATA(%s)," % ("FIELD_MANDATORY" if "required" in field.options else "0"))
            else:
                rows.append(self.field(struct, field, words, is_object))
        doc = words.doc or f"See {self.page(package, struct.name)}."
        self.out.append("static const struct field %s_fields[] = {\n%s\n\t{0},\n};" % (c, "\n".join(rows)))
        self.row(c, "{\n\t.kind = TYPE_OBJECT,\n\t.definition = %s,\n\t.go_type = %s,\n\t.doc = %s,\n%s%s\t.fields = %s_fields,\n}" % (
            quoted(f"{struct.home}.{struct.name}" if struct.home else definition(package, struct.name)),
            quoted(f"{struct.home.split('.')[-1] if struct.home else package.split('/')[1]}.{struct.name}"), quoted(doc),
            "\t.is_atomic = true,\n" if struct.is_atomic else "",
            f"\t.embedded = {quoted(struct.embedded)},\n" if struct.embedded else "", c))
        return c


def main():
    if len(sys.argv) < 4:
        fail("usage: compile-schemas.py OUTPUT.c HEADER.h FILE...")
    output, header, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    structs, words, version = {}, {}, ""
    for path in files:
        version = read_facts(path, structs) if path.endswith(".facts") else version
    for path in files:
        if path.endswith(".words"):
            read_words(path, structs, words)
    public = set(re.findall(r"\btype_\w+", re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)))
    compiler = Compiler(structs, words, version, public)
    for package, name in sorted(structs):
        c = name if name.startswith("type_") else symbol(package, name)
        if c in public:
            compiler.struct(package, name)
        if c.replace("type_", "type_embedded_", 1) in public:
            compiler.struct(package, name, True)
    named = {symbol(p, n): (p, n, b) for s in structs.values() for f in s.fields if f != "TypeMeta"
        for p, n, b in [(m[1] or f.package, m[2], m[3]) for m in re.finditer(r"(?:([\w/]+)\.)?(\w+)\((.*)\)", f.type)]}
    for name in sorted(public - set(compiler.made)):
        if name not in named:
            fail(f"{header} names {name}, which no type of the facts is called")
        compiler.named(*named[name])
    pathlib.Path(output).write_text("/* Made by tools/compile-schemas.py of the facts and words in api/upstream. */\n"
        '#include "api/upstream/upstream.h"\n\n#include "api/model/schema.h"\n\n' + "\n".join(compiler.out) + "\n")


if __name__ == "__main__":
    main()
