"""Reads C as far as its string literals go: calls and table rows, with comments left out and literals put together."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])*')
      | (?P<word>\w+)
      | (?P<space>(?:\s|\\\n)+)
      | (?P<mark>.)""",
    re.X | re.S,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "r": "\r", "0": "\0"}
# Macros of formats, which stand between literals: "object " STR_FMT " is gone".
FORMAT = re.compile(r"STR_FMT|PRI[diuxX]\w+")
WRAPPED = re.compile(r'^#\s*define\s+(\w+)\((\w+)\)\s+("[^"\n]*")\s+\2\s*$', re.M)


def unescaped(literal):
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[0]), literal[1:-1])


class Text(str):
    """What a string literal says, or several that stand side by side."""


def tokens(text):
    """Words and marks as str, literals as Text. Macros that put a prefix before a literal are followed."""
    for name, _, prefix in WRAPPED.findall(text):
        text = re.sub(rf"\b{name}\((\"[^\"\n]*\")\)", rf"{prefix} \1", text)
    found = []
    is_open = False  # does the last token go on with the next literal?
    for match in TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind in ("comment", "space"):
            continue
        if kind == "string":
            literal = unescaped(value)
            if is_open:
                found[-1] = Text(found[-1] + literal)
            else:
                found.append(Text(literal))
            is_open = True
        elif kind == "word" and FORMAT.fullmatch(value) and is_open:
            found[-1] = Text(found[-1] + "%s" if value == "STR_FMT" else found[-1] + "d")
        else:
            is_open = False
            found.append(value)
    return found


def files(pattern="*.c", folder=None):
    """Paths of the rooms' source, sorted, relative to the project's folder; or of one folder and those in it."""
    rooms = re.search(r"^rooms = \[(.*?)^\]", (ROOT / "meson.build").read_text(), re.M | re.S)[1]
    tops = [folder] if folder else sorted({room.split("/")[0] for room in re.findall(r"'([^']+)'", rooms)})
    return sorted(path.relative_to(ROOT).as_posix() for top in tops for path in (ROOT / top).rglob(pattern))


def read(name):
    return (ROOT / name).read_text()


def texts():
    return [(name, read(name)) for name in files()]


def arguments(found, at):
    """The lists of tokens between commas, of what opens at found[at]; and where it closes."""
    depth, lists = 0, [[]]
    for i in range(at, len(found)):
        token = found[i]
        is_mark = not isinstance(token, Text)
        if is_mark and token in "([{":
            depth += 1
            if depth == 1:
                continue
        elif is_mark and token in ")]}":
            depth -= 1
            if depth == 0:
                return lists, i
        if depth == 1 and is_mark and token == ",":
            lists.append([])
        else:
            lists[-1].append(token)
    raise ValueError("what opens here never closes")


def groups(found, names=None):
    """Of each call, or with names None also of each initializer, its name ("" of an initializer) and its arguments."""
    for i, token in enumerate(found):
        if isinstance(token, Text) or token not in ("(", "{"):
            continue
        name = found[i - 1] if i and not isinstance(found[i - 1], Text) and re.fullmatch(r"\w+", found[i - 1]) else ""
        if token == "{":
            name = ""
        if names is not None and name not in names:
            continue
        yield name, arguments(found, i)[0]


def literal(argument):
    """The text, where an argument is one literal, STR("...") or a cast of one; otherwise None."""
    texts = [token for token in argument if isinstance(token, Text)]
    if len(texts) == 1 and (len(argument) == 1 or (argument[0] in ("STR", "(") and len(argument) <= 4)):
        return texts[0]
    return None


def shown(format_text):
    """A printf format as people read it: what is put in is an ellipsis."""
    text = re.sub(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]", "…", format_text)
    return text.replace("%%", "%")
