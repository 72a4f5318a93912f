"""h2spec's cases: what RFC 9113 and RFC 7541 ask of a server, asked of annals."""

import xml.etree.ElementTree

import pytest

import processes

H2SPEC = processes.PEERS / "h2spec"
# In seconds, for each case. Only one that fails takes them.
TIMEOUT = 20


@pytest.fixture(scope="module")
def report(shared_annals, tmp_path_factory):
    """{(section, case): what was wrong}"""
    if not H2SPEC.exists():
        pytest.skip("there is no h2spec: tests/cluster/build.sh says why")
    path = tmp_path_factory.mktemp("h2spec") / "report.xml"
    client = shared_annals.get().client
    done = processes.run([H2SPEC, client.host, client.port, "/version", TIMEOUT, path], patience=processes.LONG_PATIENCE * 2)
    assert path.exists(), done.stdout + done.stderr
    cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    return {(case.get("package"), case.get("classname")): [child.text for child in case if child.tag in ("error", "failure")] for case in cases}


def test_http2_spec__cases_pass(report):
    assert len(report) > 140
    assert {case: wrong for case, wrong in report.items() if wrong} == {}
