#!/usr/bin/env python3
"""Writes docs/reference/commands/*.md and man/*, a page for each command, from the tables that the program parses its flags by."""

import json
import os
import re
import subprocess
import sys

import page

MADE_FROM = "the tables of flags"
MAN_MADE = '.\\" Made from the tables of flags: "make docs" writes it anew. Change the source instead.'
PLUGIN = "kubectl annals"
FOLDER = "docs/reference/commands"
# Beside annals(1), which has all of them.
RELATED = {
    "up": ["serve", "doctor", "export"], "serve": ["up", "controllers", "certs", "doctor"], "controllers": ["serve"], "certs": ["serve", "doctor"],
    "doctor": ["up", "serve", "fsck"], "fsck": ["doctor", "export"], "export": ["import", "fsck"], "import": ["export", "fsck"],
}
ENVIRONMENT = [
    ("NO_COLOR", "where it is not empty, colours are printed only with --color=always"),
    ("XDG_DATA_HOME", "the directory above that of `annals up`, ~/.local/share by default"),
    ("KUBECONFIG", "the kubeconfig of `kubectl annals`, ~/.kube/config by default"),
]
ABOUT = "revision history and in-use protection for Kubernetes objects, in its own etcd"
ABOUT_PLUGIN = "shows changes of Kubernetes objects, undoes them, and says what keeps an object"
PLUGIN_TEXT = """\
A plugin that kubectl finds as kubectl-annals on $PATH; `annals kubectl` is the same. It works with any cluster, with annals or
without. On a cluster without annals, history, diff, show and undo work with the revisions that StatefulSets, DaemonSets and
Deployments have there.

kubectl_complete-annals, beside it, completes commands, types, names and revisions where the shell completes kubectl's.

Control characters in objects, and those that turn the direction of writing, never reach the terminal: they are escaped as in JSON."""
OVERVIEW_TEXT = """\
One program has all parts of annals, so that they are of one version. `annals help` lists the commands, and `annals help COMMAND`
explains one. A command that is misspelt is answered with the one that was probably meant."""


def load():
    annals = f"{os.environ['ANNALS_BUILD']}/annals"
    # A page must not depend on who makes it.
    env = {name: value for name, value in os.environ.items() if name not in ("XDG_DATA_HOME", "KUBECONFIG")}
    done = subprocess.run([annals, "help", "--output=json"], check=True, capture_output=True, text=True, env=env)
    return [{"usage": "", **command} for command in json.loads(done.stdout)["commands"]]


def page_name(command):
    """annals-up, kubectl-annals-log."""
    return f"{command['program']} {command['name']}".replace(" ", "-")


def paragraphs(text):
    return [" ".join(part.split()) for part in text.split("\n\n")]


def heading(group):
    return f"{group['title']} flags" if "title" in group else "Flags"


def title_of(flag):
    value = f" {flag['value']}" if "value" in flag else ""
    letter = flag.get("short") or (flag["name"] if len(flag["name"]) == 1 else None)
    return (f"-{letter}, " if letter else "") + f"--{flag['name']}{value}"


# ---- Markdown ----


def markdown_text(text):
    """What stands in backquotes is left alone; of the rest nothing is markup."""
    pieces = text.split("`")
    pieces[0::2] = [re.sub(r"([*_<>\[\]])", r"\\\1", piece) for piece in pieces[0::2]]
    return "`".join(pieces)


def code_block(text):
    lines = [line[2:] if line.startswith("  ") else line for line in text.rstrip("\n").split("\n")]
    return "```sh\n" + "\n".join(lines) + "\n```"


def flag_row(flag):
    default = f"`{flag['default']}`" if "default" in flag else ""
    return [f"`{title_of(flag)}`", default, markdown_text(flag["help"])]


def markdown(command):
    name = f"{command['program']} {command['name']}"
    text = [f"For people who type `{name}`, or write it into a script.", f"```text\n{name} {command['usage']}".rstrip() + "\n```"]
    text += [markdown_text(part) for part in paragraphs(command["description"])]
    if "examples" in command:
        text += ["## Examples", code_block(command["examples"])]
    for group in command["groups"]:
        text += [f"## {heading(group)}", page.table(["flag", "default", ""], [flag_row(flag) for flag in group["flags"]])]
    if command["files"]:
        text += ["## Files", page.table(["path", ""], [[f"`{row['path']}`", markdown_text(row["text"])] for row in command["files"]])]
    text += ["## Exit status", page.table(["status", ""], [[row["status"], markdown_text(row["text"])] for row in command["exitStatus"]])]
    text += ["[All commands](README.md)"]
    return "\n\n".join(text)


def index(commands):
    def rows(program):
        return [[f"[`{program} {c['name']}`]({page_name(c)}.md)", c["summary"]] for c in commands if c["program"] == program]

    return "\n\n".join([
        "For people who look for a command or a flag. The same stands in `annals help COMMAND` and in `man annals`.",
        *map(markdown_text, paragraphs(OVERVIEW_TEXT)), page.table(["command", ""], rows("annals")),
        f"## {PLUGIN}", *map(markdown_text, paragraphs(PLUGIN_TEXT)), page.table(["command", ""], rows(PLUGIN)),
        "## Spelling of flags",
        "`--name=value` and `--name value` are the same, and so are `-n value`, `-nvalue` and `-n=value`. A switch is `--name` or "
        "`--name=false`, and `-Aw` is `-A -w`. Durations are spelled as in Go: `500ms`, `10s`, `1m30s`, `1h`. A flag that takes `A,B,...` may also be "
        "given several times. Nothing behind `--` is a flag.",
        "## Environment", page.table(["variable", ""], [[f"`{name}`", text] for name, text in ENVIRONMENT]),
    ])


# ---- manual pages ----


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^\.", "\\&.", text, flags=re.MULTILINE)


def roff_word(word):
    """In a word a hyphen is one, where lines may be broken; in what is typed it is the sign that can be copied."""
    return roff(word).replace("\\-", "-") if re.fullmatch(r"[A-Za-z]+(-[A-Za-z]+)+[.,;:]?", word) else roff(word)


def roff_text(text):
    """What stands in backquotes is bold."""
    pieces = text.split("`")
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = f"\\fB{roff(piece)}\\fR"
        else:
            pieces[i] = " ".join(map(roff_word, piece.split(" ")))
    return "".join(pieces)


def roff_title(flag):
    names, _, value = title_of(flag).partition(f"--{flag['name']}")
    text = f"{names}--{flag['name']}"
    bold = ", ".join(f"\\fB{roff(name)}\\fR" for name in text.split(", "))
    return bold + (f" \\fI{roff(value.strip())}\\fR" if value else "")


def roff_paragraphs(text):
    return "\n.PP\n".join(roff_text(part) for part in paragraphs(text))


def roff_example(text):
    return f".nf\n{roff(text.rstrip())}\n.fi"


def roff_groups(groups, macro):
    lines = []
    for group in groups:
        lines.append(f'{macro} "{heading(group)}"')
        for flag in group["flags"]:
            default = f" The default is \\fB{roff(flag['default'])}\\fR." if "default" in flag else ""
            lines += [".TP", roff_title(flag), roff_text(flag["help"]) + default]
    return lines


def roff_rows(rows):
    return [line for name, text in rows for line in (".TP", f"\\fB{roff(name)}\\fR", roff_text(text))]


def manual(name, section, summary, body, others):
    see = ", ".join(f"\\fB{roff(other)}\\fR({number})" for other, number in sorted(others, key=lambda other: (other[1], other[0])) if other != (name, section))
    lines = [MAN_MADE, f'.TH "{name.upper()}" "{section}" "" "annals" "annals manual"', ".nh", ".ad l", ".SH NAME", f"{roff(name)} \\- {roff_text(summary)}", *body, ".SH SEE ALSO", see]
    return "\n".join(lines) + "\n"


def statuses(command):
    return [".SH EXIT STATUS", *roff_rows((row["status"], row["text"]) for row in command["exitStatus"])]


def command_manual(command, others):
    body = [".SH SYNOPSIS", f"\\fB{roff(command['program'])} {roff(command['name'])}\\fR {roff(command['usage'])}", ".SH DESCRIPTION", roff_paragraphs(command["description"])]
    if command["groups"]:
        body += [".SH OPTIONS", *roff_groups(command["groups"], ".SS")]
    if "examples" in command:
        body += [".SH EXAMPLES", roff_example(command["examples"])]
    if command["files"]:
        body += [".SH FILES", *roff_rows((row["path"], row["text"]) for row in command["files"])]
    return manual(page_name(command), command["section"], command["summary"], body + statuses(command), others)


def overview_manual(commands, others):
    body = [".SH SYNOPSIS", "\\fBannals\\fR \\fICOMMAND\\fR [flags]", ".SH DESCRIPTION", roff_paragraphs(OVERVIEW_TEXT), ".SH COMMANDS",
            *roff_rows((f"annals {c['name']}", f"{c['summary']}: see {page_name(c)}({c['section']})") for c in commands if c["program"] == "annals"),
            *roff_rows([("annals kubectl", "the plugin of kubectl: see kubectl-annals(1)")]),
            ".SH ENVIRONMENT", *roff_rows(ENVIRONMENT), *statuses(commands[0] | {"exitStatus": next(c for c in commands if c["name"] == "version")["exitStatus"]})]
    return manual("annals", 1, ABOUT, body, others)


def plugin_manual(commands, others):
    mine = [c for c in commands if c["program"] == PLUGIN]
    common = [group for group in mine[0]["groups"] if group.get("title") == "Connection"]
    body = [".SH SYNOPSIS", f"\\fB{PLUGIN}\\fR \\fICOMMAND\\fR [\\fITYPE\\fR/\\fINAME\\fR] [flags]", ".SH DESCRIPTION", roff_paragraphs(PLUGIN_TEXT), ".SH COMMANDS"]
    for c in mine:
        own = [group for group in c["groups"] if group not in common]
        body += [f'.SS "{c["name"]}"', f"\\fB{PLUGIN} {roff(c['name'])}\\fR {roff(c['usage'])}", ".PP", roff_paragraphs(c["description"])]
        body += [line for group in own for flag in group["flags"] for line in (".TP", roff_title(flag), roff_text(flag["help"]))]
    body += [".SH OPTIONS", "All commands take these:", *roff_groups(common, ".SS"), ".SH EXAMPLES"]
    body.append(roff_example("\n".join(c["examples"].rstrip("\n") for c in mine)))
    body += [".SH ENVIRONMENT", *roff_rows(row for row in ENVIRONMENT if row[0] != "XDG_DATA_HOME"), *statuses(mine[0])]
    return manual("kubectl-annals", 1, ABOUT_PLUGIN, body, [*others, ("kubectl", 1)])


def main():
    root = page.root_of(sys.argv)
    commands = load()
    own = [c for c in commands if c["program"] == "annals"]
    pages = [("annals", 1), ("kubectl-annals", 1), *((page_name(c), c["section"]) for c in own)]
    page.write(root, f"{FOLDER}/README.md", "Commands", MADE_FROM, index(commands))
    for c in commands:
        page.write(root, f"{FOLDER}/{page_name(c)}.md", f"{c['program']} {c['name']}", MADE_FROM, markdown(c))
    for c in own:
        related = [(page_name(other), other["section"]) for other in own if other["name"] in RELATED.get(c["name"], [])]
        page.put(root, f"man/{page_name(c)}.{c['section']}", command_manual(c, [("annals", 1), ("kubectl-annals", 1), *related]))
    page.put(root, "man/annals.1", overview_manual(commands, pages))
    page.put(root, "man/kubectl-annals.1", plugin_manual(commands, [("annals", 1), ("annals-up", 1)]))


main()
