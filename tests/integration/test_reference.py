"""The examples of the API reference are what the server takes, at the path that their page names."""

import pathlib
import re

PAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/reference/api"
EXAMPLE = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)
RECORDINGS = "/apis/annals.dev/v1/recordings"
COLLECTION = re.compile(r"^\| \*\*path\*\* \| `(\S+)` \|$", re.M)


def examples():
    """(page, path, manifest)"""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for manifest in EXAMPLE.findall(text):
            yield page.name, COLLECTION.search(text)[1], manifest


def test_reference__examples_are_taken_as_they_are(annals, namespace):
    pages = []
    for page, path, manifest in examples():
        path = path.replace("NAMESPACE", namespace) + "?fieldValidation=Strict"
        if path.startswith(RECORDINGS):  # they have no dry run
            manifest = manifest.replace("namespace: shop", f"namespace: {namespace}")
        else:
            path += "&dryRun=All"
        made = annals.post(path, manifest, headers={"Content-Type": "application/yaml"})
        assert made.status == 201 and "Warning" not in made.headers, (page, made)
        assert not path.startswith(RECORDINGS) or [result["result"] for result in made.json["status"]["results"]] == ["Recorded"], made
        pages.append(page)
    # Of annals' own kinds all but StorageVersion, which the server alone writes.
    assert {page for page in pages if page.startswith("annals.dev_v1_")} == {page.name for page in PAGES.glob("annals.dev_v1_*.md")} - {
        "annals.dev_v1_storageversion.md"}
