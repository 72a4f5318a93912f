"""Kubernetes' conformance specs (test/e2e, those marked [Conformance]): which ones annals passes with fake nodes, why the others are left out, and the runs
of those that pass."""

import concurrent.futures
import dataclasses
import json
import os
import re

import yaml

import kube
import processes
import upstream

LIST = processes.PEERS / "conformance.yaml"  # of the module that e2e.test is built from
MARK = " [Conformance]"
AT_ONCE = 6  # processes: each runs its share of the specs, one after the other
SECONDS = 1200

CONTAINERS = "They look into running containers, at their output or at files of a node."
TRAFFIC = "They send packets to pods and Services, or ask a DNS server."
SCHEDULER = "They need a scheduler that looks at resources, labels, taints and priorities."
BINDINGS = "They create RoleBindings, which annals does not serve."
HOOKS = "They create webhooks and admission policies as objects; some webhooks run in pods."
WORKLOADS = "They need the controllers of Deployments, ReplicaSets, ReplicationControllers or DaemonSets."
JOBS = "They need the controllers of Jobs or CronJobs."
OTHERS = "They create objects of other kinds that annals does not serve."
PROGRAMS = "They connect to a program in a container, or to a kubelet."
ADDRESSES = "They need a Service's address or port, which annals does not give out."
TOKENS = "They need a ServiceAccount's token, which annals does not make."


# Those of StatefulSets are in test_upstream.py. The two longest are first: one updates a pod 500 times, the other waits for a compaction.
PASSES = [
    "[sig-node] Pods Extended (pod generation) Pod Generation issue 500 podspec updates and verify generation and observedGeneration eventually converge [MinimumKubeletVersion:1.34]",
    "[sig-api-machinery] Servers with support for API chunking should support continue listing from the last key if the original version has been compacted away, though the list is inconsistent [Slow]",
    "[sig-api-machinery] AggregatedDiscovery should support aggregated discovery interface for CRDs",
    "[sig-api-machinery] AggregatedDiscovery should support raw aggregated discovery request for CRDs",
    "[sig-api-machinery] CustomResourceDefinition Watch [Privileged:ClusterAdmin] CustomResourceDefinition Watch watch on custom resource definition objects",
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition creating/deleting custom resource definition objects works",
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works",
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition listing custom resource definition objects works",
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] custom resource defaulting for requests and from storage works",
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] should include custom resource definition resources in discovery documents",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] removes definition from spec when one version gets changed to not be served",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] updates the published spec when one version gets renamed",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD preserving unknown fields at the schema root",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD preserving unknown fields in an embedded object",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD with validation schema",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for CRD without validation schema",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of different groups",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of same group and version but different kinds",
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of same group but different versions",
    "[sig-api-machinery] Discovery should validate PreferredVersion for each APIGroup",
    "[sig-api-machinery] FieldValidation should create/apply a CR with unknown fields for CRD with no validation schema",
    "[sig-api-machinery] FieldValidation should create/apply a valid CR for CRD with validation schema",
    "[sig-api-machinery] FieldValidation should create/apply an invalid CR with extra properties for CRD with validation schema",
    "[sig-api-machinery] FieldValidation should detect duplicates in a CR when preserving unknown fields",
    "[sig-api-machinery] FieldValidation should detect unknown and duplicate fields of a typed object",
    "[sig-api-machinery] FieldValidation should detect unknown metadata fields in both the root and embedded object of a CR",
    "[sig-api-machinery] FieldValidation should detect unknown metadata fields of a typed object",
    "[sig-api-machinery] Garbage collector should not be blocked by dependency circle",
    "[sig-api-machinery] Namespaces [Serial] should apply a finalizer to a Namespace",
    "[sig-api-machinery] Namespaces [Serial] should apply an update to a Namespace",
    "[sig-api-machinery] Namespaces [Serial] should apply changes to a namespace status",
    "[sig-api-machinery] Namespaces [Serial] should ensure that all pods are removed when a namespace is deleted",
    "[sig-api-machinery] Namespaces [Serial] should ensure that all services are removed when a namespace is deleted",
    "[sig-api-machinery] Namespaces [Serial] should patch a Namespace",
    "[sig-api-machinery] OrderedNamespaceDeletion namespace deletion should delete pod first",
    "[sig-api-machinery] Servers with support for API chunking should return chunks of results for list calls",
    "[sig-api-machinery] Servers with support for Table transformation should return a 406 for a backend which does not implement metadata",
    "[sig-api-machinery] Watchers should be able to restart watching from the last resource version observed by the previous watch",
    "[sig-api-machinery] Watchers should be able to start watching from a specific resource version",
    "[sig-api-machinery] Watchers should observe add, update, and delete watch notifications on configmaps",
    "[sig-api-machinery] Watchers should observe an object deletion if it stops meeting the requirements of the selector",
    "[sig-api-machinery] Watchers should receive events on concurrent watches in same order",
    "[sig-api-machinery] server version should find the server version",
    "[sig-apps] CronJob should support CronJob API operations",
    "[sig-architecture] Conformance Tests should have at least two untainted nodes",
    "[sig-auth] ServiceAccounts should guarantee kube-root-ca.crt exist in any namespace",
    "[sig-auth] ServiceAccounts should run through the lifecycle of a ServiceAccount",
    "[sig-auth] ServiceAccounts should update a ServiceAccount",
    "[sig-auth] SubjectReview should support SubjectReview API operations",
    "[sig-cli] Kubectl client Kubectl api-versions should check if v1 is in available api versions",
    "[sig-cli] Kubectl client Kubectl cluster-info should check if Kubernetes control plane services is included in cluster-info",
    "[sig-cli] Kubectl client Kubectl diff should check if kubectl diff finds a difference for Deployments",
    "[sig-cli] Kubectl client Kubectl label should update the label on a resource",
    "[sig-cli] Kubectl client Kubectl replace should update a single-container pod's image",
    "[sig-cli] Kubectl client Kubectl run pod should create a pod from an image when restart is Never",
    "[sig-cli] Kubectl client Kubectl server-side dry-run should check if kubectl can dry-run update Pods",
    "[sig-cli] Kubectl client Kubectl version should check is all data is printed",
    "[sig-cli] Kubectl client Proxy server should support --unix-socket=/path",
    "[sig-cli] Kubectl client Proxy server should support proxy with --port 0",
    "[sig-instrumentation] Events API should delete a collection of events",
    "[sig-instrumentation] Events API should ensure that an event can be fetched, patched, deleted, and listed",
    "[sig-instrumentation] Events should delete a collection of events",
    "[sig-instrumentation] Events should manage the lifecycle of an event",
    "[sig-network] API Server should provide secure master service",
    "[sig-network] Endpoints should test the lifecycle of an Endpoint",
    "[sig-network] Ingress API should support creating Ingress API operations",
    "[sig-network] Services should complete a service status lifecycle",
    "[sig-network] Services should delete a collection of services",
    "[sig-network] Services should find a service from listing all namespaces",
    "[sig-node] ConfigMap should fail to create ConfigMap with empty key",
    "[sig-node] ConfigMap should run through a ConfigMap lifecycle",
    "[sig-node] ConfigMap should update ConfigMap successfully [NodeConformance]",
    "[sig-node] InitContainer [NodeConformance] should invoke init containers on a RestartAlways pod",
    "[sig-node] Kubelet when scheduling a busybox command that always fails in a pod should be possible to delete [NodeConformance]",
    "[sig-node] Lease lease API should be available",
    "[sig-node] Node Lifecycle should run through the lifecycle of a node",
    "[sig-node] PodTemplates should delete a collection of pod templates",
    "[sig-node] PodTemplates should replace a pod template",
    "[sig-node] PodTemplates should run the lifecycle of PodTemplates",
    "[sig-node] Pods Extended (pod generation) Pod Generation custom-set generation on new pods and graceful delete",
    "[sig-node] Pods Extended (pod generation) Pod Generation pod generation should start at 1 and increment per update [MinimumKubeletVersion:1.34]",
    "[sig-node] Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu",
    "[sig-node] Pods should allow activeDeadlineSeconds to be updated [NodeConformance]",
    "[sig-node] Pods should be submitted and removed [NodeConformance]",
    "[sig-node] Pods should be updated [NodeConformance]",
    "[sig-node] Pods should delete a collection of pods",
    "[sig-node] Pods should get a host IP [NodeConformance]",
    "[sig-node] Pods should patch a pod status",
    "[sig-node] Pods should run through the lifecycle of Pods and PodStatus",
    "[sig-node] Secrets should fail to create secret due to empty secret key",
    "[sig-node] Secrets should patch a secret",
    "[sig-scheduling] SchedulerPredicates [Serial] validates that NodeSelector is respected if matching",
    "[sig-storage] PersistentVolumes CSI Conformance should apply changes to a pv/pvc status",
    "[sig-storage] PersistentVolumes CSI Conformance should run through the lifecycle of a PV and a PVC",
    "[sig-storage] StorageClasses CSI Conformance should run through the lifecycle of a StorageClass",
]


@dataclasses.dataclass(frozen=True)
class Spec:
    name: str
    file: str  # below test/e2e

    def __str__(self):
        return self.name


def published():
    """All conformance specs of this version of Kubernetes."""
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return [Spec(" ".join(entry["codename"].removesuffix(MARK).split()), entry["file"].split(",")[0].strip().removeprefix("test/e2e/")) for entry in entries]


# By the file of a spec, or by the file and a part of the name: the first that matches.
LEFT_OUT = [
    ("apimachinery/aggregated_discovery.go", "", HOOKS),
    ("apimachinery/aggregator.go", "", PROGRAMS),
    ("apimachinery/crd_conversion_webhook.go", "", HOOKS),
    ("apimachinery/crd_selectable_fields.go", "", BINDINGS),
    ("apimachinery/discovery.go", "locate the groupVersion", HOOKS),
    ("apimachinery/flowcontrol.go", "", OTHERS),
    ("apimachinery/garbage_collector.go", "", WORKLOADS),
    ("apimachinery/mutatingadmissionpolicy.go", "", HOOKS),
    ("apimachinery/validatingadmissionpolicy.go", "", HOOKS),
    ("apimachinery/webhook.go", "", HOOKS),
    ("apimachinery/resource_quota.go", "", OTHERS),
    ("apps/cronjob.go", "", JOBS),
    ("apps/job.go", "", JOBS),
    ("apps/disruption.go", "", OTHERS),
    ("apps/statefulset.go", "", CONTAINERS),
    ("apps/", "", WORKLOADS),
    ("auth/certificates.go", "", OTHERS),
    ("auth/service_accounts.go", "create a serviceAccountToken", TOKENS),
    ("auth/service_accounts.go", "opting out", TOKENS),
    ("auth/service_accounts.go", "", CONTAINERS),
    ("common/network/", "", TRAFFIC),
    ("common/node/runtimeclass.go", "", OTHERS),
    ("common/node/", "", CONTAINERS),
    ("common/storage/", "", CONTAINERS),
    ("dra/", "", OTHERS),
    ("kubectl/", "Guestbook", WORKLOADS),
    ("kubectl/", " rc", WORKLOADS),
    ("kubectl/", "replication controller", WORKLOADS),
    ("kubectl/logs.go", "", CONTAINERS),
    ("network/apiserver.go", "", OTHERS),
    ("network/endpoint", "", OTHERS),
    ("network/ingressclass.go", "", OTHERS),
    ("network/service_cidrs.go", "", OTHERS),
    ("network/service.go", "change the type", ADDRESSES),
    ("network/", "", TRAFFIC),
    ("node/taints.go", "", SCHEDULER),
    ("node/", "", CONTAINERS),
    ("scheduling/limit_range.go", "", OTHERS),
    ("scheduling/", "", SCHEDULER),
    ("storage/empty_dir_wrapper.go", "", CONTAINERS),
    ("storage/subpath.go", "", CONTAINERS),
    ("storage/", "", OTHERS),
]


def row_of(spec):
    return next((row for row in LEFT_OUT if spec.file.startswith(row[0]) and row[1] in spec.name), None)


def reason_of(spec):
    row = row_of(spec)
    return row and row[2]


class Runs:
    """Runs of e2e.test, side by side. Each has its share of the specs: the futures of (state, what the spec has printed), by name."""

    def __init__(self, plane, names):
        self.plane = plane
        self.pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
        shares = [share for share in (names[i::AT_ONCE] for i in range(AT_ONCE)) if share]
        self.outcomes = {name: future for i, share in enumerate(shares) for future in [self.pool.submit(self.run, i, share)] for name in share}

    def run(self, number, names):
        report = self.plane.folder / f"report-{number}.json"
        focus = f" ({'|'.join(re.escape(name) for name in names)}){re.escape(MARK)}$"
        done = processes.run([*processes.LEASH, upstream.E2E, f"-kubeconfig={self.plane.kubeconfig}", "-provider=skeleton", "-dump-logs-on-failure=false",
                              f"-kubectl-path={kube.KUBECTL}", f"-ginkgo.focus={focus}", "-ginkgo.no-color", f"-ginkgo.json-report={report}",
                              f"-ginkgo.timeout={SECONDS}s"], env=self.plane.env, patience=SECONDS + processes.PATIENCE)
        assert report.exists(), done.stdout[-4000:] + done.stderr[-4000:]
        return outcomes_in(json.loads(report.read_text(encoding="utf-8")))

    def outcome(self, name):
        return self.outcomes[name].result()[name]

    def stop(self):
        self.pool.shutdown(cancel_futures=True)


def outcomes_in(report):
    """{name: (state, text)} of the specs that have run."""
    outcomes = {}
    for spec in report[0]["SpecReports"]:
        if spec["LeafNodeType"] == "It" and spec["NumAttempts"]:
            name = " ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]]).removesuffix(MARK)
            outcomes[name] = (spec["State"], spec.get("Failure", {}).get("Message", "") + "\n" + spec.get("CapturedGinkgoWriterOutput", "")[-8000:])
    return outcomes
