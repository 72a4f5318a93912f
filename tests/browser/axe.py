"""The accessibility checker: axe-core, which fetch-axe.sh has put where peers are."""

import json

from processes import PEERS

FILE = PEERS / "axe" / "axe.min.js"
# What axe-core has of the Web Content Accessibility Guidelines, A and AA, and its own good practice.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def find():
    """(source, ""), or (None, why)."""
    try:
        return FILE.read_text(encoding="utf-8"), ""
    except FileNotFoundError:
        return None, "axe-core is not there (tests/browser/fetch-axe.sh)"


def check(page, source):
    """What is wrong with a page as it is now: sentences. How many rules have been looked at is no sentence, but none is an error."""
    page.evaluate(f"{source}; void 0")
    found = page.evaluate(f"axe.run(document, {{runOnly: {json.dumps(TAGS)}, resultTypes: ['violations']}}).then(r => ({{passes: r.passes.length, violations: "
                          "r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)])}))")
    assert found["passes"] > 10, "it has looked at nothing"
    return [f"{id}: {help}\n  " + "\n  ".join(nodes[:5]) for id, help, nodes in found["violations"]]
