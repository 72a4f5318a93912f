"""Events: the old form and the new, what each demands, field selectors, the columns."""

from cases_configmaps import PROTOBUF, TABLE, proto_body, protobuf
from deviations import REMEMBERED
from exchange import apply, delete, get, json_patch, merge, post, put, strategic, watch

EVENTS = "/api/v1/namespaces/{ns}/events"
ABOUT = {"kind": "Pod", "namespace": "{ns}", "name": "web", "uid": "u", "apiVersion": "v1", "resourceVersion": "5", "fieldPath": "spec.containers[web]"}
TIME, MICRO = "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.678901Z"
NEW = {"eventTime": MICRO, "reportingComponent": "example.com/c", "reportingInstance": "c-1", "action": "Acting", "reason": "Because"}


def event(name, about=ABOUT, **more):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, **more}
FORMS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
FORM = {"eventTime": MICRO, "reportingController": "example.com/c", "reportingInstance": "c-1", "action": "Acting", "reason": "Because", "type": "Normal", "note": "so it is"}


def form(name, **more):
    return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name}, "regarding": ABOUT, **FORM, **more}


def without(parts, name):
    return {key: value for key, value in parts.items() if key != name}


PARTS = [{}, {"involvedObject": {}}, {"involvedObject": None}, {"involvedObject": {"namespace": "other"}}, {"involvedObject": {"namespace": 5}}, {"involvedObject": []}, {"source": {"component": "c", "host": "h"}}, {"source": None}, {"count": 5}, {"count": "5"}, {"count": -1}, {"type": "Normal"}, {"type": "Strange"},
         {"firstTimestamp": TIME, "lastTimestamp": TIME}, {"firstTimestamp": MICRO}, {"firstTimestamp": None}, {"firstTimestamp": "x"}, {"eventTime": TIME}, {"eventTime": None}, {"series": {}}, {"series": None}, {"series": {"count": 1, "lastObservedTime": MICRO}}, {"series": {"state": "x"}},
         {"related": {"name": "x"}}, {"related": {}}, {"related": None}, {"message": "x" * 2000}, {"reason": "x" * 200}, {"bogus": 1}, {"reportingComponent": None}, {"reportingController": "x"}]
NEWS = [NEW, *[without(NEW, name) for name in NEW], {"eventTime": MICRO}, *[{**NEW, name: "x" * 129} for name in ("reportingInstance", "action", "reason")], {**NEW, "message": "x" * 1025}, {**NEW, "message": "x" * 1024}, {**NEW, "reportingComponent": "a b"}, {**NEW, "reportingComponent": "a/b/c"},
        {**NEW, "involvedObject": {}}, {**NEW, "involvedObject": {"namespace": "other"}}, {**NEW, "series": {"count": 1}}]

CASES = {
    "parts": [post(EVENTS, {**event(f"p{n}"), **more}) for n, more in enumerate(PARTS)] + [get(f"{EVENTS}/p{n}") for n in (6, 7, 13, 19, 21, 24)],
    "new-form": [post(EVENTS, {**event(f"n{n}"), **more}) for n, more in enumerate(NEWS)],
    "strict": [post(EVENTS + "?fieldValidation=Strict", {**event(f"s{n}"), **more}) for n, more in enumerate(PARTS)],
    "names": [post(EVENTS, event(name)) for name in ("a.b-c", "A", "a_b", "a b", "a/b", "x" * 254, "", "..", "é")] + [post(EVENTS, {**event(""), "metadata": {"generateName": "ev-"}})],
    "metadata": [post(EVENTS, {**event("m1"), "metadata": {"name": "m1", "labels": {"a b": "c"}, "finalizers": ["bad"]}}), post(EVENTS, {**event("m2", {}), "metadata": {"name": "m2", "labels": {"a b": "c"}}}), post(EVENTS, {**event("m3"), "metadata": {"name": "m3", "finalizers": ["x"]}}),
                 merge(EVENTS + "/m3", {"metadata": {"labels": {"a b": "c"}, "finalizers": ["y", "z z"]}}), merge(EVENTS + "/m3", {"metadata": {"labels": {"a b": "c"}}, "involvedObject": {"namespace": "x"}}), merge(EVENTS + "/m3", {"metadata": {"finalizers": None, "uid": "x"}}),
                 post("/api/v1/namespaces/default/events?dryRun=All", event("d", {})), post("/api/v1/namespaces/kube-system/events?dryRun=All", event("d", {})), post("/api/v1/namespaces/kube-system/events?dryRun=All", event("d", {}, **NEW)), post("/api/v1/namespaces/{ns}-none/events", event("d", {}))],
    "updates": [post(EVENTS, event("u", reason="A", count=1)), put(EVENTS + "/u", event("u", reason="B", count=2)), put(EVENTS + "/new", event("new")), put(EVENTS + "/new", event("new", {})), merge(EVENTS + "/u", {"involvedObject": {"name": "other"}}), merge(EVENTS + "/u", {"series": {"count": 3}}),
                strategic(EVENTS + "/u", {"count": 5, "lastTimestamp": TIME}), strategic(EVENTS + "/u", {"source": {"host": "h"}, "related": {"kind": "x"}}), json_patch(EVENTS + "/u", [{"op": "add", "path": "/eventTime", "value": MICRO}]), merge(EVENTS + "/u", {"eventTime": MICRO}), merge(EVENTS + "/u", NEW),
                merge(EVENTS + "/u", {"action": None}), get(EVENTS + "/u"), delete(EVENTS + "/u")],
    "apply": [apply(EVENTS + "/a?fieldManager=one", event("a", reason="A", source={"component": "c"})), apply(EVENTS + "/a?fieldManager=two", event("a", reason="B")), apply(EVENTS + "/a?fieldManager=two&force=true", event("a", {"name": "x", "namespace": "{ns}"}, count=1)),
              apply(EVENTS + "/a?fieldManager=two", event("a", {"name": "x", "namespace": "{ns}"}, series={"count": 2, "lastObservedTime": MICRO})), get(EVENTS + "/a")],
    "tables": [post(EVENTS, event("t1", reason="A", message=" a message \n", type="Normal", count=3, firstTimestamp=TIME, lastTimestamp="2021-01-02T03:04:05Z", source={"component": "c", "host": "h"})), post(EVENTS, event("t2", **NEW)), post(EVENTS, event("t3", {"namespace": "{ns}", "kind": "NODE"}, series={"count": 7, "lastObservedTime": MICRO})),
               post(EVENTS, event("t4", source={"component": "c"}, series={"count": 0})), post(EVENTS, event("t5", source={"host": "h"})), get(EVENTS, headers=TABLE), get(EVENTS + "/t2", headers=TABLE)],
    "selectors": [post(EVENTS, event("s1", reason="A", type="Normal", source={"component": "c"})), post(EVENTS, event("s2", {"namespace": "{ns}", "kind": "Node", "name": "n"}, **NEW))]
        + [get(f"{EVENTS}?fieldSelector={selector}") for selector in ("involvedObject.kind=Pod", "involvedObject.kind!=Pod", "involvedObject.namespace={ns}", "involvedObject.name=n", "involvedObject.uid=u", "involvedObject.apiVersion=v1", "involvedObject.resourceVersion=5", "involvedObject.fieldPath=spec.containers[web]",
                                                                     "reason=A", "reason=Because,type!=Normal", "reportingComponent=example.com/c", "source=c", "source=example.com/c", "type=Normal", "metadata.name=s1", "reportingController=x", "regarding.kind=Pod", "message=x", "action=x")] + [delete(EVENTS + "?fieldSelector=type=Normal"), get(EVENTS)],
    "deletes": [post(EVENTS, event(f"d{n}")) for n in range(4)] + [delete(EVENTS + "/d0?propagationPolicy=Foreground"), delete(EVENTS + "/d1?propagationPolicy=Orphan"), delete(EVENTS + "/d2?orphanDependents=true"), delete(EVENTS + "/d3", {"orphanDependents": False}), get(EVENTS),
                post(EVENTS, {**event("f"), "metadata": {"name": "f", "finalizers": ["x.io/y"]}}), delete(EVENTS + "/f?propagationPolicy=Foreground"), delete(EVENTS + "/f?propagationPolicy=Orphan"), merge(EVENTS + "/f", {"metadata": {"finalizers": None}}), get(EVENTS)],
    "watch": [watch(EVENTS + "?resourceVersion=0&fieldSelector=reason=A", [post(EVENTS, event("w", reason="B")), merge(EVENTS + "/w", {"reason": "A"}), merge(EVENTS + "/w", {"count": 2}), merge(EVENTS + "/w", {"reason": "C"}), delete(EVENTS + "/w")])],
    "protobuf": [post("/api/v1/namespaces/default/events?dryRun=All", proto_body(b"Event", (1, protobuf((1, b"p1"))), (2, protobuf((1, b"Pod"), (3, b"x"))), (3, b"R"), (4, b"M"), (5, protobuf((1, b"c"))), (6, protobuf((1, 1577934245))), (8, 3), (9, b"Normal"), (10, protobuf((1, 1577934245), (2, 5000))), (11, protobuf((1, 2))),
                                                                                           (12, b"Act"), (14, b"x.io/c"), (15, b"i")), headers=PROTOBUF)],
    "form": [post(FORMS, form("f")), get(FORMS + "/f"), get(EVENTS + "/f"), post(EVENTS, event("o", source={"component": "c"}, count=3, firstTimestamp=TIME, lastTimestamp=TIME, message="m", series={})), get(FORMS + "/o"), get(FORMS), get("/apis/events.k8s.io/v1"), get("/apis/events.k8s.io"), get(FORMS, headers=TABLE),
             get(FORMS + "/f", headers={"Accept": "application/yaml"}), post(FORMS, event("x")), delete(FORMS + "/f"), delete(FORMS)],
    "form-rules": [post(FORMS, {**form(f"r{n}"), **more}) for n, more in enumerate([{name: None} for name in FORM] + [{"regarding": {}}, {"regarding": {"namespace": "x"}}, {"type": "Strange"}, {"deprecatedCount": 1}, {"deprecatedSource": {"component": "x"}}, {"deprecatedFirstTimestamp": TIME}, {"deprecatedLastTimestamp": TIME},
                                                                                  {"series": {}}, {"series": {"count": 1, "lastObservedTime": MICRO}}, {"series": {"count": 2, "lastObservedTime": MICRO}}, {"note": "x" * 1025}, {"reportingController": "a b"}, {"message": "x"}, {"metadata": {"name": "A_b"}}, {"metadata": {"name": "l", "labels": {"a b": "c"}}}, {"metadata": {}}])],
    "form-updates": [post(FORMS, form("u")), put(FORMS + "/u", form("u", series={"count": 2, "lastObservedTime": MICRO})), put(FORMS + "/u", form("u", series={"count": 1}))] + [merge(FORMS + "/u", patch) for patch in (
                        {"metadata": {"labels": {"a": "b"}}}, {"regarding": {"name": "other"}}, {"reason": "Other"}, {"note": "other"}, {"deprecatedSource": {"host": "h"}}, {"deprecatedFirstTimestamp": TIME}, {"deprecatedCount": 5}, {"type": "Warning"}, {"eventTime": "2020-01-02T03:04:05.678902Z"}, {"action": "x"}, {"related": {"name": "x"}},
                        {"reportingController": "x.io/y"}, {"reportingInstance": "x"}, {"series": None}, {"regarding": None})] + [merge(EVENTS + "/u", {"message": "m", "count": 1}, deviates=REMEMBERED), merge(FORMS + "/u", {"metadata": {"labels": {"a": "c"}}}, deviates=REMEMBERED), put(FORMS + "/new", form("new")),
                     apply(FORMS + "/a?fieldManager=m", form("a")), apply(FORMS + "/a?fieldManager=m", form("a", series={"count": 3, "lastObservedTime": MICRO})), get(EVENTS + "/a"), get(FORMS + "/a")],
    "form-selectors": [post(FORMS, form("s1")), post(EVENTS, event("s2", reason="A"))] + [get(f"{FORMS}?fieldSelector={selector}") for selector in (
                          "regarding.kind=Pod", "regarding.name=web,reason=A", "reportingController=example.com/c", "type=Normal", "metadata.name=s1", "involvedObject.kind=Pod", "source=c", "reportingComponent=x", "note=x", "reason!=A")]
        + [watch(FORMS + "?resourceVersion=0&fieldSelector=reason=Because", [merge(EVENTS + "/s1", {"count": 2}, deviates=REMEMBERED), delete(FORMS + "/s1")])],
    "form-protobuf": [post(FORMS, proto_body(b"Event", (1, protobuf((1, b"p1"))), (2, protobuf((1, 1577934245), (2, 678901000))), (4, b"x.io/c"), (5, b"i"), (6, b"Act"), (7, b"R"), (8, protobuf((1, b"Pod"), (3, b"x"))), (10, b"N"), (11, b"Normal"), api_version=b"events.k8s.io/v1"), headers=PROTOBUF)],
}
