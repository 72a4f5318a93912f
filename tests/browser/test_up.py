"""annals up --ui serves the same page."""

from chromium import LIVE


def test_standalone_serves_the_same_page(chromium, up):
    """annals up --ui"""
    server = up("--ui")
    said = server.stdout.wait(r"(http://\S+)/annals/ui/#token=(\w+)")
    assert said, server.stderr.text
    page = chromium.open()
    page.origin = said[1]
    page.go(said[0])
    page.wait(LIVE)
