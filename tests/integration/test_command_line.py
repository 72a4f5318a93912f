"""What the program says of its own command line: help, and which command or flag was probably meant."""

import json
import re
import shutil

import pytest

from processes import BIN, ROOT, run

COMMANDS = [line.split()[0] for line in re.findall(r"^  .*$", run([BIN, "help"]).stdout, re.MULTILINE)]
PLUGIN_COMMANDS = [line.split()[0] for line in re.findall(r"^  .*$", run([BIN, "kubectl", "help"]).stdout, re.MULTILINE)]


@pytest.mark.parametrize("arguments, said", [
    (["sevre"], "annals: there is no command sevre. Did you mean serve? See annals help."),
    (["help", "docter"], "annals: there is no command docter. Did you mean doctor? See annals help."),
    (["frobnicate"], "annals: there is no command frobnicate. See annals help."),
    (["up", "--prot=1"], "annals up: unknown flag: --prot. Did you mean --port?"),
    (["serve", "--audit-log-max=1"], "unknown flag: --audit-log-max. Did you mean --audit-log-maxsize, --audit-log-maxbackup or --audit-log-maxage?"),
    (["kubectl", "hisotry"], "error: there is no command hisotry. Did you mean history? See kubectl annals help."),
    (["kubectl", "log", "--namspace=x"], "error: unknown flag: --namspace. Did you mean --namespace?"),
])
def test_a_slip_of_the_finger_is_understood(arguments, said):
    done = run([BIN, *arguments])
    assert done.returncode == 2 and not done.stdout
    assert said in done.stderr


def test_a_name_with_escapes_reaches_no_terminal():
    assert "\x1b" not in run([BIN, "up\x1b[2J"]).stderr + run([BIN, "kubectl", "log\x1b[2J"]).stderr


def help_of(*command):
    return run([BIN, *command, "--help"]).stdout


@pytest.mark.parametrize("command", [["up"], ["serve"]])
def test_flags_are_in_groups(command):
    groups = re.findall(r"^(\S.*) flags:$", help_of(*command), re.MULTILINE)
    assert {"Etcd", "Authentication", "Authorization", "Request limit", "Logging", "Audit"} <= set(groups)
    assert len(groups) == len(set(groups)), "each group once"


def test_defaults_are_what_flags_take():
    text = help_of("serve")
    durations = dict(re.findall(r"^  --(\S+) DURATION\n(?:        .*\n)*?        .*\(default (\S+)\)$", text, re.MULTILINE))
    assert {name: durations[name] for name in ("request-timeout", "etcd-compaction-interval", "event-ttl", "slow-request-threshold")} == {
        "request-timeout": "1m", "etcd-compaction-interval": "5m", "event-ttl": "1h", "slow-request-threshold": "500ms"}
    for name, value in durations.items():
        done = run([BIN, "serve", f"--{name}={value}"])
        assert "invalid argument" not in done.stderr and "give --kubeconfig" in done.stderr


@pytest.mark.parametrize("command", [[name] for name in COMMANDS if name != "help"] + [["kubectl", name] for name in PLUGIN_COMMANDS])
def test_help_fits_a_terminal(command):
    text = help_of(*command)
    assert "usage: " in text
    assert [line for line in text.splitlines() if len(line) > 110 and not line.startswith("usage: ")] == []


def test_verbosity_is_explained():
    assert re.search(r"-v, --v N\n +How much to log\. 0: errors\s+and\s+warnings.*1:\s+also", help_of("up"), re.DOTALL)


# ---- what is made from the tables ----

DESCRIBED = json.loads(run([BIN, "help", "--output=json"]).stdout)["commands"]
REFERENCE = ROOT / "docs" / "reference" / "commands"


def words_of(command):
    return [*(["kubectl"] if command["program"] == "kubectl annals" else []), command["name"]]


def flags_in_help(command):
    titles = re.findall(r"^  (?:-\w, )?--.*$", help_of(*words_of(command)), re.MULTILINE)
    return [title.strip() for title in titles]


@pytest.mark.parametrize("command", DESCRIBED, ids=lambda c: "-".join(words_of(c)))
def test_the_reference_has_every_flag_of_the_help(command):
    name = f"{command['program']} {command['name']}".replace(" ", "-")
    text = (REFERENCE / f"{name}.md").read_text()
    assert [title.replace("\\|", "|") for title in re.findall(r"^\| `(-.*?)` \| ", text, re.MULTILINE)] == flags_in_help(command)
    manual = ROOT / "man" / ("kubectl-annals.1" if command["program"] != "annals" else f"{name}.{command['section']}")
    bold = manual.read_text().replace("\\-", "-")
    for title in flags_in_help(command):
        assert f"\\fB--{title.partition('--')[2].split()[0]}\\fR" in bold, title


def test_every_command_is_described():
    assert [c["name"] for c in DESCRIBED if c["program"] == "annals"] == [name for name in COMMANDS if name not in ("help", "kubectl")]
    assert [c["name"] for c in DESCRIBED if c["program"] != "annals"] == PLUGIN_COMMANDS
    for c in DESCRIBED:
        for group in c["groups"]:
            for flag in group["flags"]:
                assert flag["help"].endswith("."), (c["name"], flag)


WORDS_MAX = 25  # in a sentence, as tools/check-prose.py has it for pages


@pytest.mark.parametrize("command", DESCRIBED, ids=lambda c: "-".join(words_of(c)))
def test_help_is_in_short_sentences(command):
    texts = [command["description"], *(flag["help"] for group in command["groups"] for flag in group["flags"])]
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.split()))]
    assert [sentence for sentence in sentences if len(sentence.split()) > WORDS_MAX] == []


@pytest.mark.parametrize("page", sorted((ROOT / "man").iterdir()), ids=lambda page: page.name)
def test_manual_pages_are_sound(page):
    """To groff, or to mandoc, which is stricter; but it wants a date, and no two builds should differ."""
    if shutil.which("mandoc"):
        said = run(["mandoc", "-Tlint", "-W", "warning", page]).stdout
        assert [line for line in said.splitlines() if "missing date" not in line] == []
    elif shutil.which("groff"):
        assert run(["groff", "-man", "-ww", "-z", page]).stderr == ""
    else:
        pytest.skip("neither mandoc nor groff is here")
