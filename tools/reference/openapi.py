#!/usr/bin/env python3
"""Writes openapi/: the documents of OpenAPI as `annals up` answers them, members in the order of the answer.

The names are those of Kubernetes' own files: api/openapi-spec/v3/apis__apps__v1_openapi.json."""

import json
import shutil
import sys

import declared
import page


def put(root, name, document):
    page.put(root, f"openapi/{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def main(root):
    # A group that is gone leaves no document behind, and ninja sees by the folder's time that it has been made anew.
    shutil.rmtree(root / "openapi", ignore_errors=True)
    put(root, "swagger", declared.ask("openapi", "/openapi/v2"))
    for path in declared.ask("openapi", "/openapi/v3")["paths"]:
        put(root, "v3/" + path.replace("/", "__") + "_openapi", declared.ask("openapi", f"/openapi/v3/{path}"))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
