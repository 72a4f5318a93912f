"""StatefulSets in both versions of the API. What apps/v1 answers is compared with kube-apiserver's in tests/cluster."""

import concurrent.futures
import copy
import json
import random

import pytest

import processes

APPS, BETA = "apps/v1", "annals.dev/v1beta1"
API_VERSIONS = (APPS, BETA)
MERGE, STRATEGIC, JSON, APPLY = (f"application/{form}" for form in (
    "merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"))


def template(image="i", **more):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}], **more}}


def statefulset(name="web", api_version=APPS, **spec):
    selected = {"selector": {"matchLabels": {"app": "web"}}, "template": template(), "serviceName": "web"}
    return {"apiVersion": api_version, "kind": "StatefulSet", "metadata": {"name": name}, "spec": {**selected, **spec}}


class Sets:
    """The sets of one namespace, through either API version."""

    def __init__(self, annals, namespace):
        self.annals, self.namespace = annals, namespace

    def path(self, api_version=APPS, name="", sub=""):
        return "/".join(filter(None, (f"/apis/{api_version}/namespaces/{self.namespace}/statefulsets", name, sub)))

    def answered(self, answer, status=200):
        assert answer.status == status, answer.body
        return answer.json

    def create(self, name="web", api_version=APPS, status=201, **spec):
        return self.answered(self.annals.post(self.path(api_version), statefulset(name, api_version, **spec)), status)

    def get(self, name="web", api_version=APPS, sub=""):
        return self.answered(self.annals.get(self.path(api_version, name, sub)))

    def put(self, body, api_version=APPS, sub="", status=200):
        return self.answered(self.annals.put(self.path(api_version, body["metadata"]["name"], sub), {**body, "apiVersion": api_version}), status)

    def patch(self, body, api_version=APPS, name="web", sub="", how=MERGE, status=200, query=""):
        return self.answered(self.annals.patch(self.path(api_version, name, sub) + query, body, kind=how), status)

    def generation(self, name="web"):
        return self.get(name, BETA)["spec"].get("templateGeneration")


@pytest.fixture(scope="module")
def shared_annals():
    """Nobody acts on the sets here: this is about what the server makes of them."""
    shared = processes.Shared("--controllers=*,-statefulset")
    yield shared
    shared.close()


@pytest.fixture
def sets(annals, namespace):
    return Sets(annals, namespace)


# seeds: D1
def test_written_at_one_version__reads_at_the_other(sets):
    sets.create(podManagementPolicy="Parallel", minReadySeconds=5, ordinals={"start": 3}, replicas=4,
                persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"}, updateStrategy={"rollingUpdate": {"partition": 2}})
    before = sets.get()
    beta = sets.get(api_version=BETA)
    assert beta["apiVersion"] == BETA and beta["spec"]["generationPartition"] == 2 and beta["spec"]["templateGeneration"] == 1
    assert not {"podManagementPolicy", "minReadySeconds", "ordinals", "updateStrategy"} & set(beta["spec"])
    beta["spec"].update(replicas=5, generationPartition=1)
    sets.put(beta, BETA)
    after = sets.get()
    before["spec"]["replicas"] = 5
    before["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 1
    assert after["spec"] == before["spec"] and after["metadata"]["generation"] == 2
    assert sets.get(api_version=BETA)["spec"]["templateGeneration"] == 1


# seeds: D1
def test_apply__leaves_what_its_version_cannot_say(sets):
    """Whoever applies through one API version, and then through the other, is one manager: what the manager left out is lost, and nothing else."""
    body = statefulset(minReadySeconds=5, podManagementPolicy="Parallel")
    sets.answered(sets.annals.patch(sets.path(APPS, "web") + "?fieldManager=one", body, kind=APPLY), 201)
    again = statefulset(api_version=BETA, template=template("j"))
    sets.patch(again, BETA, how=APPLY, query="?fieldManager=one")
    sets.patch(statefulset(api_version=BETA, template=template("k")), BETA, how=APPLY, query="?fieldManager=one")
    spec = sets.get()["spec"]
    assert (spec["podManagementPolicy"], spec["minReadySeconds"]) == ("Parallel", 5)
    assert spec["template"]["spec"]["containers"][0]["image"] == "k"
    sets.patch(statefulset(template=template("l"), podManagementPolicy="Parallel"), how=APPLY, query="?fieldManager=one")
    spec = sets.get()["spec"]
    assert spec["template"]["spec"]["containers"][0]["image"] == "l" and spec["revisionHistoryLimit"] == 10
    assert sets.generation() == 4


# seeds: D3
def test_partition_beyond_the_range__survives_what_leaves_it(sets):
    sets.create(replicas=2, updateStrategy={"rollingUpdate": {"partition": 50}})
    assert sets.get(api_version=BETA)["spec"]["generationPartition"] == 50
    sets.patch({"metadata": {"labels": {"a": "b"}}, "spec": {"revisionHistoryLimit": 3}}, BETA)
    beta = sets.get(api_version=BETA)
    beta["spec"]["template"]["spec"]["containers"][0]["image"] = "j"
    sets.put(beta, BETA)
    refused = sets.patch({"spec": {"replicas": 3}}, BETA, status=422)
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.generationPartition"]
    assert sets.get()["spec"]["updateStrategy"]["rollingUpdate"]["partition"] == 50


# seeds: U16 D4
def test_status__is_written_through_one_version_and_read_through_both(sets):
    sets.create(replicas=3)
    counts = {"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3,
              "currentRevision": "web-a", "updateRevision": "web-a", "collisionCount": 0}
    generations = {"templateGeneration": 1, "targetTemplateGeneration": 1}
    sets.put({**sets.get(api_version=BETA), "status": {**counts, **generations}}, BETA, "status")
    hidden = {name: value for name, value in counts.items() if name != "updatedReplicas"}
    assert sets.get()["status"] == counts
    assert sets.get(api_version=BETA)["status"] == {**hidden, **generations}
    condition = {"type": "Odd", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    sets.patch({"status": {"conditions": [condition]}}, BETA, sub="status")
    assert sets.get()["status"] == {**counts, "conditions": [condition]}
    sets.put({**sets.get(), "status": counts}, APPS, "status")
    assert sets.get(api_version=BETA)["status"] == {**hidden, **generations}
    assert sets.get()["spec"]["replicas"] == 3 and sets.generation() == 1


IMAGE_CHANGES = {
    "merge": lambda image: (MERGE, {"spec": {"template": template(image)}}, ""),
    "strategic": lambda image: (STRATEGIC, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}, ""),
    "json": lambda image: (JSON, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}], ""),
    "apply": lambda image: (APPLY, image, "?fieldManager=applier&force=true"),
}


def change_image(sets, api_version, how, image):
    """One write that changes the template; the answer's status."""
    if how == "put":
        body = sets.get(api_version=api_version)
        body["spec"]["template"]["spec"]["containers"][0]["image"] = image
        return sets.annals.put(sets.path(api_version, "web"), body).status
    form, body, query = IMAGE_CHANGES[how](image)
    body = statefulset(api_version=api_version, template=template(image)) if how == "apply" else body
    return sets.annals.patch(sets.path(api_version, "web") + query, body, kind=form).status


# seeds: U18 U75 D2
@pytest.mark.parametrize("how", ["put", *IMAGE_CHANGES])
def test_template_generation__grows_with_every_way_to_write(sets, how):
    sets.create()
    for number, api_version in enumerate(API_VERSIONS, 2):
        assert change_image(sets, api_version, how, f"i{number}") == 200
        assert sets.generation() == number
        assert change_image(sets, api_version, how, f"i{number}") == 200
        assert sets.generation() == number


# seeds: U77
def test_template_generation__stays_with_an_equal_template(sets):
    full = template(resources=None)
    full["spec"] = {"containers": [{"image": "i", "name": "c", "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}, "env": None}], "volumes": []}
    sets.create(template=full)
    same = copy.deepcopy(sets.get()["spec"]["template"])
    same["spec"]["containers"][0]["resources"] = {"requests": {"memory": "1Gi", "cpu": 1}}
    same["spec"].pop("schedulerName")
    same["metadata"]["annotations"] = None
    for api_version in API_VERSIONS:
        version = sets.get()["metadata"]["resourceVersion"]
        sets.patch({"spec": {"template": same}}, api_version)
        assert sets.get()["metadata"]["resourceVersion"] == version and sets.generation() == 1


# seeds: U18 U78
def test_template_generation__is_not_the_clients(sets):
    sets.create(api_version=BETA, templateGeneration=77)
    assert sets.generation() == 1
    sets.patch({"spec": {"templateGeneration": 9}}, BETA)
    sets.patch({"spec": {"templateGeneration": None}}, BETA)
    sets.patch([{"op": "replace", "path": "/spec/templateGeneration", "value": 5}], BETA, how=JSON)
    sets.patch(statefulset(api_version=BETA, templateGeneration=6), BETA, how=APPLY, query="?fieldManager=x&force=true")
    applied = sets.patch(statefulset(api_version=BETA, templateGeneration=7), BETA, how=APPLY, query="?fieldManager=y")
    assert "f:templateGeneration" not in json.dumps(applied["metadata"]["managedFields"])
    sets.patch({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2}}, APPS)
    sets.put({**sets.get(api_version=BETA), "status": {"replicas": 0, "templateGeneration": 1}}, BETA, "status")
    assert sets.generation() == 1


def writer(sets, number, rounds):
    ways = ["put", *IMAGE_CHANGES]
    chance = random.Random(number)
    done = 0
    for turn in range(rounds):
        status = change_image(sets, chance.choice(API_VERSIONS), chance.choice(ways), f"i{number}-{turn}")
        assert status in (200, 409), status
        done += status == 200
    return done


# seeds: U75 U76 D2
def test_template_generation__under_many_writers(sets):
    """No watcher sees a template with another's number, or the number go back."""
    first = sets.create()
    rounds, writers = 4, 32
    with concurrent.futures.ThreadPoolExecutor(writers) as pool:
        done = sum(pool.map(lambda number: writer(sets, number, rounds), range(writers)))
    assert done > writers
    version, images, last = first["metadata"]["resourceVersion"], {}, 1
    end = sets.get(api_version=BETA)
    with sets.annals.watch(f"{sets.path(BETA)}?watch=1&resourceVersion={version}") as events:
        while version != end["metadata"]["resourceVersion"]:
            seen = events.next()["object"]
            image, number = seen["spec"]["template"]["spec"]["containers"][0]["image"], seen["spec"]["templateGeneration"]
            assert number == last + (image != images.get(last, "i")), (number, last, image)
            assert images.setdefault(number, image) == image
            last, version = number, seen["metadata"]["resourceVersion"]
    assert last == end["spec"]["templateGeneration"] and last > writers


# seeds: U17
def test_object_of_an_older_build__begins_its_history_with_the_first_change(etcd, serve):
    """As it would be in etcd, were it stored by a build that counted nothing."""
    store = etcd()
    sets = Sets(serve(store.endpoint), "default")
    sets.create()
    key = "/annals/objects/annals.dev/statefulsets/default/web"
    stored = json.loads(store.ctl("get", key, "--print-value-only"))
    assert stored["apiVersion"] == BETA and stored["spec"]["podManagementPolicy"] == "OrderedReady" and "annals.dev/hub" not in stored
    del stored["spec"]["templateGeneration"]
    store.ctl("put", key, json.dumps(stored, separators=(",", ":")))
    processes.retry_until(lambda: sets.generation() is None, "the change is seen")
    sets.patch({"spec": {"replicas": 3}})
    assert sets.generation() is None
    assert not {"templateGeneration", "targetTemplateGeneration"} & set(sets.get(api_version=BETA)["status"])
    sets.patch({"spec": {"template": template("j")}}, BETA)
    assert sets.generation() == 1


def test_new_set_of_2017__needs_no_selector(sets):
    body = statefulset(api_version=BETA)
    del body["spec"]["selector"]
    created = sets.answered(sets.annals.post(sets.path(BETA), body), 201)
    assert created["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert created["metadata"]["annotations"] == {"annals.dev/replace-broken-pods": "true"}
    replaced = sets.put(body, BETA)
    assert replaced["metadata"]["annotations"] == {"annals.dev/replace-broken-pods": "true"} and replaced["metadata"]["generation"] == 1
    assert sets.answered(sets.annals.post(sets.path(), {**body, "apiVersion": APPS}), 422)["details"]["group"] == "apps"


# seeds: R34
def test_delete__takes_dependents_along(annals, sets):
    made = sets.create()
    owner = {"apiVersion": APPS, "kind": "StatefulSet", "name": "web", "uid": made["metadata"]["uid"], "controller": True}
    pod = {"metadata": {"name": "web-0", "ownerReferences": [owner]}, "spec": template()["spec"]}
    pods = f"/api/v1/namespaces/{sets.namespace}/pods"
    assert annals.post(pods, pod).status == 201
    assert annals.delete(sets.path(BETA, "web")).status == 200
    processes.retry_until(lambda: annals.get(f"{pods}/web-0").status == 404, "the pod is collected")


def test_kubectl(annals, sets, kubectl_binary):
    def k(*arguments, **more):
        done = annals.kubectl("--namespace", sets.namespace, *arguments, binary=kubectl_binary, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    k("apply", "-f", "-", input=json.dumps(statefulset(replicas=2)))
    assert k("get", "sts", "--no-headers").split()[:2] == ["web", "0/2"]
    assert k("get", "statefulsets.v1beta1.annals.dev", "-o", "wide", "--no-headers").split()[-2:] == ["c", "i"]
    assert "statefulset.apps/web" in k("get", "all", "-o", "name")
    k("set", "image", "sts/web", "c=j")
    assert sets.generation() == 2
    assert "generationPartition" in k("explain", "statefulsets.spec", "--api-version=annals.dev/v1beta1")
    assert "minReadySeconds" in k("explain", "statefulsets.spec", "--api-version=apps/v1")
    k("delete", "sts", "web")


# ---- scale ----


def scale(replicas, name="web", **metadata):
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, **metadata}, "spec": {"replicas": replicas}}


def test_discovery__has_the_short_name_once(annals):
    """What kubectl calls sts, and shows with all, is one of both; behind a kube-apiserver that is its own."""
    found = {api_version: [(e.get("shortNames"), e.get("categories")) for e in annals.get(f"/apis/{api_version}").json["resources"] if e["name"] == "statefulsets"] for api_version in API_VERSIONS}
    assert found == {APPS: [(["sts"], ["all"])], BETA: [(None, None)]}


def test_discovery__names_the_kind_of_the_subresource(annals):
    for api_version in API_VERSIONS:
        resources = {entry["name"]: entry for entry in annals.get(f"/apis/{api_version}").json["resources"]}
        found = resources["statefulsets/scale"]
        assert (found["group"], found["version"], found["kind"], found["verbs"]) == ("autoscaling", "v1", "Scale", ["get", "patch", "update"])
        assert not {"group", "version"} & set(resources["statefulsets/status"])
    hashes = {api_version: [e["storageVersionHash"] for e in annals.get(f"/apis/{api_version}").json["resources"] if e["name"] == "statefulsets"] for api_version in API_VERSIONS}
    assert hashes[APPS] == hashes[BETA]


@pytest.mark.parametrize("api_version", API_VERSIONS)
def test_scale__every_way_to_write_it(sets, api_version):
    sets.create(replicas=2)
    shown = sets.get(api_version=api_version, sub="scale")
    assert (shown["apiVersion"], shown["kind"], shown["spec"]) == ("autoscaling/v1", "Scale", {"replicas": 2})
    assert shown["status"] == {"replicas": 0, "selector": "app=web"}
    assert set(shown["metadata"]) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}

    def put(replicas, **metadata):
        return sets.annals.put(sets.path(api_version, "web", "scale"), scale(replicas, **metadata))

    assert put(3, resourceVersion=shown["metadata"]["resourceVersion"]).json["spec"] == {"replicas": 3}
    assert put(4, resourceVersion=shown["metadata"]["resourceVersion"]).status == 409
    assert put(4, uid="x").status == 409
    assert put(-1).json["details"]["kind"] == "Scale"
    for number, (how, body) in enumerate([(MERGE, {"spec": {"replicas": 4}}), (STRATEGIC, {"spec": {"replicas": 5}}),
                                          (JSON, [{"op": "replace", "path": "/spec/replicas", "value": 6}])], 4):
        assert sets.patch(body, api_version, sub="scale", how=how)["spec"] == {"replicas": number}
    assert sets.patch(scale(7), api_version, sub="scale", how=APPLY, query="?fieldManager=auto&force=true")["spec"] == {"replicas": 7}
    refused = sets.patch(statefulset(api_version=api_version, replicas=8), api_version, how=APPLY, query="?fieldManager=x", status=409)
    assert ["conflict with \"auto\" with subresource \"scale\"" in cause["message"] for cause in refused["details"]["causes"] if cause["field"] == ".spec.replicas"] == [True]
    assert sets.patch({"spec": {"replicas": 9}}, api_version, sub="scale", query="?dryRun=All")["spec"] == {"replicas": 9}
    after = sets.get()
    assert after["spec"]["replicas"] == 7 and after["metadata"]["generation"] == 6 and sets.generation() == 1
    assert sets.annals.get(sets.path(api_version, "none", "scale")).status == 404


def test_scale__knows_no_range_of_partitions(sets):
    sets.create(api_version=BETA, replicas=3, generationPartition=2)
    sets.patch({"spec": {"replicas": 1}}, BETA, status=422)
    assert sets.patch({"spec": {"replicas": 1}}, BETA, sub="scale")["spec"] == {"replicas": 1}
    assert sets.get(api_version=BETA)["spec"]["generationPartition"] == 2


def test_kubectl_scales(annals, sets, kubectl_binary):
    sets.create()
    for number, name in enumerate(("sts/web", "statefulsets.v1beta1.annals.dev/web"), 3):
        done = annals.kubectl("--namespace", sets.namespace, "scale", name, f"--replicas={number}", binary=kubectl_binary)
        assert (done.returncode, sets.get()["spec"]["replicas"]) == (0, number), done.stderr
    refused = annals.kubectl("--namespace", sets.namespace, "scale", "sts/web", "--replicas=9", "--current-replicas=1", binary=kubectl_binary)
    assert refused.returncode != 0 and sets.get()["spec"]["replicas"] == 4


# ---- names that kubectl knows it by ----

def test_discovery__one_api_version_has_the_short_name(annals):
    def entry(api_version):
        return next(r for r in annals.get(f"/apis/{api_version}").json["resources"] if r["name"] == "statefulsets")

    assert (entry(APPS)["shortNames"], entry(APPS)["categories"]) == (["sts"], ["all"])
    assert "shortNames" not in entry(BETA) and "categories" not in entry(BETA)


def test_max_unavailable__is_kept_behind_its_gate(up, namespace, annals):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "40%"}}
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    without = annals.post(path, statefulset(updateStrategy=strategy)).json["spec"]["updateStrategy"]
    annals.delete(f"{path}/web")
    assert without == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    gated = up("--feature-gates=MaxUnavailableStatefulSet=true", "--fake-nodes=1")
    kept = gated.post(path, statefulset(replicas=5, updateStrategy=strategy, podManagementPolicy="Parallel"))
    assert kept.json["spec"]["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": "40%"}}
    assert gated.post(path, statefulset("other")).json["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0, "maxUnavailable": 1}

    def pods():
        return gated.get("/api/v1/namespaces/default/pods?labelSelector=app=web").json["items"]

    def status():
        return gated.get(f"{path}/web").json["status"]

    processes.retry_until(lambda: status().get("readyReplicas") == 5, "five pods")
    holding = template(image="j")
    holding["metadata"]["annotations"] = {"fake-node.annals.dev/ready": "false"}
    gated.patch(f"{path}/web", {"spec": {"template": holding}}, kind=MERGE)
    # 40 % of five: two of them are made anew, are not Ready, and so keep the three others up.
    processes.retry_until(lambda: status().get("updatedReplicas") == 2 and status()["readyReplicas"] == 3, "two are updated")
    assert sorted(p["metadata"]["name"] for p in pods() if p["spec"]["containers"][0]["image"] == "j") == ["web-3", "web-4"]
