"""Cases made at random, but the same for the same seed: a case is one object's life among others, told in some forty steps."""

import random

from exchange import apply, create, delete, get, json_patch, merge, put, revision, strategic
from tables import Case

STEPS_PER_CASE = 40
NAMES = ["a", "b", "c"]
KEYS = ["app", "tier", "x.io/k", "v"]
VALUES = ["web", "db", "", "1", "2", "x.y_z"]
FINALIZERS = ["x.io/one", "x.io/two", "y.io/three"]
MANAGERS = ["one", "two", "side-by-side"]
BAD_KEYS, BAD_VALUES = ["a b", "-x", "a/b/c"], ["a b", "-", "x" * 64]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def rarely(self, one_in=8):
        return self.random.randrange(one_in) == 0

    def some(self, items, most=3):
        return self.random.sample(items, self.random.randint(0, min(most, len(items))))

    def one(self, items):
        return self.random.choice(items)

    # parts of objects

    def strings(self, may_remove=False):
        out = {key: self.one(VALUES) for key in self.some(KEYS)}
        if may_remove and self.rarely(3):
            out[self.one(KEYS)] = None
        if self.rarely(15):
            out[self.one(BAD_KEYS)] = "x"
        if self.rarely(15):
            out[self.one(KEYS)] = self.one(BAD_VALUES)
        return out

    def owner(self):
        uid = self.one(["u1", "u2", "u3"])
        out = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": f"n-{uid}", "uid": uid}
        if self.rarely(2):
            out["controller"] = self.one([True, True, False])
        if self.rarely(4):
            out["blockOwnerDeletion"] = self.one([True, False])
        return out

    def owners(self):
        by_uid = {owner["uid"]: owner for owner in (self.owner() for _ in range(self.random.randint(0, 2)))}
        return list(by_uid.values())

    def metadata(self, may_remove=False):
        makers = {"labels": lambda: self.strings(may_remove), "annotations": lambda: self.strings(may_remove), "finalizers": lambda: self.some(FINALIZERS),
                  "ownerReferences": self.owners}
        out = {name: makers[name]() for name in self.some(sorted(makers), 2)}
        if may_remove and self.rarely():
            out[self.one(sorted(makers))] = None
        return out

    def object(self, name):
        out = revision(name, revision=self.random.randint(0, 5), **self.metadata())
        if self.rarely():
            out["metadata"]["resourceVersion"] = self.one([f"{{rv:{name}}}", f"{{rv0:{name}}}", ""])
        return out

    def query(self):
        options = {"dryRun": ["All"], "fieldManager": MANAGERS, "fieldValidation": ["Strict", "Ignore"]}
        chosen = [f"{name}={self.one(options[name])}" for name in sorted(options) if self.rarely(5)]
        return "?" + "&".join(chosen) if chosen else ""

    # steps

    def step_create(self, name):
        return create(name, None, self.random.randint(0, 5), **self.metadata())

    def step_put(self, name):
        return put(f"{{crs}}/{name}{self.query()}", self.object(name))

    def _patch(self):
        out = {"metadata": self.metadata(may_remove=True)}
        if self.rarely(3):
            out["revision"] = self.one([0, 1, 2, -1, None])
        if self.rarely(12):
            out["unknown"] = 1
        return out

    def step_merge(self, name):
        return merge(f"{{crs}}/{name}{self.query()}", self._patch())

    def step_strategic(self, name):
        patch = self._patch()
        if self.rarely(3):
            # Never what is added as well: which of the two wins is up to the order of Go's maps.
            added = patch["metadata"].get("finalizers") or []
            patch["metadata"]["$deleteFromPrimitiveList/finalizers"] = [name for name in self.some(FINALIZERS) if name not in added]
        if self.rarely(4):
            patch["metadata"]["$setElementOrder/finalizers"] = self.random.sample(FINALIZERS, 3)
            patch["metadata"].pop("finalizers", None)
        if self.rarely(4) and isinstance(patch["metadata"].get("ownerReferences"), list):
            patch["metadata"]["ownerReferences"].append({"$patch": "delete", "uid": "u9"})
        return strategic(f"{{crs}}/{name}{self.query()}", patch)

    def operation(self):
        key = self.one(["app", "tier", "x.io~1k", "v", "absent"])
        path = self.one([f"/metadata/labels/{key}", f"/metadata/annotations/{key}", "/metadata/labels", "/metadata/finalizers/0", "/metadata/finalizers/-", "/revision",
                         "/metadata/ownerReferences/0", "/metadata/ownerReferences"])
        op = self.one(["add", "add", "replace", "remove", "test", "copy", "move"])
        if op in ("copy", "move"):
            return {"op": op, "from": "/metadata/labels/app", "path": path}
        if op == "remove":
            return {"op": op, "path": path}
        return {"op": op, "path": path, "value": self.value_at(path)}

    def value_at(self, path):
        if path.endswith(("/labels", "/annotations")):
            return self.strings()
        if path == "/revision":
            return self.random.randint(-1, 5)
        if "finalizers" in path:
            return self.one(FINALIZERS)
        if path.endswith("ownerReferences"):
            return self.owners()
        return self.owner() if "ownerReferences" in path else self.one(VALUES)

    def step_json_patch(self, name):
        return json_patch(f"{{crs}}/{name}{self.query()}", [self.operation() for _ in range(self.random.randint(1, 3))])

    def step_apply(self, name):
        body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, **self.metadata()}}
        if self.rarely(2):
            body["data"] = {"k": "v"}
        if self.rarely(3):
            body["revision"] = self.random.randint(0, 5)
        force = self.one(["", "", "&force=true", "&dryRun=All"])
        return apply(f"{{crs}}/{name}?fieldManager={self.one(MANAGERS)}{force}", body)

    def step_delete(self, name):
        options = {"propagationPolicy": ["Orphan", "Foreground", "Background"], "dryRun": [["All"]], "orphanDependents": [True, False],
                   "preconditions": [{"uid": f"{{uid:{name}}}"}, {"resourceVersion": f"{{rv:{name}}}"}, {"resourceVersion": "1"}]}
        return delete(f"{{crs}}/{name}", {key: self.one(options[key]) for key in self.some(sorted(options), 2)} or None)

    def selector(self):
        key, value = self.one(KEYS), self.one(VALUES)
        others = ",".join(sorted(self.some(VALUES)))
        term = self.one([f"{key}={value}", f"{key}!={value}", f"{key}=={value}", f"{key} in ({others})", f"{key} notin ({others})", key, f"!{key}", f"{key}>1", f"{key}<2"])
        return term + ("," + self.selector() if self.rarely(3) else "")

    def step_list(self, name):
        options = [self.one([f"labelSelector={self.selector()}", f"fieldSelector=metadata.name{self.one(['=', '!='])}{name}", "limit=1", "limit=2", "continue={continue}&limit=1",
                             "resourceVersion=0", "resourceVersion={listrv}", "resourceVersion={listrv}&resourceVersionMatch=Exact"]) for _ in range(self.random.randint(0, 2))]
        names = [option.partition("=")[0] for option in options]
        if "continue" in names:
            # A token outlives what it was made of only in kube's cache or only in ours.
            options = [option for option in options if not option.startswith("resourceVersion")]
        return get("{crs}?" + "&".join(options))

    def step_get(self, name):
        accept = self.one([None, None, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io"])
        return get(f"{{crs}}/{name}", headers={"Accept": accept} if accept else {})

    def case(self, name):
        kinds = [self.step_create] * 4 + [self.step_put, self.step_merge, self.step_strategic, self.step_json_patch, self.step_apply] * 3 + [
            self.step_delete, self.step_list, self.step_list, self.step_get]
        return Case(name, [self.step_create(name) for name in NAMES] + [self.one(kinds)(self.one(NAMES)) for _ in range(STEPS_PER_CASE)])


def cases(n_steps, seed):
    return [Maker(f"{seed}/{n}").case(f"random-{seed}-{n}") for n in range(-(-n_steps // STEPS_PER_CASE))]
