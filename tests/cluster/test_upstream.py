"""Kubernetes' own tests of StatefulSets judge annals, unmodified: those of kubectl (test/cmd), those of the controller (test/integration/statefulset), and
the end-to-end specs that need no containers (test/e2e/apps). UPSTREAM_PLANE=kube puts a kube-apiserver and kube-controller-manager in its place."""

import pathlib
import re
import shutil
import tempfile

import pytest

import upstream
from test_clients import judge

pytestmark = pytest.mark.skipif(not upstream.E2E.exists() or not upstream.INTEGRATION.exists(), reason="tests/cluster/build.sh has not been run")

SERVER_ALONE = "TestVolumeTemplateNoopUpdate"  # updates what it has made, and no controller may write in between
INTEGRATION = ["TestSpecReplicasChange", "TestDeletingAndTerminatingPods", "TestStatefulSetAvailable", "TestAutodeleteOwnerRefs",
               "TestDeletingPodForRollingUpdatePartition", "TestStatefulSetStartOrdinal", "TestStatefulSetPodSubdomain"]

# The longest first. docs/development/testing.md says which are left out, and why.
SPECS = [
    "AvailableReplicas should get updated accordingly when MinReadySeconds is enabled",
    "should perform canary updates and phased rolling updates of template modifications",
    "should perform rolling updates and roll backs of template modifications",
    "should perform rolling updates and roll backs of template modifications with PVCs",
    "should perform canary updates and phased rolling updates of template modifications for partiton1 and delete pod-0 without failing container",
    "should perform canary updates and phased rolling updates of template modifications for partiton1 and delete pod-0 with failing container",
    "should implement legacy replacement when the update strategy is OnDelete",
    "should not delete PVC with OnScaledown policy if another controller owns the PVC",
    "Burst scaling should run to completion even with unhealthy pods",
    "should not delete PVCs when there is another controller",
    "should delete PVCs after adopting pod (WhenScaled)",
    "should delete PVCs with a OnScaledown policy",
    "Setting .start.ordinal",
    "Increasing .start.ordinal",
    "Decreasing .start.ordinal",
    "Removing .start.ordinal",
    "should have a working scale subresource",
    "should delete PVCs with a WhenDeleted policy",
    "should delete PVCs after adopting pod (WhenDeleted)",
    "should list, patch and delete a collection of StatefulSets",
    "should validate Statefulset Status endpoints",
    "MinReadySeconds should be honored when enabled",
]


def plane_of(certificates, kind):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annals-", dir="/tmp"))
    try:
        plane = upstream.Plane(folder, certificates, kind)
        for process in plane.everything:
            process.is_shared = True
        yield plane
        plane.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def bare_plane(certificates):
    yield from plane_of(certificates, upstream.BARE)


@pytest.fixture(scope="module")
def plane(certificates):
    """Without nodes: these tests write themselves what a kubelet would write."""
    yield from plane_of(certificates, upstream.CONTROLLED)


@pytest.fixture(scope="module")
def plane_with_nodes(certificates):
    yield from plane_of(certificates, upstream.WITH_NODES)


@pytest.fixture(scope="module", autouse=True)
def specs(request):
    """All that are chosen, from the first test on: they wait while others run."""
    chosen = [item.callspec.params["spec"] for item in request.session.items if item.originalname == test_e2e__passes.__name__]
    running = upstream.Specs(request.getfixturevalue("plane_with_nodes"), chosen) if chosen else None
    yield running
    if running:
        running.stop()


@pytest.fixture(scope="module")
def integration(plane):
    return upstream.run_integration(plane, f"-test.skip=^{SERVER_ALONE}$")


@pytest.mark.parametrize("suite", ["stateful_set", "statefulset_history"])
def test_kubectl__passes(plane, suite):
    done = upstream.run_test_cmd(plane, suite)
    assert done.returncode == 0 and "+++ exit code: 0" in done.stdout, done.stdout[-8000:] + done.stderr[-4000:]


@pytest.mark.parametrize("name", INTEGRATION)
def test_integration__passes(integration, name):
    judge(integration, name)


def test_integration__passes_at_a_server_alone(bare_plane):
    judge(upstream.run_integration(bare_plane, f"-test.run=^{SERVER_ALONE}$"), SERVER_ALONE)


def test_integration__is_all_there_is(integration):
    """But for one that puts a plugin into the server's process."""
    assert {name for name in integration if name} == {*INTEGRATION, "TestStatefulSetStatusWithPodFail"}


@pytest.mark.parametrize("spec", SPECS)
def test_e2e__passes(specs, spec):
    done = specs.outputs[spec].result()
    assert re.search(r"^SUCCESS! -- 1 Passed \| 0 Failed", done.stdout, re.M) and done.returncode == 0, done.stdout[-12000:] + done.stderr[-2000:]
