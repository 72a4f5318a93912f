"""Endpoints and Ingresses: addresses, ports, hosts, paths and backends."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic

ENDPOINTS, INGRESSES = "/api/v1/namespaces/{ns}/endpoints", "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
SERVICE = {"service": {"name": "s", "port": {"number": 80}}}


def endpoints(*subsets, name="e", **metadata):
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, **metadata}, **({"subsets": list(subsets)} if subsets else {})}


def subset(*ips, ports=({"port": 80},), **more):
    return {"addresses": [{"ip": ip} for ip in ips], "ports": list(ports), **more}


def address(**fields):
    return endpoints({"addresses": [fields]})


def port(*ports):
    return endpoints(subset("10.0.0.1", ports=ports))


def ingress(name="i", annotations=None, status=None, **spec):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, **({"annotations": annotations} if annotations else {})}, "spec": spec,
            **({"status": status} if status else {})}


def path(text="/", type="Prefix", backend=SERVICE, **more):
    return {**({"path": text} if text is not None else {}), **({"pathType": type} if type is not None else {}), "backend": backend, **more}


def rule(*paths, host="a.example.com"):
    return {"host": host, "http": {"paths": list(paths) or [path()]}}


def backend(**fields):
    return ingress(defaultBackend=fields)


def service(**fields):
    return backend(service=fields)


def balanced(*ingresses):
    return {"status": {"loadBalancer": {"ingress": list(ingresses)}}}


def tried(where, *bodies):
    return [post(f"{where}?dryRun=All", body) for body in bodies]


def table(where):
    return get(where, headers=TABLE, deviates=deviations.COLUMN_TEXTS)


CLASS = "kubernetes.io/ingress.class"
E, I = f"{ENDPOINTS}/e", f"{INGRESSES}/i"

CASES = {
    "endpoints-create": tried(
        ENDPOINTS, endpoints(), {**endpoints(), "subsets": []}, endpoints(subset("10.0.0.1")), endpoints({}), endpoints({"addresses": [], "notReadyAddresses": []}),
        endpoints({"notReadyAddresses": [{"ip": "10.0.0.1"}]}), endpoints({"ports": [{"port": 1}]}), address(), address(ip=""), address(ip="x"), address(ip="1.2.3"),
        address(ip="010.0.0.1"), address(ip="::ffff:1.2.3.4"), address(ip="2001:db8::1"), address(ip="0.0.0.0"), address(ip="::"), address(ip="127.0.0.1"), address(ip="::1"),
        address(ip="169.254.0.1"), address(ip="fe80::1"), address(ip="224.0.0.1"), address(ip="ff02::1"), address(ip="127.0.0.01"), address(ip=5),
        address(ip="10.0.0.1", hostname="h", nodeName="n", targetRef={"kind": "Pod", "name": "p", "namespace": "{ns}", "uid": "u"}), address(ip="10.0.0.1", hostname="A.b"),
        address(ip="10.0.0.1", hostname="a" * 64), address(ip="10.0.0.1", hostname="-", nodeName="N_"), address(ip="10.0.0.1", nodeName=""), address(ip="x", hostname="_", nodeName="_"),
        port({}), port({"port": 0}), port({"port": 65536}), port({"port": "80"}), port({"port": 80, "protocol": "tcp"}), port({"port": 80, "protocol": "SCTP", "name": "a"}),
        port({"port": 80}, {"port": 81}), port({"port": 80, "name": "a"}, {"port": 80, "name": "a"}), port({"port": 80, "name": "A"}), port({"port": 80, "appProtocol": "a/b/c"}),
        port({"port": 80, "appProtocol": "kubernetes.io/h2c"}), port({"port": 80, "appProtocol": ""}), endpoints(name="A"), endpoints(subset("10.0.0.1"), generation=7), endpoints({"x": 1})),
    "endpoints-update": [
        post(ENDPOINTS, endpoints(subset("10.0.0.1"), labels={"app": "x"})), post(ENDPOINTS, endpoints()), get(E), merge(E, {"subsets": [subset("10.0.0.2", "10.0.0.3")]}),
        merge(E, {"subsets": [subset("127.0.0.1")]}), strategic(E, {"subsets": [{"addresses": [{"ip": "10.0.0.9"}]}]}), json_patch(E, [{"op": "add", "path": "/subsets/-", "value": subset("10.0.0.5")}]),
        put(E, endpoints(subset("10.0.0.4"))), put(E, endpoints(name="other")), put(f"{ENDPOINTS}/new", endpoints(subset("10.0.0.4"), name="new")), merge(E, {"metadata": {"generation": 4}}),
        merge(E, {"metadata": {"labels": {"a b": "c"}}}), apply(f"{E}?fieldManager=m&force=true", endpoints(subset("10.0.0.7"))), apply(f"{ENDPOINTS}/applied?fieldManager=m", endpoints(subset("10.0.0.7"), name="applied")),
        get(f"{ENDPOINTS}?fieldSelector=metadata.name=e"), get(f"{ENDPOINTS}?fieldSelector=subsets=e"), delete(E), delete(f"{ENDPOINTS}/new", {"propagationPolicy": "Foreground"}), delete(ENDPOINTS)],
    "endpoints-table": [post(ENDPOINTS, body) for body in (
        endpoints(name="a"), endpoints(subset("10.0.0.1"), name="b"), endpoints(subset("10.0.0.1", ports=()), name="c"), endpoints(subset("10.0.0.1", "10.0.0.2", "10.0.0.3"), name="d"),
        endpoints(subset("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"), name="e"),
        endpoints(subset("2001:db8::1", ports=({"port": 1, "name": "a"}, {"port": 2, "name": "b"})), subset("10.0.0.1", "10.0.0.2", ports=()), name="f"),
        endpoints({"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 5}]}, name="g"), endpoints(subset("2001:db8::1", ports=()), name="h"))] + [table(ENDPOINTS)],
    "ingress-create": tried(
        INGRESSES, ingress(), backend(), backend(**SERVICE), backend(**SERVICE, resource={"kind": "A", "name": "b"}), service(), service(name="s"), service(name="s", port={}),
        service(name="s", port={"name": "http"}), service(name="s", port={"name": "http", "number": 80}), service(name="s", port={"name": "HTTP--"}), service(name="s", port={"name": "0"}),
        service(name="s", port={"number": 70000}), service(name="s", port={"number": -1}), service(name="S.", port={"number": 80}), service(name="0s", port={"number": 80}), service(port={"number": 80}),
        backend(resource={}), backend(resource={"apiGroup": "A", "kind": "..", "name": "a/b"}), backend(resource={"apiGroup": "x.io", "kind": "K", "name": "n%"}), backend(resource={"kind": "K", "name": "n"}),
        ingress(rules=[{}]), ingress(rules=[{"host": "a.b"}]), ingress(rules=[{"http": {}}]), ingress(rules=[{"http": {"paths": []}}]), ingress(rules=[rule()]),
        *(ingress(rules=[rule(host=host)]) for host in ("1.2.3.4", "::1", "*.a.b", "*", "a.*.b", "*.*.b", "A.b", "a_b", "*.", "-.b", "a." * 127 + "b", "*." + "a." * 126 + "b", "*." + "a" * 255)),
        *(ingress(rules=[rule(path(text, type))]) for type in ("Exact", "Prefix", "ImplementationSpecific", "Other", "", None) for text in ("/", "", None, "a", "/a//b", "/./", "/a/../b", "/%2f%2F", "/a/.", "/a/..")),
        ingress(rules=[rule(path(backend={}))]), ingress(rules=[rule(path(), {"path": "/x"})]), ingress(rules=[rule(path(pathType=5))]), ingress(rules=[rule()], tls=[{}]),
        ingress(rules=[rule()], tls=[{"hosts": ["a.b", "*.c", "*", "A"], "secretName": "S_"}]), ingress(rules=[rule()], tls=[{"secretName": "s.t"}]), ingress(rules=[rule()], ingressClassName="nginx"),
        ingress(rules=[rule()], ingressClassName=""), ingress(rules=[rule()], ingressClassName="N"), ingress(annotations={CLASS: "a"}, rules=[rule()]), ingress(annotations={CLASS: "a"}, rules=[rule()], ingressClassName="a"),
        ingress(annotations={CLASS: "a"}, rules=[rule()], ingressClassName="b"), ingress(rules=[rule()], status=balanced({"ip": "1.2.3.4"})["status"]), ingress(name="A", rules=[rule()]), ingress(rules=[rule()], x=1)),
    "ingress-update": [
        post(INGRESSES, ingress(rules=[rule()])), post(INGRESSES, ingress(rules=[rule()])), *gets(I, f"{I}/status"), merge(I, {"spec": {"rules": None}}), merge(I, {"spec": {"rules": [rule(path(type=None))]}}),
        merge(I, {"spec": {"ingressClassName": "x"}}), merge(I, {"metadata": {"annotations": {CLASS: "y"}}}), merge(I, {"metadata": {"labels": {"a": "b"}}}), strategic(I, {"spec": {"rules": [rule(host="b.c")]}}),
        json_patch(I, [{"op": "replace", "path": "/spec/rules/0/host", "value": "1.2.3.4"}]), put(I, ingress(defaultBackend=SERVICE, status=balanced({"ip": "1.2.3.4"})["status"])),
        put(f"{INGRESSES}/none", ingress("none", defaultBackend=SERVICE)), merge(f"{I}/status", balanced({"ip": "1.2.3.4"}, {"hostname": "a.b", "ports": [{"port": 80, "protocol": "TCP", "error": "E"}]})),
        merge(f"{I}/status", balanced({"ip": "01.2.3.4"}, {"ip": "x"}, {"hostname": "A"}, {"hostname": "1.2.3.4"}, {"ip": "::ffff:1.2.3.4"})),
        merge(f"{I}/status", {"spec": {"rules": None}, "metadata": {"labels": {"x": "y"}}}), merge(f"{I}/status", {"status": None}), merge(f"{I}/status", {"status": {"loadBalancer": {"x": 1}}}),
        apply(f"{I}?fieldManager=m&force=true", ingress(rules=[rule(host="c.d")])), apply(f"{I}/status?fieldManager=s", {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, **balanced({"ip": "1.2.3.4"})}),
        get(I), delete(I), post(INGRESSES, ingress("j", defaultBackend=SERVICE)), delete(f"{INGRESSES}/j", {"propagationPolicy": "Orphan"}), get(f"{INGRESSES}/j"), delete(INGRESSES)],
    "ingress-table": [
        post(INGRESSES, body) for body in (ingress("a", defaultBackend=SERVICE), ingress("b", rules=[rule()], ingressClassName="c", tls=[{"hosts": ["a.b"]}]),
        ingress("c", rules=[rule(host=f"{name}.b") for name in "abc"]), ingress("d", rules=[rule(host=f"{name}.b") for name in "abcde"]),
        ingress("e", rules=[{"http": {"paths": [path()]}}, rule(host="a.b"), {"http": {"paths": [path()]}}, rule(host="c.b"), rule(host="d.b"), {"http": {"paths": [path()]}}]))] + [
        merge(f"{INGRESSES}/a/status", balanced({"ip": "9.2.3.4"}, {"hostname": "a.b"}, {"ip": "9.2.3.4"}, {"ip": "1.2.3.4", "hostname": "x.y"})), table(INGRESSES)],
}
