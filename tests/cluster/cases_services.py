"""Services: headless ones to the byte; of others all but the addresses and ports that kube-apiserver gives."""

import dataclasses

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch

SERVICES = "/api/v1/namespaces/{ns}/services"
ONE = f"{SERVICES}/s"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PORT, NAMED = {"port": 80}, [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "web", "protocol": "UDP", "appProtocol": "kubernetes.io/h2c"}]


def service(name="s", **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [PORT], "selector": {"app": "web"}, **spec}}


def headless(name="s", **spec):
    return service(name, clusterIP="None", **spec)


def annotated(annotations, **spec):
    return {**service(**spec), "metadata": {"name": "s", "annotations": annotations}}


def unaddressed(*steps):
    """Where kube-apiserver gives addresses, or ports of nodes."""
    return [dataclasses.replace(step, deviates=deviations.ADDRESSES) for step in steps]


def tried(*bodies):
    return unaddressed(*(post(f"{SERVICES}?dryRun=All", body) for body in bodies))


def table(path):
    return get(path, headers=TABLE, deviates=deviations.COLUMN_TEXTS)


def ports(*numbers, **more):
    return headless(ports=[{"name": f"p{n}", **port} for n, port in enumerate(numbers)], **more)


BALANCED = {"type": "LoadBalancer"}
NAME = {"type": "ExternalName", "externalName": "a.b"}
INGRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ports": [{"port": 80, "protocol": "TCP", "error": "e"}]}, {"hostname": "h.x"}]},
                      "conditions": [{"type": "a", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}

CASES = {
    "headless": [post(f"{SERVICES}?dryRun=All", body) for body in (
        headless(), headless(ports=None), headless(ports=[]), headless(selector=None), headless(selector={}), headless(ports=NAMED), headless(clusterIPs=["None"]),
        headless(publishNotReadyAddresses=True), headless(type="ClusterIP"), headless(sessionAffinity="ClientIP"), headless(sessionAffinity="None", sessionAffinityConfig={}),
        headless(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}}), headless(sessionAffinity="ClientIP", sessionAffinityConfig={}),
        headless(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {}}), headless(ipFamilies=["IPv4"]), headless(ipFamilyPolicy="SingleStack"),
        headless(ipFamilyPolicy="PreferDualStack"), headless(ipFamilyPolicy="RequireDualStack"), headless(selector=None, ipFamilyPolicy="SingleStack"),
        headless(selector=None, ipFamilies=["IPv6"]), headless(selector=None, ipFamilies=["IPv6"], ipFamilyPolicy="PreferDualStack"),
        headless(selector=None, ipFamilies=["IPv6", "IPv4"]), headless(selector=None, ipFamilies=["IPv6", "IPv4"], ipFamilyPolicy="RequireDualStack"),
        headless(ipFamilies=["IPv4", "IPv6"]), headless(ipFamilies=["IPv6"]), headless(loadBalancerIP="1.2.3.4", externalIPs=["1.2.3.4"], externalName="x"),
        headless(externalIPs=["1.2.3.4"], externalTrafficPolicy="Local"), headless(internalTrafficPolicy="Local"), headless(trafficDistribution="PreferClose"),
        headless(trafficDistribution="PreferSameNode"), headless(ports=[{"port": 80, "targetPort": 0}, {"name": "x", "port": 81, "targetPort": ""}]),
        {**headless(), "status": INGRESS["status"]}, service(**NAME), service(**NAME, ports=None), service(**{**NAME, "externalName": "a.b."}), service(**NAME, internalTrafficPolicy="Local"),
        service(**NAME, externalIPs=["1.2.3.4"]))],
    "addressed": tried(
        service(), service(type="NodePort"), service(**BALANCED), service(**BALANCED, externalTrafficPolicy="Local"), service(**BALANCED, allocateLoadBalancerNodePorts=False),
        service(**BALANCED, loadBalancerClass="x.io/y", loadBalancerIP="1.2.3.4", loadBalancerSourceRanges=["10.0.0.0/8", " 11.0.0.0/8 "]), service(externalIPs=["1.2.3.4"]),
        service(ipFamilyPolicy="PreferDualStack"), service(ports=NAMED), annotated({"service.kubernetes.io/topology-aware-hints": "auto"}),
        annotated({"service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8, 11.0.0.0/8"}, **BALANCED), service(sessionAffinity="ClientIP"), service(externalName="x"),
        service(type="NodePort", externalTrafficPolicy="Local"), service(externalIPs=["fd00::1"])),
    "refused": tried(
        {}, {"metadata": {"name": "s"}}, service("A"), service("1a"), service("a.b"), service("a" * 64), service(ports=None), service(ports=[]), ports({}), ports({"port": 0}),
        ports({"port": 70000}), ports({"port": 80}, {"port": 80}), ports({"port": 80}, {"port": 80, "protocol": "UDP"}), headless(ports=[PORT, {"port": 81}]),
        headless(ports=[{"name": "a", "port": 80}, {"name": "a", "port": 81}]), ports({"port": 80, "protocol": "X"}), ports({"port": 80, "targetPort": 70000}),
        ports({"port": 80, "targetPort": "A--b"}), ports({"port": 80, "targetPort": -1}), ports({"port": 80, "appProtocol": "a b"}), ports({"port": 80, "appProtocol": ""}),
        headless(ports=[{"name": "A_", "port": 80}]), ports({"port": 80, "nodePort": 30080}), ports({"port": 80, "nodePort": 30080}, {"port": 81, "nodePort": 30080}),
        headless(type="x"), headless(type="NodePort"), headless(**BALANCED), headless(selector={"a b": "c d"}), headless(sessionAffinity="x"),
        *(headless(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": seconds}}) for seconds in (0, -1, 86400, 86401)),
        headless(ipFamilies=["x"]), headless(ipFamilies=["IPv4", "IPv4"]), headless(ipFamilies=["IPv4", "IPv6", "IPv4"]), headless(ipFamilyPolicy="x"),
        *(service(clusterIP=text) for text in ("x", "10.0.0", "010.0.0.9", "::ffff:10.0.0.9", "none", "fd00::1", "10.0.0.1/24")),
        headless(clusterIPs=["None", "10.0.0.9"]), service(clusterIPs=["10.0.0.9"]), service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.10"]), service(clusterIP="x", clusterIPs=["y"]),
        service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9", "10.0.0.10"]), service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9", "fd00::1"]),
        service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9", "fd00::1"], ipFamilyPolicy="PreferDualStack"), service(clusterIP="10.0.0.9", ipFamilies=["IPv6"]),
        service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9", "fd00::1", "x"]), service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9", "fd00::1", "fd00::2"]),
        service(ipFamilies=["IPv6"]), service(ipFamilyPolicy="RequireDualStack"), service(ipFamilies=["IPv4", "IPv6"]), service(ipFamilies=["IPv4", "IPv6"], ipFamilyPolicy="PreferDualStack"),
        *(service(externalIPs=[text]) for text in ("x", "0.0.0.0", "127.0.0.1", "169.254.0.1", "224.0.0.1", "::1", "fe80::1", "ff02::1", "::", "010.1.1.1", "::ffff:1.2.3.4", "")),
        service(type="ExternalName"), service(**{**NAME, "externalName": "A_b"}), service(**{**NAME, "externalName": "."}), service(**NAME, clusterIP="None"),
        service(**NAME, clusterIP="10.0.0.9", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack"), service(**NAME, internalTrafficPolicy="x"),
        headless(loadBalancerSourceRanges=["10.0.0.0/8"]), *(service(**BALANCED, loadBalancerSourceRanges=[text]) for text in ("x", "10.0.0.1/8", "10.0.0.0", "fd00::/200")),
        annotated({"service.beta.kubernetes.io/load-balancer-source-ranges": "x"}), annotated({"service.beta.kubernetes.io/load-balancer-source-ranges": " , y"}, **BALANCED),
        annotated({"service.beta.kubernetes.io/load-balancer-source-ranges": ""}, clusterIP="None"),
        annotated({"service.kubernetes.io/topology-aware-hints": "a", "service.kubernetes.io/topology-mode": "b"}, clusterIP="None"),
        headless(allocateLoadBalancerNodePorts=True), headless(loadBalancerClass="x"), service(**BALANCED, loadBalancerClass="a b"), headless(externalTrafficPolicy="Local"),
        service(type="NodePort", externalTrafficPolicy="x"), headless(healthCheckNodePort=30080), service(type="NodePort", healthCheckNodePort=30080, externalTrafficPolicy="Local"),
        headless(internalTrafficPolicy="x"), headless(internalTrafficPolicy=""), headless(trafficDistribution="x"), headless(trafficDistribution="")),
    "shapes": [post(f"{SERVICES}?dryRun=All", {"metadata": {"name": "s"}, "spec": spec}) for spec in (
        1, {"ports": 1}, {"ports": [{"port": "x"}]}, {"ports": [{"port": 1.5}]}, {"ports": [{"port": 80, "targetPort": True}]}, {"selector": {"a": 1}}, {"clusterIP": 1},
        {"clusterIPs": "x"}, {"type": 1}, {"ipFamilies": [1]}, {"ipFamilyPolicy": 1}, {"sessionAffinityConfig": 1}, {"publishNotReadyAddresses": "x"})]
        + [post(f"{SERVICES}?fieldValidation=Strict&dryRun=All", {**headless(), "spec": {"clusterIP": "None", "port": 1, "topologyKeys": []}})],
    "life": [post(SERVICES, headless()), table(ONE), merge(ONE, {"spec": {"ports": NAMED}}), strategic(ONE, {"spec": {"ports": [{"port": 80, "name": "c"}]}}),
             strategic(ONE, {"spec": {"ports": [{"port": 81, "$patch": "delete"}]}}), json_patch(ONE, [{"op": "add", "path": "/spec/ports/-", "value": {"port": 90, "name": "z"}}]),
             merge(ONE, {"spec": {"clusterIP": None}}), merge(ONE, {"spec": {"clusterIPs": None}}), merge(ONE, {"spec": {"clusterIP": ""}}), merge(ONE, {"spec": {"clusterIP": "10.0.0.99"}}),
             merge(ONE, {"spec": {"clusterIPs": ["10.0.0.99"]}}), merge(ONE, {"spec": {"clusterIP": "10.0.0.99", "clusterIPs": ["10.0.0.99"]}}), merge(ONE, {"spec": {"type": "NodePort"}}),
             merge(ONE, {"spec": {"selector": None}}), merge(ONE, {"spec": {"ipFamilyPolicy": None}}), merge(ONE, {"spec": {"ipFamilyPolicy": "PreferDualStack"}}),
             merge(ONE, {"spec": {"ipFamilies": None}}), merge(ONE, {"spec": {"ipFamilies": ["IPv6"]}}), merge(ONE, {"spec": {"ipFamilyPolicy": "SingleStack"}}),
             merge(ONE, {"spec": {"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack"}}), merge(ONE, {"spec": {"selector": {"a": "b"}}}), merge(ONE, {"spec": {"ports": None}}),
             merge(ONE, {"spec": {"sessionAffinity": "ClientIP"}}), merge(ONE, {"spec": {"sessionAffinity": "None"}}), merge(ONE, {"spec": {"internalTrafficPolicy": "Local"}}),
             merge(ONE, {"spec": {"trafficDistribution": "PreferClose"}}), put(ONE, headless()), put(ONE, service()), merge(ONE, {"status": INGRESS["status"]}),
             merge(ONE, {"spec": {**NAME, "internalTrafficPolicy": "Cluster"}}), merge(ONE, {"spec": {"type": "ClusterIP", "clusterIP": "None"}}), table(SERVICES), delete(f"{ONE}?dryRun=All"), delete(ONE), get(ONE), put(ONE, headless()),
             delete(SERVICES)],
    "changes": unaddressed(
        post(SERVICES, service()), get(ONE), merge(ONE, {"spec": {"type": "NodePort"}}), merge(ONE, {"spec": {"ports": [{"port": 80, "name": "q"}]}}), merge(ONE, {"spec": {"type": "ClusterIP"}}),
        merge(ONE, {"spec": BALANCED}), merge(ONE, {"spec": {"loadBalancerClass": "a"}}), merge(ONE, {"spec": {"externalTrafficPolicy": "Local"}}), merge(ONE, {"spec": {"type": "NodePort"}}),
        merge(ONE, {"spec": {"externalTrafficPolicy": "x"}}), merge(ONE, {"spec": {"type": "ClusterIP"}}), merge(ONE, {"spec": {"clusterIP": "None"}}), merge(ONE, {"spec": {"clusterIP": None}}),
        merge(ONE, {"spec": {"clusterIPs": None}}), merge(ONE, {"spec": {"type": "ClusterIP", "externalIPs": ["1.2.3.4"]}}), merge(ONE, {"spec": {"externalIPs": None}}),
        merge(ONE, {"spec": NAME}), merge(ONE, {"spec": {"type": "ClusterIP"}}), merge(ONE, {"spec": {"ipFamilyPolicy": "RequireDualStack"}}),
        merge(ONE, {"spec": {"ipFamilyPolicy": "PreferDualStack"}}), merge(ONE, {"spec": {"ipFamilyPolicy": None}}), put(ONE, service()), put(ONE, headless()), merge(ONE, {"spec": {**BALANCED, "loadBalancerClass": "x"}}),
        merge(ONE, {"spec": {"loadBalancerClass": "y"}}), merge(ONE, {"spec": {"allocateLoadBalancerNodePorts": False}}), merge(ONE, {"spec": {"type": "ClusterIP"}}),
        merge(ONE, {"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}}), merge(ONE, {"spec": {"ports": None}}), delete(ONE))
        + [get(ONE)],
    "status": unaddressed(
        post(SERVICES, service()), strategic(f"{ONE}/status", INGRESS), merge(ONE, {"spec": BALANCED}), strategic(f"{ONE}/status", INGRESS), get(f"{ONE}/status"),
        *(merge(f"{ONE}/status", {"status": {"loadBalancer": {"ingress": [ingress]}}}) for ingress in (
            {"ip": "x"}, {"ip": "1.2.3.4", "ipMode": "x"}, {"hostname": "1.2.3.4"}, {"hostname": "A_"}, {"ipMode": "VIP"}, {"ip": "1.2.3.4", "ipMode": "Proxy"}, {"ip": "01.2.3.4"}, {})),
        strategic(f"{ONE}/status", {"status": {"conditions": [{"type": "b", "status": "x"}]}}), strategic(f"{ONE}/status", {"status": {"conditions": [{"type": "a", "status": "False"}]}}),
        strategic(f"{ONE}/status", {"spec": {"type": "NodePort"}, "metadata": {"labels": {"s": "t"}}, "status": {"loadBalancer": None}}), strategic(f"{ONE}/status", INGRESS),
        put(f"{ONE}/status", service()), strategic(f"{ONE}/status", INGRESS), merge(ONE, {"spec": {"type": "ClusterIP"}}), get(ONE), delete(ONE)),
    "tables": unaddressed(*(post(SERVICES, body) for body in (
        service("plain"), headless("none", ports=None), service("name", **NAME), service("node", type="NodePort", ports=NAMED), service("lb", **BALANCED, externalIPs=["1.1.1.1"]),
        headless("many", ports=[{"name": f"p{n}", "port": 80 + n} for n in range(9)], selector={"b": "1", "a": "2"}), headless("out", externalIPs=["1.2.3.4", "2.3.4.5"], selector=None))),
        strategic(f"{SERVICES}/lb/status", {"status": {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "h"}, {"ip": "8.8.8.8"}, {"ip": "9.9.9.9"}]}}}),
        get(SERVICES, headers=TABLE), delete(SERVICES)),
    "lists": [post(SERVICES, headless("a")), post(SERVICES, service("b", **NAME)), *gets(*(f"{SERVICES}?fieldSelector={fields}" for fields in (
        "spec.clusterIP=None", "spec.clusterIP=", "spec.clusterIP!=None", "spec.type=ExternalName", "spec.type!=ExternalName", "spec.type=ClusterIP,metadata.name=a", "spec.ports=x",
        "status.phase=x", "metadata.namespace={ns}"))),
        watch(f"{SERVICES}?resourceVersion=0&fieldSelector=spec.type=ClusterIP", [merge(f"{SERVICES}/b", {"spec": {"type": "ClusterIP", "clusterIP": "None"}}),
                                                                              merge(f"{SERVICES}/a", {"spec": NAME}), delete(SERVICES)])],
    "types": [post(SERVICES, headless())] + [strategic(f"{ONE}?dryRun=All", {"spec": spec}) for spec in (
        "x", {"ports": "x"}, {"ports": [{"name": "y"}]}, {"ports": [{"port": "x"}]}, {"selector": "x"}, {"clusterIPs": [1]}, {"externalIPs": "x"}, {"type": 5})]
        + [strategic(f"{ONE}/status?dryRun=All", {"status": status}) for status in ({"loadBalancer": {"ingress": "x"}}, {"conditions": [{"status": "x"}]}, {"conditions": 5})],
    "apply": [apply(f"{ONE}?fieldManager={manager}{force}", body) for manager, force, body in (
        ("a", "", headless(ports=NAMED)), ("a", "", headless(ports=NAMED[:1])), ("b", "", headless(ports=[{"port": 80, "protocol": "UDP", "name": "u"}])),
        ("b", "", headless(ports=[{"port": 80, "name": "other"}])), ("b", "&force=true", headless(ports=[{"port": 80, "name": "other"}])), ("a", "", headless(selector={"x": "y"})),
        ("c", "", headless(selector={"app": "web"}, sessionAffinity="ClientIP")), ("c", "", headless(ports=[{"port": 80}, {"port": 80}])))]
        + [apply(f"{ONE}/status?fieldManager=k", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, **INGRESS}), get(ONE)],
}
