#!/usr/bin/env python3
"""Compares a run of `make bench` with the figures of the last release, which are kept in tests/bench/figures.json, and says what has become dearer.
It never fails for that.

    tools/bench-figures.py build/bench.json              # compare; tests/bench/run.sh does so after each run
    tools/bench-figures.py --renew build/bench.json      # keep the figures of this run instead, for a release

Figures are such as hardly depend on the machine: annals' CPU for one request, divided by what a bare server in C spends that answers as many bytes
(tests/bench/bare_server.c); memory after a start; how large a compressed list is; and what a
recorded change takes in etcd and in the cache."""

import argparse
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "bench" / "figures.json"
CPU, BARE = "server µs", "bare"
# Values that are compared as they are: which, of which workloads, in which unit.
ABSOLUTE = [("MiB", re.compile(r"start\."), "MiB"), ("bytes", re.compile(r"list500\.gzip\.first|record\."), "bytes"),
            ("bytes at rest", re.compile(r"record\."), "bytes at rest"), ("bytes in the cache", re.compile(r"record\."), "bytes in the cache")]
TOLERANCE = 1.1


def values(samples, subject, workload, name):
    """In the order of the rounds."""
    return [sample["values"][name] for sample in samples
            if sample["subject"] == subject and sample["workload"] == workload and sample["values"].get(name, 0) > 0]


def ratio(samples, workload):
    """To the bare server's, which was asked right after annals in each round."""
    pairs = zip(values(samples, "annals", workload, CPU), values(samples, BARE, workload, CPU))
    ratios = [mine / bare for mine, bare in pairs]
    return statistics.median(ratios) if ratios else None


def figures_of(samples):
    """{"workload: what": figure}"""
    found = {}
    for workload in dict.fromkeys(sample["workload"] for sample in samples):
        times = ratio(samples, workload)
        if times:
            found[f"{workload}: CPU, times a bare server's"] = round(times, 2)
        for name, workloads, unit in ABSOLUTE:
            of = values(samples, "annals", workload, name)
            if of and workloads.match(workload):
                found[f"{workload}: {unit}"] = round(statistics.median(of), 1)
    return found


def dearer(then, now):
    """[(what, then, now)] of what is there in both and has grown beyond the tolerance, the worst first."""
    grown = [(what, then[what], now[what]) for what in then if what in now and now[what] > then[what] * TOLERANCE]
    return sorted(grown, key=lambda row: row[1] / row[2])


def say(kept, now):
    then = kept["figures"]
    n = len(then.keys() & now.keys())
    if n == 0:
        return f"No figure of this run is among those of release {kept['release']}."
    rows = dearer(then, now)
    percent = round((TOLERANCE - 1) * 100)
    lines = [f"{n} figures beside those of release {kept['release']}: {len(rows) or 'none'} dearer by more than {percent} %"]
    lines += [f"  {what:48} {was:10} -> {is_now:10}  +{(is_now / was - 1) * 100:.0f} %" for what, was, is_now in rows]
    return "\n".join(lines)


def release():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=pathlib.Path, help="what the load generator wrote for -json")
    parser.add_argument("--kept", type=pathlib.Path, default=KEPT, help="the figures to compare with")
    parser.add_argument("--renew", action="store_true", help="keep the figures of this run")
    args = parser.parse_args(argv)
    now = figures_of(json.loads(args.run.read_text())["samples"])
    if args.renew:
        if not now:
            sys.exit("there is no figure in this run")
        kept = json.loads(args.kept.read_text())["figures"] if args.kept.exists() else {}
        text = json.dumps({"release": release(), "figures": {**kept, **now}}, indent="\t", ensure_ascii=False)
        args.kept.write_text(text + "\n")
    print(say(json.loads(args.kept.read_text()), now))


if __name__ == "__main__":
    main()
