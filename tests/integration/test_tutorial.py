"""docs/tutorial-what-changed.md is true: what it tells to type for one machine is typed here, in its order."""

import re

import processes
from processes import ROOT
from test_readme import FENCED, changes, home, paste, shell, start  # noqa: F401: two of them are fixtures

TUTORIAL = (ROOT / "docs" / "tutorial-what-changed.md").read_text()


def blocks(heading, language):
    text = TUTORIAL.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [block for tag, block in FENCED.findall(text) if tag == language]


def test_what_changed_last_night(shell):
    up, record = blocks("On your machine", "sh")
    (evening, night) = blocks("A night", "sh")
    (log, of_one), (shown,) = blocks("What changed?", "sh"), blocks("What changed?", "text")
    (diff,), (difference,) = blocks("What was it before?", "sh"), blocks("What was it before?", "text")
    (undo, get, restore), (value,) = blocks("Put it back", "sh"), blocks("Put it back", "text")
    server = start(shell, up)

    def type_in(text):
        status, said = paste(server, shell, text)
        assert status == 0, said
        return said

    for text in (record, evening, night):
        type_in(text)
    processes.retry_until(lambda: changes(type_in(log)) == changes(shown), "all of it is recorded", interval=0.2)
    assert "CHANGE-CAUSE" in type_in(of_one)
    assert re.sub(r"\(\S+\)", "", type_in(diff)) == re.sub(r"\(\S+\)", "", difference)
    assert "configmap/shop rolled back to revision 1" in type_in(undo)
    assert type_in(get) == value
    assert "service/shop restored from revision 1" in type_in(restore)
    assert server.get("/api/v1/namespaces/default/services/shop").json["spec"]["ports"][0]["port"] == 80
    processes.retry_until(lambda: ["service/shop", "1", "annals-admin", "Created"] in changes(type_in(log))[3:], "that is recorded, too", interval=0.2)


def test_files_that_it_names_are_there():
    for name in re.findall(r"deploy/[\w/.-]*\w", TUTORIAL):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\]\(([^)#:]+)", TUTORIAL):
        assert (ROOT / "docs" / name).exists(), name
