"""GET and LIST: selectors, versions, pages."""

import base64
import json

from exchange import create, delete, get, gets, merge, post, put, revision, namespace

LABELLED = [create("a", labels={"app": "web", "tier": "front", "v": "1"}), create("b", labels={"app": "web", "v": "2"}),
            create("c", labels={"app": "db", "empty": "", "v": "10"}), create("d"),
            create("e", labels={"app": "Web", "v": "-3", "x.io/app": "web", "v.1": "x"})]

LABEL_SELECTORS = [
    "app in (web)", "app in (web,db),tier", "app in (web,)", "app in (,)", "app in ()", "app notin ()", "app notin (web,db)", "app notin (,web)",
    "!app,!tier", "! app", "app , tier", " app = web ", "app=web,app=db", "app=web,app!=db", "app=web,app=web", "x.io/app", "x.io/app=web",
    "x.io/app in (web)", "!x.io/app", "v>1", "v<2", "v > 1", "v>-4", "v<10,v>1", "v>1,app", "app>1", "empty", "!empty", "empty=", "empty!=",
    "empty in ()", "empty in (,x)", "app!=", "app=", "app==", "app=in", "in=x", "notin", "in", "in in (in)", "notin notin (x)", "app in(web)",
    "app\tin (web)", "app=\"web\"", "app=web,", ",app=web", ",", "app,,tier", "app=web;tier", "(app)", "app)", "app=(web)", "app in (web))",
    "app in ((web))", "app in (web db)", "app in (web,db", "app in", "app notin", "app not in (web)", "app = = web", "app===web", "app=!web",
    "app!web", "app!!=web", "!!app", "!", "=", "==", "!=", "!=web", "in (web)", "app=>1", "v>", "v>=1", "v>1.5", "v>abc", "v>99999999999999999999",
    "v><1", "-app", "app-", "_app", "app.", "App", "a/b/c", "/app", "app/", "UPPER.io/x", "x_y.io/z", "app=web!", "app=-web", "app=web-", "app=we_b.x",
    "app=wéb", "äpp", "app=we b", "app in (we b)", "app in (-web)", "app in (web,-db)", "app notin (a/b)", "app=a/b",
    "app=" + "x" * 63, "app=" + "x" * 64, "x" * 63, "x" * 64, "x" * 253 + "/y", ("x" * 63 + ".") * 3 + "x" * 61 + "/y", "app in (" + ",".join("abcdefgh") + ",web)",
    "app==web,tier==front", "app!=web,app", "tier!=front", "tier notin (front)", "v.1", "v.1=x", "v in (1,2)", "v in (1, 2 , 10)", "app=web&x",
    "app%3Dweb", "app=%2577eb", "app+in+(web)", "app%0Ain%20(web)", "app%00", "app%20", "%20", "app=web%20,%20v=1", "app%20in%20(web)%20,v",
]

FIELD_SELECTORS = [
    "metadata.name=a,metadata.name=b", "metadata.name=a,metadata.name!=b", "metadata.name!=a,metadata.name!=b", "metadata.name=", "metadata.name==",
    "metadata.name!=", "metadata.namespace!={ns}", "metadata.namespace=", "metadata.namespace==", "metadata.name = a", " metadata.name=a",
    "metadata.name=a ", "metadata.name= a", "metadata.name=a,", ",metadata.name=a", ",", ",,", "metadata.name=a,,metadata.namespace={ns}", "=", "==", "!=", "=a", "a",
    "metadata.name===a", "metadata.name=!a", "metadata.name!a", "metadata.name>a", "Metadata.name=a", "name=a", "metadata.name=a\\,b", "metadata.name=a\\=b",
    "metadata.name=a\\", "metadata.name=a\\x", "metadata.name=\\\\", "metadata.name=a=b", "metadata.name==a=b", "metadata.name!=a=b", "metadata.name=A",
    "metadata.generation=0", "data.k=v", "kind=ControllerRevision", "metadata.name=a,bogus=1", "bogus=1,metadata.name=a", "bogus!=1", "metadata.labels=x",
    "metadata.name=a%2Cmetadata.name=a", "metadata.uid={uid:a}", "metadata.creationTimestamp=x", "status.phase=Active", "spec.x=1", "metadata.ownerReferences=x",
]

CASES = {
    "export": LABELLED[:1] + [get(path + "?" + query) for query in (
        "export=true", "export=false", "export=0", "export=FALSE", "export=", "export", "export=x", "export=false&export=true", "export=true&resourceVersion=x", "exact=true")
        for path in ("{crs}/" + LABELLED[0].body["metadata"]["name"], "{crs}/none", "{crs}", "{nss}/{ns}")],
    "label-selectors": LABELLED + [get("{crs}?labelSelector=" + selector) for selector in LABEL_SELECTORS],
    "field-selectors": LABELLED[:3] + [get("{crs}?fieldSelector=" + selector) for selector in FIELD_SELECTORS],
    "selectors-together": LABELLED + gets(
        "{crs}?labelSelector=app=web&fieldSelector=metadata.name=a", "{crs}?labelSelector=app=web&fieldSelector=metadata.name=c",
        "{crs}?labelSelector=app=web&labelSelector=app=db", "{crs}?fieldSelector=metadata.name=a&fieldSelector=metadata.name=b",
        "{crs}?labelSelector=a%20b&fieldSelector=x", "{crs}?labelselector=app=web", "{crs}?fieldSelector=x=1&limit=abc", "{crs}?labelSelector=a%20b&limit=abc",
        "{crs}?labelSelector=a%20b&resourceVersion=abc", "{crs}?fieldSelector=bogus=1&resourceVersion=abc", "{crs}?limit=1&labelSelector=app=web",
        "{crs}?limit=1&fieldSelector=metadata.name!=a", "{crs}?limit=1&fieldSelector=metadata.name=b", "{crs}?limit=1&fieldSelector=metadata.name=b,metadata.namespace={ns}",
        "{crs}?limit=5", "{crs}?limit=4", "{crs}?limit=6", "{crs}/a?labelSelector=app=db", "{crs}/a?fieldSelector=metadata.name=b", "{crs}/a?limit=abc",
        "{crs}/a?timeoutSeconds=abc", "{crs}/a?watch=maybe", "{crs}/a?continue=x", "{crs}/a?resourceVersionMatch=Exact", "{crs}/a?fieldSelector=bogus=1"),
    "namespaces-selectors": [post("{nss}", namespace("{ns}-x", labels={"of": "{ns}"})), post("{nss}", namespace("{ns}-y", labels={"of": "{ns}", "z": "1"}))] + gets(
        "{nss}?labelSelector=of={ns}", "{nss}?labelSelector=of={ns},z", "{nss}?labelSelector=of={ns},!z", "{nss}?labelSelector=of={ns}&limit=1",
        "{nss}?fieldSelector=metadata.name={ns}-x", "{nss}?fieldSelector=status.phase=Active&labelSelector=of={ns}", "{nss}?fieldSelector=status.phase!=Active&labelSelector=of={ns}",
        "{nss}?fieldSelector=status.phase=Terminating&labelSelector=of={ns}", "{nss}?fieldSelector=name={ns}-x", "{nss}?fieldSelector=name={ns}-x,metadata.name={ns}-x", "{nss}?fieldSelector=metadata.namespace=x",
        "{nss}?fieldSelector=metadata.namespace=&labelSelector=of={ns}", "{nss}?fieldSelector=spec.x=1", "{nss}?fieldSelector=metadata.name={ns}-x,status.phase=Active",
        "{nss}?labelSelector=kubernetes.io/metadata.name={ns}-x", "{nss}?labelSelector=kubernetes.io/metadata.name in ({ns}-x,{ns}-y)", "{nss}/{ns}-x", "{nss}/{ns}-none",
        "{nss}?fieldSelector=metadata.name={ns}-x&limit=1", "{nss}/{ns}-x?resourceVersion=0", "{nss}?resourceVersion=0&labelSelector=of={ns}&limit=1"),
    "versions": [create("a"), create("b"), put("{crs}/a", revision("a", revision=2)), put("{crs}/a", revision("a", revision=3)), delete("{crs}/b")] + gets(
        "{crs}?resourceVersion={rv0:a}&resourceVersionMatch=Exact", "{crs}?resourceVersion={rv:b}&resourceVersionMatch=Exact",
        "{crs}?resourceVersion={rv:b}&resourceVersionMatch=Exact&labelSelector=x", "{crs}?resourceVersion={rv:b}&limit=1", "{crs}?continue={continue}", "{crs}?continue={continue}&limit=1",
        "{crs}?resourceVersion={rv:b}&limit=10", "{crs}?resourceVersion={rv0:a}&limit=1&resourceVersionMatch=NotOlderThan", "{crs}?resourceVersion=0&resourceVersionMatch=NotOlderThan",
        "{crs}?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=1", "{crs}?resourceVersion=&resourceVersionMatch=", "{crs}?resourceVersionMatch=exact&resourceVersion=1",
        "{crs}?resourceVersion=-1", "{crs}?resourceVersion=1.0", "{crs}?resourceVersion=+1", "{crs}?resourceVersion=0x1",
        "{crs}?resourceVersion=18446744073709551616", "{crs}?resourceVersion=9223372036854775807&resourceVersionMatch=Exact", "{crs}?resourceVersion=00",
        "{crs}?resourceVersion=00&resourceVersionMatch=Exact", "{crs}?resourceVersionMatch=Exact&continue=x", "{crs}?resourceVersionMatch=bogus", "{crs}?resourceVersionMatch=bogus&resourceVersion=0",
        "{crs}?resourceVersion=abc&resourceVersionMatch=Exact", "{crs}/a?resourceVersion={rv0:a}", "{crs}/a?resourceVersion=-1", "{crs}/a?resourceVersion=1", "{crs}/none?resourceVersion={rv0:a}",
        "{crs}/a?resourceVersion=0&resourceVersionMatch=bogus", "{crs}/a?resourceVersion=18446744073709551616", "{crs}?resourceVersion={rv:a}&fieldSelector=metadata.name=a&resourceVersionMatch=Exact",
        "{crs}?resourceVersion={rv0:a}&fieldSelector=metadata.name=a&resourceVersionMatch=Exact", "{allcrs}?resourceVersion={rv0:a}&resourceVersionMatch=Exact&fieldSelector=metadata.namespace={ns}",
        "{crs}?sendInitialEvents=false", "{crs}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "{crs}?allowWatchBookmarks=maybe", "{crs}?timeoutSeconds=-1", "{crs}?timeoutSeconds=0",
        "{crs}?limit=-5", "{crs}?limit=1.5", "{crs}?limit=9223372036854775808", "{crs}?limit=%201", "{crs}?limit=", "{crs}?watch=0", "{crs}?watch=false", "{crs}?watch=FALSE", "{crs}?pretty=x",
        "{crs}?resourceVersion={rv:b}&resourceVersion=1", "{crs}?unknown=1", "{crs}?shardSelector=x"),
    "paging": [create(f"r-{n}", {"n": n}, n, labels={"odd": str(n % 2)}) for n in range(7)] + [
        get("{crs}?limit=3"), create("r-01"), delete("{crs}/r-6"), merge("{crs}/r-5", {"revision": 50}), get("{crs}?limit=3&continue={continue}"),
        get("{crs}?limit=3&continue={continue}"), get("{crs}?limit=2&labelSelector=odd=1"), get("{crs}?limit=1&labelSelector=odd=1&continue={continue}"),
        get("{crs}?limit=1&labelSelector=odd=0&continue={continue}"), get("{crs}?limit=2"), get("{crs}?continue={continue}&labelSelector=odd=1"),
        get("{crs}?continue={continue}&resourceVersion="), get("{crs}?continue={continue}&resourceVersion=abc"), get("{crs}?continue={continue}&resourceVersionMatch=Exact&resourceVersion=1"),
        get("{crs}?continue={continue}&resourceVersionMatch=NotOlderThan&resourceVersion=0"), get("{crs}?continue={continue}&limit=0"), get("{crs}?continue={continue}&limit=-1"),
        get("{crs}/r-1?continue={continue}"), get("{crs}?limit=1&fieldSelector=metadata.name=r-1"), get("{crs}?limit=1&fieldSelector=metadata.name=none"),
        get("{crs}?limit=7"), get("{crs}?limit=8"), get("{crs}?limit=1&resourceVersion=0"), get("{allcrs}?fieldSelector=metadata.namespace={ns}&continue={continue}"), get("{crs}?limit=2&pretty=true"), get("{crs}?limit=2&resourceVersion={listrv}"),
        get("{crs}?limit=2&resourceVersion={listrv}&resourceVersionMatch=Exact"), get("{crs}?limit=2&continue={continue}&resourceVersion=0&resourceVersionMatch=NotOlderThan")],
    "bad-tokens": [create("a"), create("b")] + [get("{crs}?limit=1&continue=" + token) for token in (
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MSwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "e30", "bnVsbA", "W10", "e30=",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiIuLi9hIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTk5LCJzdGFydCI6ImEifQ",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9AAA")],
    "paths": [create("a")] + gets(
        "{crs}/", "{crs}//", "{crs}/a/", "{crs}/a/status", "{crs}/a/scale", "{crs}/a/b/c", "/apis/apps/v1/namespaces/{ns}/ControllerRevisions", "/apis/apps/v1/namespaces/{ns}/controllerrevision",
        "/apis/apps/v1/namespaces/{ns}", "/apis/apps/v1/namespaces", "/apis/apps/v1/namespaces/", "/apis/apps/v1/controllerrevisions/a",
        "/apis/apps/v2/namespaces/{ns}/controllerrevisions", "/apis/apps/v1beta1/namespaces/{ns}/controllerrevisions/a", "/api/v1/namespaces/{ns}/controllerrevisions", "/api/v2/namespaces", "/api/v1/namespaces/{ns}/",
        "/api/v1/namespaces/{ns}/status", "/api/v1/namespaces/{ns}/finalize", "/api/v1/namespaces/{ns}/bogus", "/api/v1/namespaces/{ns}/namespaces", "/api/v1/bogus", "/apis/bogus/v1/x", "{crs}/A", "{crs}/a_b", "{crs}/%61", "{crs}/a%20", "{crs}/a%00b",
        "{crs}/é", "{crs}?", "{crs}/a?", "/apis/apps/v1/watch/namespaces/{ns}/bogus", "{crs}/" + "x" * 300, "/apis//v1", "/apis/apps//controllerrevisions", "{nss}/UPPER", "{nss}/%2e", "{crs}/..", "{crs}/."),
}


def token(revision, start, version="meta.k8s.io/v1"):
    return base64.urlsafe_b64encode(json.dumps({"v": version, "rv": revision, "start": start}, separators=(",", ":")).encode()).decode().rstrip("=")


STARTS = ["a\0", "a", "", "../a\0", "/a\0", "a/../b\0", "a//b\0", "./a\0", "a/", "a/\0", "zz", None, 5]
TOKENS = [token(-1, start) for start in STARTS] + [token(revision, "a\0") for revision in (0, -2, 10**12, "5", 1.5, None)] + [
    token(-1, "a\0", version) for version in ("v1", "", None)] + ["e30", "bnVsbA", "W10", "=", "x", "YQ==", "%20"]
CASES["made-up-tokens"] = [create(name) for name in "abc"] + [get("{crs}?continue=" + text) for text in TOKENS] + [
    get("{allcrs}?fieldSelector=metadata.namespace={ns}&continue=" + token(-1, start)) for start in ("a", "zzz\0", "zzzz/a\0", "../a\0", "zzz/../b\0")]
CASES["token-and-others"] = [create(name) for name in "abcd"] + [get("{crs}?limit=1")] + [get("{crs}?continue={continue}" + more) for more in (
    "", "&limit=0", "&limit=-1", "&resourceVersion=0", "&resourceVersion=5", "&resourceVersion=abc", "&resourceVersion=0&resourceVersionMatch=Exact",
    "&resourceVersionMatch=NotOlderThan", "&labelSelector=x", "&fieldSelector=metadata.name=d", "&watch=1&timeoutSeconds=1")] + [
    get("{cms}?continue={continue}"), get("{crs}/a?continue={continue}"), get("{nss}?limit=1&continue={continue}&labelSelector=none")]
