"""README.md is true: what it tells a newcomer to type is typed here, in its order, with each kubectl of this machine."""

import re
import subprocess

import pytest

import fenced
from processes import ROOT

README = fenced.Page(ROOT / "README.md")
TUTORIALS = [fenced.Page(path) for path in sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


def test_readme_prints_what_it_says(folder, kubectl_binary):
    with fenced.Terminal(folder, kubectl_binary) as terminal:
        terminal.follow(README)


@pytest.mark.parametrize("page", [README, *TUTORIALS], ids=lambda page: page.path.stem)
def test_what_can_be_copied_stands_between_fences(page):
    """A here-document that is indented does not end where it should."""
    assert not re.search(r"^(    |\t)\S", fenced.BLOCK.sub("", page.text), re.MULTILINE)
    assert len(page.blocks) * 2 == len(re.findall("^```", page.text, re.MULTILINE))
    for block in page.blocks:
        if block.language == "sh":
            subprocess.run(["bash", "-n", "-c", block.text], check=True)


@pytest.mark.parametrize("page", [README, *TUTORIALS], ids=lambda page: page.path.stem)
def test_what_does_not_return_says_so(page):
    """In its line, or in the text around the block."""
    blocking = re.compile(r"annals up\b|make run\b|annals ui\b|--watch\b")
    pieces = fenced.BLOCK.split(page.text)  # text, language, block, text ...
    for before, language, block, after in zip(pieces[0::3], pieces[1::3], pieces[2::3], pieces[3::3]):
        for line in filter(blocking.search, block.splitlines() if language == "sh" else []):
            assert line.endswith(" &") or "Ctrl-C" in before[-500:] + line + after[:500], line


def test_it_is_read_in_a_moment():
    lines = README.text.splitlines()
    assert len(lines) <= 150
    prose = fenced.BLOCK.sub("", README.text).splitlines()
    assert not [line for line in prose if len(line) >= 100]


def test_targets_of_make_are_there():
    typed = "".join(block.text for block in README.blocks if block.language == "sh")
    targets = set(re.findall(r"^make ([a-z-]+)", typed, re.MULTILINE)) | set(re.findall(r"`make ([a-z-]+)", README.text))
    assert {"run", "check"} <= targets
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)
