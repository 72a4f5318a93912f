"""The OpenAPI documents, judged by a validator that knows nothing of Kubernetes."""

import json

from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator


def document(api, path):
    return json.loads(api.call_api(path, "GET", header_params={"Accept": "application/json"}, _preload_content=False).data)


def errors(validator):
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"[:300] for error in validator.iter_errors()]


def test_openapi_v2_is_valid(api):
    assert errors(OpenAPIV2SpecValidator(document(api, "/openapi/v2"))) == []


def test_openapi_v3_is_valid(api):
    paths = document(api, "/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/annals.dev/v1"} <= set(paths)
    for path, found in paths.items():
        assert errors(OpenAPIV30SpecValidator(document(api, found["serverRelativeURL"].partition("?")[0]))) == [], path


def test_what_is_wrong_is_found(api):
    whole = document(api, "/openapi/v3/apis/apps/v1")
    for spoil in (lambda d: d.pop("info"), lambda d: d["paths"].update({"no-slash": {}})):
        spoiled = json.loads(json.dumps(whole))
        spoil(spoiled)
        assert errors(OpenAPIV30SpecValidator(spoiled))
