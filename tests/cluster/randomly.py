"""Cases made at random, but the same for the same seed: a case is the life of three objects of one kind, in some forty steps."""

import random

import subjects
from exchange import apply, delete, get, json_patch, merge, post, put, strategic, watch
from tables import Case

STEPS_PER_CASE = 40
NAMES = ["a", "b", "c"]
KEYS = ["app", "tier", "x.io/k", "v"]
VALUES = ["web", "db", "", "1", "2", "x.y_z"]
FINALIZERS = ["x.io/one", "x.io/two", "y.io/three"]
MANAGERS = ["one", "two", "side-by-side"]
BAD_KEYS, BAD_VALUES = ["a b", "-x", "a/b/c"], ["a b", "-", "x" * 64]


class Maker:
    def __init__(self, seed, subject):
        self.random = random.Random(seed)
        self.subject = subject
        self.path = subject.path

    def rarely(self, one_in=8):
        return self.random.randrange(one_in) == 0

    def some(self, items, most=3):
        return self.random.sample(items, self.random.randint(0, min(most, len(items))))

    def one(self, items):
        return self.random.choice(items)

    # parts of objects

    def texts(self):
        return {key: self.one(["1", "2", ""]) for key in self.some(["a", "b", "c"], 2)}

    def strings(self, may_remove=False):
        out = {key: self.one(VALUES) for key in self.some(KEYS)}
        if may_remove and self.rarely(3):
            out[self.one(KEYS)] = None
        if self.rarely(8):
            # One mistake at a time: the order of several is that of Go's maps.
            key, value = self.one([(self.one(BAD_KEYS), "x"), (self.one(KEYS), self.one(BAD_VALUES))])
            out[key] = value
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
        out = self.subject.body({"name": name, **self.metadata()}, self.subject.whole(self))
        if self.rarely():
            out["metadata"]["resourceVersion"] = self.one([f"{{rv:{name}}}", f"{{rv0:{name}}}", ""])
        return out

    def query(self):
        options = {"dryRun": ["All"], "fieldManager": MANAGERS, "fieldValidation": ["Strict", "Ignore"]}
        chosen = [f"{name}={self.one(options[name])}" for name in sorted(options) if self.rarely(5)]
        return "?" + "&".join(chosen) if chosen else ""

    # steps

    def step_create(self, name):
        return post(self.path, self.subject.body({"name": name, **self.metadata()}, self.subject.whole(self)))

    def step_put(self, name):
        return put(f"{self.path}/{name}{self.query()}", self.object(name))

    def _patch(self):
        out = {"metadata": self.metadata(may_remove=True), **self.subject.patch(self)}
        if self.rarely(12):
            out["unknown"] = 1
        return out

    def step_merge(self, name):
        return merge(f"{self.path}/{name}{self.query()}", self._patch())

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
        self.add_directives(patch)
        return strategic(f"{self.path}/{name}{self.query()}", patch)

    def add_directives(self, node):
        """In what is not metadata, here and there."""
        for key, value in list(node.items()):
            if key == "metadata" and node.get("kind"):
                continue
            if isinstance(value, dict):
                self.add_directives(value)
                if key not in subjects.NEEDED and self.rarely(12):
                    value["$patch"] = self.one(["replace", "delete", "merge"])
            elif isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
                self.add_list_directives(node, key, value)

    def add_list_directives(self, node, key, items):
        names = [item["name"] for item in items]
        for item in items:
            self.add_directives(item)
            if self.rarely(15):
                item["$retainKeys"] = list(item)
        if self.rarely(5):
            node["$setElementOrder/" + key] = [{"name": name} for name in self.random.sample(names, len(names))]
        elif self.rarely(6):
            items.append({"$patch": "delete", "name": self.one([name for name in ["side", "data", "A", "s"] if name not in names])})
        elif self.rarely(12):
            items.append({"$patch": "replace"})

    def operation(self):
        key = self.one(["app", "tier", "x.io~1k", "v", "absent"])
        path = self.one([f"/metadata/labels/{key}", f"/metadata/annotations/{key}", "/metadata/labels", "/metadata/finalizers/0", "/metadata/finalizers/-",
                         "/metadata/ownerReferences/0", "/metadata/ownerReferences", *self.subject.places])
        op = self.one(["add", "add", "replace", "remove", "test", "copy", "move"])
        if op in ("copy", "move"):
            return {"op": op, "from": "/metadata/labels/app", "path": path}
        if op == "remove":
            return {"op": op, "path": path}
        return {"op": op, "path": path, "value": self.value_at(path)}

    def value_at(self, path):
        if path.endswith(("/labels", "/annotations")):
            return self.strings()
        if path in self.subject.places:
            return self.one(self.subject.places[path])
        if "finalizers" in path:
            return self.one(FINALIZERS)
        if path.endswith("ownerReferences"):
            return self.owners()
        return self.owner() if "ownerReferences" in path else self.one(VALUES)

    def step_json_patch(self, name):
        return json_patch(f"{self.path}/{name}{self.query()}", [self.operation() for _ in range(self.random.randint(1, 3))])

    def step_apply(self, name):
        body = self.subject.body({"name": name, **self.metadata()}, self.subject.patch(self))
        force = self.one(["", "", "&force=true", "&dryRun=All"])
        return apply(f"{self.path}/{name}?fieldManager={self.one(MANAGERS)}{force}", body)

    def step_delete(self, name):
        options = {"propagationPolicy": ["Orphan", "Foreground", "Background"], "dryRun": [["All"]], "orphanDependents": [True, False],
                   "preconditions": [{"uid": f"{{uid:{name}}}"}, {"resourceVersion": f"{{rv:{name}}}"}, {"resourceVersion": "1"}]}
        return delete(f"{self.path}/{name}", {key: self.one(options[key]) for key in self.some(sorted(options), 2)} or None)

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
        listing = get(self.path + "?" + "&".join(options))
        # One that need not be fresh comes after one that is: neither server's cache is older then.
        return [get(self.path), listing] if "resourceVersion" in names else listing

    def step_watch(self, start):
        selector = self.one(["", "", f"&labelSelector={self.selector()}", f"&fieldSelector=metadata.name{self.one(['=', '!='])}{self.one(NAMES)}"])
        return watch(f"{self.path}?watch=1&resourceVersion={{{start}}}{selector}")

    def step_get(self, name):
        accept = self.one([None, None, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io"])
        return get(f"{self.path}/{name}", headers={"Accept": accept} if accept else {})

    def case(self, name):
        kinds = [self.step_create] * 4 + [self.step_put, self.step_merge, self.step_strategic, self.step_json_patch, self.step_apply] * 3 + [
            self.step_delete, self.step_list, self.step_list, self.step_get]
        steps = [self.step_create(name) for name in NAMES]
        for _ in range(STEPS_PER_CASE):
            made = self.one(kinds)(self.one(NAMES))
            steps += made if isinstance(made, list) else [made]
        return Case(name, steps + [self.step_watch("rv0:a"), self.step_watch("rv0:b")])


def cases(n_steps, seed):
    """The kinds take turns."""
    turns = [subjects.ALL[n % len(subjects.ALL)] for n in range(-(-n_steps // STEPS_PER_CASE))]
    return [Maker(f"{seed}/{n}", subject).case(f"random-{seed}-{n}-{subject.kind}") for n, subject in enumerate(turns)]
