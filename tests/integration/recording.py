#!/usr/bin/env python3
"""Makes docs/images/tour-*.svg: README's first two tours as a terminal shows them, light and dark. make recording runs it.

The commands are typed into a real shell on a real terminal. rich draws its screen. In the picture the lines come one after the other,
unless the reader's system asks for less motion; then, and at the end, all are there.
"""

import fcntl
import io
import os
import pathlib
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import xml.etree.ElementTree

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import fenced  # pylint: disable=wrong-import-position
import processes  # pylint: disable=wrong-import-position

COLUMNS, ROWS = 100, 60
PROMPT = "\x1e$ "  # the first character is nobody else's
SECONDS_A_COMMAND, SECONDS_A_LINE = 1.6, 0.06

THEMES = {
    "light": TerminalTheme((246, 248, 250), (31, 35, 40), [
        (31, 35, 40), (207, 34, 46), (17, 99, 41), (120, 72, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)]),
    "dark": TerminalTheme((22, 27, 34), (230, 237, 243), [
        (230, 237, 243), (255, 123, 114), (126, 231, 135), (227, 179, 65), (121, 192, 255), (210, 168, 255), (118, 227, 234), (139, 148, 158)]),
}

# No fonts from elsewhere: who looks at the page is nobody's business.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>kubectl annals in a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
    line-height: {line_height}px; white-space: pre; }}
.{unique_id}-title {{ font-size: 18px; font-family: sans-serif; }}
{styles}
@media (prefers-reduced-motion: no-preference) {{
@keyframes come {{ from, to {{ opacity: 0 }} }}
MOTION
}}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Screen:
    """bash on a terminal of its own."""

    def __init__(self, env, home):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**env, "PS1": PROMPT, "PS2": "", "TERM": "xterm-256color"}
        self.shell = subprocess.Popen([*processes.LEASH, "bash", "--norc", "--noprofile", "--noediting", "-i"], env=env, cwd=home, stdin=slave, stdout=slave,
                                      stderr=slave, start_new_session=True)
        os.close(slave)
        self.text = ""
        self.wait(PROMPT)

    def wait(self, ending):
        while not self.text.endswith(ending):
            if not select.select([self.master], [], [], processes.PATIENCE)[0]:
                raise TimeoutError(f"no {ending!r} after:\n{self.text}")
            self.text += os.read(self.master, 65536).decode().replace("\r\n", "\n")

    def type(self, command, ending=PROMPT):
        os.write(self.master, command.encode() + b"\n")
        self.text += "\0"  # so that the prompt before it does not count
        self.wait(ending)

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.master)


def record(home, kubectl):
    """What a terminal has shown: README's commands, and what they answer."""
    page = fenced.Page(processes.ROOT / "README.md")
    typed = [block.text for block in page.blocks if block.language == "sh"]
    (setup,) = [text for text in typed if "recorder/" in text]
    (objects,) = [text for text in typed if "kind\": \"Provider" in text]
    create, _, rest = objects.partition("\nEND\n")
    wait, *protection = rest.splitlines()
    with fenced.Terminal(home, kubectl) as terminal:
        terminal.start("annals up", None)

        def prepare(text):
            said, failed = terminal.type(text)
            assert not failed, said
            return said

        prepare(setup)
        processes.retry_until(lambda: "bob" in prepare("kubectl annals log"), "it is recorded", interval=0.2)
        screen = Screen(terminal.environment(), home)
        screen.type("kubectl annals log")
        screen.type("kubectl annals undo configmap/shop", ending="] ")
        screen.type("y")
        prepare(f"{create}\nEND\n{wait}\n")
        for command in protection:
            screen.type(command)
        screen.close()
    return screen.text.replace("\0", "").removesuffix(PROMPT).rstrip("\n")


def folded(line):
    """Where a terminal has no more room, between words. What is coloured fits."""
    return textwrap.wrap(line, COLUMNS, drop_whitespace=False) if len(line) > COLUMNS and "\x1b" not in line else [line]


def draw(text, theme):
    """An SVG. A rule for each line of the screen says when it comes."""
    at, motion = 0.0, []
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    lines = [part for line in text.split("\n") for part in folded(line)]
    for number, line in enumerate(lines):
        at += SECONDS_A_COMMAND if line.startswith(PROMPT) else SECONDS_A_LINE
        motion.append(f'[clip-path$="-line-{number})"] {{ animation: come 0.01s {at:.2f}s backwards }}')
        shown = Text.from_ansi(line.replace(PROMPT, "\x1b[1;32m$\x1b[0m "))
        assert shown.cell_len <= COLUMNS, line
        console.print(shown, highlight=False)
    svg = console.export_svg(title="annals", theme=theme, code_format=FORMAT, unique_id="t")
    return svg.replace("MOTION", "\n".join(motion))


def main():
    home = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        text = record(home, processes.kubectl_since())
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert str(home) not in text
    for name, theme in THEMES.items():
        path = processes.ROOT / "docs" / "images" / f"tour-{name}.svg"
        svg = draw(text, theme)
        xml.etree.ElementTree.fromstring(svg)
        path.write_text("\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n", encoding="utf-8")
        print(path.relative_to(processes.ROOT))


main()
