"""docs/reference/metrics.md says of each metric that a server shows what the server shows."""

import pathlib
import re

from metrics import Metrics

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/reference/metrics.md"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([^|]*)\| ", re.M)


def page():
    """{name: (type, labels)}"""
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(PAGE.read_text())}


def labels_of(metrics, family):
    """The names of the labels of its samples; None: it has none, since nothing was counted."""
    samples = [{name for name, _ in labels} - {"le"} for (sample, labels) in metrics.samples if re.fullmatch(f"{family}(_bucket|_sum|_count)?", sample)]
    assert all(labels == samples[0] for labels in samples)
    return samples[0] if samples else None


def test_metrics__page_says_what_a_server_shows(annals, namespace):
    revisions = f"/apis/annals.dev/v1beta1/namespaces/{namespace}/controllerrevisions"
    revision = {"apiVersion": "annals.dev/v1beta1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "data": {}, "revision": 1}
    assert annals.post(revisions, revision).status == 201
    assert annals.get(revisions).status == 200

    shown, told = Metrics(annals), page()

    assert len(shown.types) > 90
    for name, kind in shown.types.items():
        assert name in told, f"{name} is not in {PAGE.name}"
        labels = labels_of(shown, name)
        assert told[name] == (kind, told[name][1] if labels is None else labels), name
