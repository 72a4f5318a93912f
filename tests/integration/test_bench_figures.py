"""What `make bench` says of a run beside the last release's figures (tools/bench-figures.py). Nothing is measured here."""

import json
import subprocess

import pytest

from processes import ROOT

FIGURES = ROOT / "tools" / "bench-figures.py"
GET = "get1k.rv0.c64: CPU, times a bare server's"


def samples(workload, annals, bare=(), name="server µs"):
    """A round for each value."""
    return [{"workload": workload, "subject": subject, "values": {name: value}}
            for subject, of in (("annals", annals), ("bare", bare)) for value in of]


def figures(tmp_path, run, *more, kept=None):
    (tmp_path / "run.json").write_text(json.dumps({"samples": run}))
    if kept is not None:
        (tmp_path / "kept.json").write_text(json.dumps({"release": "0.9", "figures": kept}))
    return subprocess.run([FIGURES, "--kept", tmp_path / "kept.json", *more, tmp_path / "run.json"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("annals, is_dearer", [(19, False), (22, False), (22.4, True), (40, True)])
def test_dearer_is_what_grew_by_more_than_a_tenth(tmp_path, annals, is_dearer):
    said = figures(tmp_path, samples("get1k.rv0.c64", [annals], [10]), kept={GET: 2.0})
    assert said.startswith(f"1 figures beside those of release 0.9: {1 if is_dearer else 'none'} dearer by more than 10 %")
    assert (GET in said) == is_dearer


def test_a_slower_machine_makes_nothing_dearer(tmp_path):
    said = figures(tmp_path, samples("get1k.rv0.c64", [2000], [1000]), kept={GET: 2.0})
    assert "none dearer" in said


def test_the_median_of_the_rounds_counts(tmp_path):
    """Each round beside its own bare server: the machine was twice as slow in the second, and somebody disturbed the third."""
    run = samples("get1k.rv0.c64", [20, 40, 90], [10, 20, 10])
    assert "none dearer" in figures(tmp_path, run, kept={GET: 2.0})


def test_memory_is_compared_as_it_is(tmp_path):
    said = figures(tmp_path, samples("start.0", [30, 30], name="MiB"), kept={"start.0: MiB": 20.0})
    assert "start.0: MiB" in said and "+50 %" in said


def test_the_worst_is_said_first(tmp_path):
    run = samples("start.0", [30], name="MiB") + samples("get1k.rv0.c64", [80], [10])
    lines = figures(tmp_path, run, kept={"start.0: MiB": 20.0, GET: 2.0}).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["get1k.rv0.c64", "start.0"]


def test_a_run_of_other_workloads_is_not_compared(tmp_path):
    said = figures(tmp_path, samples("put.c16", [80], [10]), kept={GET: 2.0})
    assert said == "No figure of this run is among those of release 0.9.\n"


def test_renewing_keeps_this_run_and_what_it_did_not_measure(tmp_path):
    figures(tmp_path, samples("get1k.rv0.c64", [30], [10]), "--renew", kept={GET: 2.0, "start.0: MiB": 20.0})
    assert json.loads((tmp_path / "kept.json").read_text())["figures"] == {GET: 3.0, "start.0: MiB": 20.0}
    assert "none dearer" in figures(tmp_path, samples("get1k.rv0.c64", [30], [10]))


def test_the_kept_figures_can_be_compared_with(tmp_path):
    kept = json.loads((ROOT / "tests" / "bench" / "figures.json").read_text())
    assert kept["release"] and len(kept["figures"]) > 20 and all(figure > 0 for figure in kept["figures"].values())
