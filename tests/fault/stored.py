"""What is stored of an object: in which version, and what that says whatever the version."""

import json

REST = "annals.dev/hub"  # where a stored form keeps what its version cannot express: whole members of the hub form
DECODER = json.JSONDecoder()


def members(text):
    """Of a compact JSON object, each as it is spelled: {name: text}."""
    found, at = {}, 1
    while text[at] != "}":
        name, end = DECODER.raw_decode(text, at)
        start = end + 1  # behind the colon
        _, at = DECODER.raw_decode(text, start)
        found[name] = text[start:at]
        at += text[at] == ","
    return found


class Stored:
    """A value of etcd's below objects/. version: "v1beta1" of its group; members: of the hub form, as they are spelled."""

    def __init__(self, text):
        self.members = members(text)
        self.version = json.loads(self.members.pop("apiVersion"))
        self.members.update(members(self.members.pop(REST, "{}")))
        if self.version.endswith("/v1beta1") and self.members["kind"] in SPECS:
            self.members["spec"] = SPECS[self.members["kind"]](self.members["spec"])
        self.metadata = json.loads(self.members["metadata"])
        self.uid, self.mark = self.metadata["uid"], self.metadata.get("annotations", {}).get("mark")


def shortly(value):
    return json.dumps(value, separators=(",", ":"))


def dependent_spec(text):
    spec = json.loads(text)
    if "providerName" not in spec:
        return text
    return shortly({"providers": [{"kind": "Provider", "name": spec["providerName"]}], "whenMissing": spec["whenMissing"]})


def crate_spec(text):
    spec = json.loads(text)
    return shortly({"things": [spec["thing"]]}) if "thing" in spec else text


# What v1beta1 says otherwise, in the hub form.
SPECS = {'"Dependent"': dependent_spec, '"Crate"': crate_spec}
