"""What the kinds declare, and documents of OpenAPI, asked of build/tools/reference/declarations."""

import functools
import json
import os
import pathlib
import subprocess


def ask(*arguments):
    program = pathlib.Path(os.environ["ANNALS_BUILD"]) / "tools" / "reference" / "declarations"
    return json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, timeout=60).stdout)


@functools.cache
def declarations():
    """{"kinds": [...], "types": [...]}: a type is known by its place in the list."""
    return ask("kinds")


def type_of(index):
    return declarations()["types"][index]


def versions():
    """(kind, version) of each API version of each kind."""
    return [(kind, version) for kind in declarations()["kinds"] for version in kind["versions"]]


def short_name(type_):
    """Of a definition: "io.k8s.api.core.v1.PodSpec" is PodSpec."""
    return type_["definition"].rpartition(".")[2]
