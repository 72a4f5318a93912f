#!/usr/bin/env python3
"""Writes docs/reference/events.md: events and conditions. What a reason means is said here; which reasons there are, the source says:
a reason that is in one of the two alone stops "make docs"."""

import re
import sys

import page
import source

WORD = re.compile(r"[A-Z][A-Za-z]*[a-z][A-Za-z]*")

# reason: (type, object, who says it, what happened, what to do)
EVENTS = {
    "CannotFollow": ("Warning", "Recorder", "recorder-controller", "The resource that the message names cannot be listed or watched, so its changes are not recorded.",
                     "Give the controllers the verbs get, list and watch for it, or take it out of spec.resources."),
    "ConflictingController": ("Warning", "StatefulSet", "statefulset-controller",
                              "A PersistentVolumeClaim has a controller that is neither the set nor its pod, so the retention policy leaves it alone.",
                              "Take the other controller out of the claim's owner references."),
    "FailedCreate": ("Warning", "StatefulSet", "statefulset-controller", "A pod, a claim or a revision could not be made. The message has the server's answer.",
                     "Fix what the message names, such as a quota, an admission webhook or an object of that name."),
    "FailedDelete": ("Warning", "StatefulSet", "statefulset-controller", "A pod could not be deleted. The message has the server's answer.",
                     "Fix what the message names; the controller tries again."),
    "FailedUpdate": ("Warning", "StatefulSet", "statefulset-controller", "A pod or its claims could not be changed. The message has the server's answer.",
                     "Fix what the message names; the controller tries again."),
    "HistoryBudgetNear": ("Warning", "Recorder", "recorder-controller", "The states of all Histories take more than four fifths of --history-budget-mib.",
                          "Keep fewer states: spec.keep. Beyond the budget, Histories of deleted objects are dropped."),
    "Overridden": ("Warning", "Recorder", "recorder-controller",
                   "Another Recorder, whose name sorts first, records objects that this one selects as well. Its rules count for them: ignore, redact, historyLimit.",
                   "Change the selectors so that each object has one Recorder, or choose names in the order that is meant."),
    "OwnerRefInvalidNamespace": ("Warning", "any", "garbage-collector-controller", "An owner reference names an object that is not in the namespace of its dependent.",
                                 "Correct the owner reference: an owner is in the same namespace, or in none."),
    "RecordingRefused": ("Warning", "Recorder", "recorder-controller", "The server refused to keep the state of the object that the message names.",
                         "Read the reason in the message. Often the state is too large: see spec.maxObjectBytes and spec.ignore."),
    "SelectorOverlap": ("Warning", "StatefulSet", "statefulset-controller", "The selectors of two sets match the same pods.", "Give each set labels of its own."),
    "StatesSkipped": ("Warning", "Recorder", "recorder-controller", "The recorder did not see some states of objects of the resource that the message names.",
                      "Nothing can bring them back. The alert AnnalsRecorderSkipped says how to avoid gaps."),
    "SuccessfulCreate": ("Normal", "StatefulSet", "statefulset-controller", "A pod or a claim was made.", "Nothing."),
    "SuccessfulDelete": ("Normal", "StatefulSet", "statefulset-controller", "A pod was deleted.", "Nothing."),
    "SuccessfulUpdate": ("Normal", "StatefulSet", "statefulset-controller", "A pod got back its labels or claims, or the labels of a revision.", "Nothing."),
}

# Each of a kind: the files that set it, its type, what it says, and (status, reason, when).
CONDITIONS = [
    ("Dependent", ["controllers/dependents/dependent_plan.c", "controllers/dependents/dependent.c"], "Ready", "The Dependent has its implementation.", [
        ("True", "Implemented", "All that it names is there, and its implementation was made of it."),
        ("False", "ProviderAbsent", "The object that the message names is not there yet. The controller waits for it."),
        ("False", "ProviderUnprotected", "The ControllerRevision that the message names lacks the finalizer that would keep it."),
        ("False", "ProviderTerminating", "The object that the message names is being deleted. Only the deletion of the Dependent ends that."),
        ("False", "NameTaken", "Another object has the name that the implementation needs."),
        ("False", "Refused", "The server refused to make the implementation. The message has its answer."),
        ("False", "Unfit", "The Providers' data cannot be made into an implementation. The message says why."),
    ]),
    ("Dependent", ["controllers/dependents/dependent_plan.c"], "Broken", "The Dependent can never be implemented.", [
        ("True", "ProviderTerminating", "The object that the message names is being deleted."),
        ("False", "NotBroken", "It is implemented, or may still be."),
    ]),
    ("Recorder", ["controllers/recorder/report.c"], "Recording", "All resources that the Recorder names are followed.", [
        ("True", "Following", "Every change is recorded."),
        ("False", "NotFollowed", "The resources that the message names are not followed, or not yet."),
        ("False", "Behind", "Changes have waited for more than a minute."),
        ("False", "Skipped", "In the last half minute a change was written before which states are missing."),
    ]),
    ("Recorder", ["controllers/recorder/report.c"], "Overridden", "Other Recorders record objects that this one selects. Absent where there is none.", [
        ("True", "AnotherSortsFirst", "The message lists the resources, and the Recorder whose name sorts first."),
    ]),
    ("StorageMigration", ["storage/engine/migration_plan.c", "storage/engine/migration_plan.h"], "Running", "Objects are being rewritten.", [
        ("True", "StorageVersionMigrationInProgress", "A server rewrites objects; `status.objects` says how far it is."),
        ("False", "MigrationOff", "The server whose turn it is runs with `--storage-migration=Off`. The migration waits."),
        ("False", "StorageVersionsDiffer", "The replicas do not store the resource in one version. The migration waits; the message names them."),
    ]),
    ("StorageMigration", ["storage/engine/migration_plan.c", "storage/engine/migration_plan.h"], "Succeeded", "The migration has ended well.", [
        ("True", "StorageVersionMigrationSucceeded", "All objects are stored in `status.storageVersion`."),
    ]),
    ("StorageMigration", ["storage/engine/migration_plan.c", "storage/engine/migration_plan.h"], "Failed", "The migration has ended, and objects of another version may remain.", [
        ("True", "StorageVersionMigrationFailed", "The message says which object or version hinders it."),
        ("True", "StorageVersionChanged", "The replicas have begun to store another version meanwhile. A new migration is needed."),
    ]),
    ("StorageVersion", ["storage/engine/migration_plan.c"], "AllEncodingVersionsEqual", "All replicas store the resource in one version.", [
        ("True", "CommonEncodingVersionSet", "They do: `status.commonEncodingVersion`."),
        ("False", "CommonEncodingVersionUnset", "They do not: `status.storageVersions` has the version of each."),
    ]),
    ("Namespace", ["controllers/namespace/namespace_plan.c"], "NamespaceDeletionDiscoveryFailure", "Resources could not all be found.", [
        ("True", "DiscoveryFailed", "Discovery failed for the groups in the message. The deletion waits."),
        ("False", "ResourcesDiscovered", "All were found."),
    ]),
    ("Namespace", ["controllers/namespace/namespace_plan.c"], "NamespaceDeletionGroupVersionParsingFailure", "Discovery named groups that cannot be read.", [
        ("True", "GroupVersionParsingFailed", "It did, as the message says."),
        ("False", "ParsedGroupVersions", "It did not."),
    ]),
    ("Namespace", ["controllers/namespace/namespace_plan.c"], "NamespaceDeletionContentFailure", "Objects could not be deleted.", [
        ("True", "ContentDeletionFailed", "Some could not, as the message says. The controller tries again."),
        ("False", "ContentDeleted", "All were asked to go."),
    ]),
    ("Namespace", ["controllers/namespace/namespace_plan.c"], "NamespaceContentRemaining", "Objects remain in the namespace.", [
        ("True", "SomeResourcesRemain", "The message counts them by resource."),
        ("False", "ContentRemoved", "None remain."),
    ]),
    ("Namespace", ["controllers/namespace/namespace_plan.c"], "NamespaceFinalizersRemaining", "Finalizers keep objects in the namespace.", [
        ("True", "SomeFinalizersRemain", "The message counts objects by finalizer: whoever put it there must take it off."),
        ("False", "ContentHasNoFinalizers", "None do."),
    ]),
    ("Node", ["controllers/kubelet/node_plan.c"], "Ready", "The node takes pods.", [("True", "KubeletReady", "fake-kubelet simulates the node.")]),
    ("Node", ["controllers/kubelet/node_plan.c"], "MemoryPressure", "Memory runs short.", [("False", "KubeletHasSufficientMemory", "Always: there are no processes.")]),
    ("Node", ["controllers/kubelet/node_plan.c"], "DiskPressure", "The disk runs full.", [("False", "KubeletHasNoDiskPressure", "Always: there is no disk.")]),
    ("Node", ["controllers/kubelet/node_plan.c"], "PIDPressure", "Processes run short.", [("False", "KubeletHasSufficientPID", "Always: there are no processes.")]),
    ("Pod", ["controllers/kubelet/kubelet_plan.c"], "Initialized", "Init containers have ended.", [
        ("False", "ContainersNotInitialized", "They have not."),
        ("True", "PodCompleted", "The whole pod has ended. Otherwise a true condition has no reason."),
    ]),
    ("Pod", ["controllers/kubelet/kubelet_plan.c"], "Ready", "The pod takes requests.", [
        ("False", "ContainersNotReady", "The containers in the message are not ready."),
        ("False", "ReadinessGatesNotReady", "The condition that the message names, a readiness gate, is not true."),
        ("False", "PodCompleted", "The pod has ended well."),
        ("False", "PodFailed", "The pod has failed."),
    ]),
    ("Pod", ["controllers/kubelet/kubelet_plan.c"], "ContainersReady", "All containers are ready.", [
        ("False", "ContainersNotReady", "The containers in the message are not."),
        ("False", "PodCompleted", "The pod has ended well."),
        ("False", "PodFailed", "The pod has failed."),
    ]),
    ("Pod", ["controllers/kubelet/kubelet_plan.c"], "PodReadyToStartContainers", "The pod has a network. It is true while the pod runs.", []),
    ("Pod", ["controllers/kubelet/kubelet_plan.c"], "PodScheduled", "The pod has a node.", [("False", "Unschedulable", "No node takes the pod. The message says why, in kube-scheduler's words.")]),
]
# In those files, and mostly neither a type nor a reason: statuses, phases, kinds, and what is said of containers and addresses.
OTHER_WORDS = {
    "True", "False", "Unknown", "Broken", "Failed", "Implemented", "Pending", "Running", "Succeeded", "Terminating", "Lease", "Node", "Hostname", "InternalIP", "Always",
    "Completed", "ContainerCreating", "DeadlineExceeded", "Error", "PodInitializing",
}
CONDITION_HEAD = ["condition", "it says", "status", "reason", "when"]
# What the pass over a StatefulSet says is "Failed" or "Successful", and then one of its words.
PASS = "controllers/statefulset/pass.c"


def said_events():
    """The reasons of the events that the source tells."""
    found = set()
    for name in source.files(folder="controllers"):
        tokens = source.tokens(source.read(name))
        for function, arguments in source.groups(tokens):
            texts = [text for text in map(source.literal, arguments) if text and WORD.fullmatch(text)]
            if name == PASS and function in ("pass_say", "say_of_pod") and len(arguments[1]) == 1 and texts:
                is_half = source.literal(arguments[1]) in texts
                found.update(result + text for text in texts for result in ("Failed", "Successful") if is_half)
            if function == "recorder_event" or (function == "say" and not source.literal(arguments[1])):
                found.update(texts)
            for argument in arguments:
                if argument[:3] == [".", "reason", "="] and source.literal(argument[3:]):
                    found.add(source.literal(argument[3:]))
    return found


def compare(what, told, said, others=frozenset()):
    missing, gone = sorted(said - told - others), sorted(told - said)
    if missing or gone:
        sys.exit(f"{__file__}: {what}: the source has and the tables lack {missing}; the tables have and the source lacks {gone}")


def check():
    compare("events", set(EVENTS), said_events())
    for kind in {kind for kind, *_ in CONDITIONS}:
        own = {file for name, files, *_ in CONDITIONS if name == kind for file in files}
        rows = [row for row in CONDITIONS if own & set(row[1])]  # a file may speak of two kinds
        told = {word for _, _, type_, _, reasons in rows for word in (type_, *(reason for _, reason, _ in reasons))}
        names = {file for _, files, *_ in rows for file in files}
        said = {token for name in names for token in source.tokens(source.read(name)) if isinstance(token, source.Text) and WORD.fullmatch(token)}
        compare(f"conditions of {kind}", told, said, OTHER_WORDS)


def condition_rows(kind):
    for name, _, type_, says, reasons in CONDITIONS:
        if name == kind:
            for i, (status, reason, when) in enumerate(reasons or [("", "", "")]):
                yield [f"`{type_}`" if i == 0 else "", says if i == 0 else "", status, f"`{reason}`" if reason else "", when]


def event_rows():
    for reason, (type_, about, component, happened, todo) in sorted(EVENTS.items()):
        yield [f"`{reason}`", type_, about, component, happened, todo]


TEXT = """
For people who run annals, and who ask why an object is not what it should be.

    kubectl describe recorder configmaps
    kubectl get events --field-selector reason=RecordingRefused

## Events

The controllers report their work on an object by events beside it. An event that is repeated
raises the count of the first one. Events go some time after their last report: `--event-ttl`.

{events}

## Conditions

The conditions of an object are in `status.conditions`. `kubectl wait --for=condition=Ready` waits for one.

{conditions}
"""


def main(root):
    check()
    conditions = []
    for kind in dict.fromkeys(kind for kind, *_ in CONDITIONS):
        where = ", which the controller `fake-kubelet` sets" if kind in ("Node", "Pod") else ""
        conditions += [f"### {kind}{where}", "", page.table(CONDITION_HEAD, condition_rows(kind)), ""]
    events = page.table(["reason", "type", "object", "reported by", "what happened", "what to do"], event_rows())
    page.write(root, "docs/reference/events.md", "Events and conditions", "the reasons in the source of the controllers",
               TEXT.format(events=events, conditions="\n".join(conditions)))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
