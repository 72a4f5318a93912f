"""What a garbage collector has to do, as scenarios that run against whatever server and collector there is: `for scenario in SCENARIOS:
scenario(Heap(client, namespace, other_namespace))`. Each says itself what must be left.

The state of a heap is {name: words}: the names of its owners, "-" when it is being deleted, its finalizers in brackets."""

import itertools
import threading

import processes

NAMESPACES = "/api/v1/namespaces"
HOLD = "example.com/hold"
SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def words_of(meta):
    words = ["-"] if meta.get("deletionTimestamp") else []
    words += [f"[{finalizer}]" for finalizer in meta.get("finalizers", [])]
    return " ".join(words + sorted(owner["name"] for owner in meta.get("ownerReferences", [])))


def owner(meta, block=False, **other):
    """A reference to the ConfigMap with that metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], "blockOwnerDeletion": block, **other}


class Heap:
    """The ConfigMaps of a namespace: make, delete, look."""

    sentinels = itertools.count(1)

    def __init__(self, client, namespace, other_namespace):
        self.client, self.namespace, self.other_namespace = client, namespace, other_namespace

    def path(self, name="", namespace=None):
        return f"{NAMESPACES}/{namespace or self.namespace}/configmaps" + (f"/{name}" if name else "")

    def make(self, name, *owners, namespace=None, **meta):
        body = {"metadata": {"name": name, "ownerReferences": list(owners), **meta}}
        made = self.client.post(self.path(namespace=namespace), body)
        assert made.status == 201, made
        return made.json["metadata"]

    def chain(self, names, block=False, **last):
        """a, b owned by a, c owned by b ...; `last` is for the last."""
        metas = [self.make(names[0])]
        for name in names[1:]:
            metas.append(self.make(name, owner(metas[-1], block), **(last if name == names[-1] else {})))
        return metas

    def delete(self, name, policy="Background", namespace=None):
        gone = self.client.delete(self.path(name, namespace), {"propagationPolicy": policy})
        assert gone.status == 200, gone

    def patch(self, name, **meta):
        done = self.client.patch(self.path(name), {"metadata": meta})
        assert done.status == 200, done
        return done.json["metadata"]

    def release(self, name):
        self.patch(name, finalizers=None)

    def state(self, namespace=None):
        found = self.client.get(self.path(namespace=namespace)).json["items"]
        metas = [item["metadata"] for item in found]
        return {meta["name"]: words_of(meta) for meta in metas if meta["name"] != "kube-root-ca.crt"}

    def becomes(self, **expected):
        """Waits for it, then until the collector has surely done something that was asked of it later: it must still be so."""
        seen = {}

        def is_so():
            seen["state"] = self.state()
            return seen["state"] == expected

        try:
            processes.retry_until(is_so, "the collector", interval=0.02)
        except TimeoutError:
            assert seen["state"] == expected
        self.sentinel()
        assert self.state() == expected

    def event(self, name, reason):
        """The Event about an object that has been, or comes yet, with that reason."""
        def found():
            events = self.client.get(f"{NAMESPACES}/{self.namespace}/events").json["items"]
            return next((event for event in events if (event["involvedObject"]["name"], event["reason"]) == (name, reason)), None)

        return processes.retry_until(found, f"an event {reason} about {name}")

    def sentinel(self):
        n = next(self.sentinels)
        top = self.make(f"sentinel-{n}", namespace=self.other_namespace)
        self.make(f"sentinel-{n}-child", owner(top), namespace=self.other_namespace)
        self.delete(f"sentinel-{n}", namespace=self.other_namespace)
        child = self.path(f"sentinel-{n}-child", self.other_namespace)
        processes.retry_until(lambda: self.client.get(child).status == 404, "the sentinel")


# ---- background ----


@scenario
def five_generations_go(heap):
    heap.chain("abcde")
    heap.delete("a")
    heap.becomes()


@scenario
def the_living_are_left_alone(heap):
    heap.chain("abc")
    heap.make("x")
    heap.becomes(a="", b="a", c="b", x="")
    heap.delete("x")
    heap.becomes(a="", b="a", c="b")


@scenario
def a_wide_fan_goes(heap):
    top = heap.make("top")
    for n in range(60):
        heap.make(f"leaf-{n}", owner(top, block=n % 2 == 0))
    heap.delete("top")
    heap.becomes()


@scenario
def a_circle_stays_until_one_goes(heap):
    a, _, c = heap.chain("abc")
    heap.patch("a", ownerReferences=[owner(c)])
    heap.becomes(a="c", b="a", c="b")
    heap.delete("a")
    heap.becomes()
    assert a


@scenario
def a_finalizer_holds_a_dependent(heap):
    heap.chain("abc", finalizers=[HOLD])
    heap.delete("a")
    heap.becomes(c=f"- [{HOLD}] b")
    heap.release("c")
    heap.becomes()


@scenario
def a_dependent_orphans_its_own_if_it_says_so(heap):
    a = heap.make("a")
    b = heap.make("b", owner(a), finalizers=["orphan"])
    heap.make("c", owner(b))
    heap.delete("a")
    heap.becomes(c="")


# ---- several owners ----


@scenario
def one_solid_owner_is_enough(heap):
    a, x = heap.make("a"), heap.make("x")
    heap.make("d", owner(a), owner(x))
    heap.delete("a")
    heap.becomes(x="", d="x")


@scenario
def a_diamond_loses_a_side(heap):
    a = heap.make("a")
    b, c = heap.make("b", owner(a)), heap.make("c", owner(a))
    heap.make("d", owner(b), owner(c))
    heap.delete("b")
    heap.becomes(a="", c="a", d="c")
    heap.delete("a")
    heap.becomes()


@scenario
def who_loses_all_owners_goes(heap):
    a, b = heap.make("a"), heap.make("b")
    heap.make("d", owner(a), owner(b))
    heap.delete("a")
    heap.delete("b")
    heap.becomes()


@scenario
def one_of_the_owners_waits(heap):
    a, x = heap.make("a"), heap.make("x")
    heap.make("d", owner(a, block=True), owner(x, block=True))
    heap.delete("a", "Foreground")
    heap.becomes(x="", d="x")


# ---- absent owners ----


@scenario
def an_owner_that_never_was(heap):
    heap.make("b", owner({"name": "nobody", "uid": "00000000-0000-0000-0000-000000000001"}))
    heap.becomes()


@scenario
def an_owner_by_that_name_is_another(heap):
    heap.make("a")
    heap.make("b", owner({"name": "a", "uid": "00000000-0000-0000-0000-000000000002"}))
    heap.becomes(a="")


@scenario
def an_owner_that_came_again(heap):
    a = heap.make("a", finalizers=[HOLD])
    heap.make("b", owner(a))
    heap.delete("a")
    heap.release("a")
    again = heap.make("a")
    heap.make("c", owner(again))
    heap.becomes(a="", c="a")


@scenario
def an_owner_by_another_name(heap):
    a = heap.make("a")
    heap.make("b", owner(a, name="alias"))
    heap.becomes(a="")


@scenario
def two_names_for_an_owner_that_is_not_there(heap):
    nobody = {"name": "nobody", "uid": "00000000-0000-0000-0000-000000000003"}
    heap.make("b", owner(nobody))
    heap.make("c", owner(nobody, name="no-one"))
    heap.becomes()


@scenario
def an_owner_of_an_unknown_kind_may_be_there(heap):
    a = heap.make("a")
    heap.make("b", owner(a, kind="Widget", apiVersion="example.com/v1"))
    heap.make("c", owner(a, kind="Widget", apiVersion="example.com/v1"), owner(a, uid="00000000-0000-0000-0000-000000000004"))
    heap.becomes(a="", b="a", c="a a")


@scenario
def an_owner_that_is_taken_back(heap):
    a = heap.make("a")
    heap.make("b", owner(a))
    heap.patch("b", ownerReferences=None)
    heap.delete("a")
    heap.becomes(b="")


# ---- foreground ----


@scenario
def foreground_goes_from_below(heap):
    heap.chain("abcde", block=True)
    heap.delete("a", "Foreground")
    heap.becomes()


@scenario
def foreground_waits_for_who_blocks(heap):
    heap.chain("abc", block=True, finalizers=[HOLD])
    heap.delete("a", "Foreground")
    heap.becomes(a="- [foregroundDeletion]", b="- [foregroundDeletion] a", c=f"- [{HOLD}] b")
    heap.release("c")
    heap.becomes()


@scenario
def foreground_does_not_wait_for_others(heap):
    heap.chain("ab", finalizers=[HOLD])
    heap.delete("a", "Foreground")
    heap.becomes(b=f"- [{HOLD}] a")
    heap.release("b")
    heap.becomes()


@scenario
def foreground_of_who_owns_nothing(heap):
    heap.make("a")
    heap.delete("a", "Foreground")
    heap.becomes()


@scenario
def foreground_in_a_circle(heap):
    _, _, c = heap.chain("abc", block=True)
    heap.patch("a", ownerReferences=[owner(c, block=True)])
    heap.delete("a", "Foreground")
    heap.becomes()


@scenario
def foreground_ends_when_nobody_blocks_any_more(heap):
    a, _ = heap.chain("ab", block=True, finalizers=[HOLD])
    heap.delete("a", "Foreground")
    heap.becomes(a="- [foregroundDeletion]", b=f"- [{HOLD}] a")
    heap.patch("b", ownerReferences=[owner(a)])
    heap.becomes(b=f"- [{HOLD}] a")
    heap.release("b")
    heap.becomes()


@scenario
def foreground_given_up_for_background(heap):
    heap.chain("ab", block=True, finalizers=[HOLD])
    heap.delete("a", "Foreground")
    heap.becomes(a="- [foregroundDeletion]", b=f"- [{HOLD}] a")
    heap.delete("a", "Background")
    heap.becomes(b=f"- [{HOLD}] a")
    heap.release("b")
    heap.becomes()


# ---- orphaning ----


@scenario
def orphans_stay(heap):
    a = heap.make("a")
    b = heap.make("b", owner(a, block=True))
    heap.make("c", owner(a))
    heap.make("d", owner(b))
    heap.delete("a", "Orphan")
    heap.becomes(b="", c="", d="b")


@scenario
def orphaning_leaves_other_owners(heap):
    a, x = heap.make("a"), heap.make("x")
    heap.make("d", owner(a), owner(x))
    heap.delete("a", "Orphan")
    heap.becomes(x="", d="x")


@scenario
def orphaning_of_who_is_held(heap):
    a = heap.make("a", finalizers=[HOLD])
    heap.make("b", owner(a))
    heap.delete("a", "Orphan")
    heap.becomes(a=f"- [{HOLD}]", b="")
    heap.release("a")
    heap.becomes(b="")


@scenario
def many_orphans_stay(heap):
    top = heap.make("top")
    for n in range(40):
        heap.make(f"leaf-{n}", owner(top))
    heap.delete("top", "Orphan")
    heap.becomes(**{f"leaf-{n}": "" for n in range(40)})


# ---- namespaces ----


@scenario
def an_owner_in_another_namespace_is_none(heap):
    a = heap.make("far", namespace=heap.other_namespace)
    heap.make("b", owner(a))
    heap.becomes()
    assert "far" in heap.state(heap.other_namespace)
    event = heap.event("b", "OwnerRefInvalidNamespace")
    reference = f'[v1/ConfigMap, namespace: {heap.namespace}, name: far, uid: {a["uid"]}]'
    assert event["message"] == f'ownerRef {reference} does not exist in namespace "{heap.namespace}"'
    assert (event["type"], event["source"]["component"]) == ("Warning", "garbage-collector-controller")
    heap.delete("far", namespace=heap.other_namespace)


@scenario
def a_cluster_scoped_owner(heap):
    name = f"{heap.namespace}-owner"
    top = heap.client.post(NAMESPACES, {"metadata": {"name": name, "finalizers": [HOLD]}}).json["metadata"]
    heap.make("b", owner(top, kind="Namespace"))
    heap.make("c", owner(top, kind="Namespace", uid="00000000-0000-0000-0000-000000000005"))
    heap.becomes(b=name)
    assert heap.client.delete(f"{NAMESPACES}/{name}").status == 200
    heap.becomes(b=name)
    assert heap.client.patch(f"{NAMESPACES}/{name}", {"metadata": {"finalizers": None}}).status == 200
    heap.becomes()


@scenario
def a_cluster_scoped_dependent_keeps_its_namespaced_owner(heap):
    a = heap.make("a")
    name = f"{heap.namespace}-dependent"
    assert heap.client.post(NAMESPACES, {"metadata": {"name": name, "ownerReferences": [owner(a)]}}).status == 201
    heap.becomes(a="")
    heap.delete("a")
    heap.becomes()
    top = heap.client.get(f"{NAMESPACES}/{name}").json["metadata"]
    assert words_of(top) == "a"
    assert heap.client.delete(f"{NAMESPACES}/{name}").status == 200


# ---- races ----


@scenario
def who_is_adopted_in_time_stays(heap):
    """An owner goes while another adopts the dependent: either it is gone, or it has the new owner and stays."""
    x = heap.make("x")
    expected = {"x": ""}
    for n in range(25):
        a = heap.make(f"a{n}")
        b = heap.make(f"b{n}", owner(a))
        deleter = threading.Thread(target=heap.delete, args=[f"a{n}"])
        deleter.start()
        adopted = heap.client.patch(heap.path(f"b{n}"), {"metadata": {"uid": b["uid"], "ownerReferences": [owner(a), owner(x)]}})
        deleter.join()
        assert adopted.status in (200, 404)
        if adopted.status == 200:
            expected[f"b{n}"] = "x"
    heap.becomes(**expected)
