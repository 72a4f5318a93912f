"""A controller that keeps every state of its objects, and takes them back to any of them.

Its objects are ConfigMaps with the label example.test/history. It asks annals by a Snapshot to keep each state as a ControllerRevision,
and shows its number in an annotation. Another annotation asks to go back.

    python3 history.py     # with the kubeconfig that kubectl would take
"""

import logging
import threading

import kubernetes

LABEL = "example.test/history"
REVISION = "example.test/revision"  # an annotation: the number of the present state
ROLL_BACK = "example.test/roll-back-to"  # an annotation: the number of the state that somebody wants again
GROUP, VERSION = "annals.dev", "v1"
HISTORY_LIMIT = 5  # old states

log = logging.getLogger("history")


class Controller:
    def __init__(self, client):
        self.core = kubernetes.client.CoreV1Api(client)
        self.custom = kubernetes.client.CustomObjectsApi(client)

    def reconcile(self, config_map):
        """Keeps the state of a ConfigMap, or first takes it back to an earlier one."""
        if config_map.metadata.deletion_timestamp:
            return  # its revisions go with it: they are owned by it
        annotations = config_map.metadata.annotations = config_map.metadata.annotations or {}
        if ROLL_BACK in annotations:
            self.roll_back(config_map, annotations.pop(ROLL_BACK))
            return
        number = str(self.keep(config_map))
        if annotations.get(REVISION) != number:
            annotations[REVISION] = number
            self.replace(config_map)

    def keep(self, config_map):
        """The number of the state. One request makes a revision, or finds the one that has this state, numbers it as the newest, and
        trims the history. It may be sent any number of times."""
        metadata = config_map.metadata
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata.name, "uid": metadata.uid, "controller": True, "blockOwnerDeletion": True}
        snapshot = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Snapshot",
                    "spec": {"owner": owner, "data": {"data": config_map.data or {}}, "historyLimit": HISTORY_LIMIT, "live": []}}
        kept = self.custom.create_namespaced_custom_object(GROUP, VERSION, metadata.namespace, "snapshots", snapshot)["status"]
        if kept["result"] != "Unchanged":
            log.info("%s/%s: %s, revision %s", metadata.namespace, metadata.name, kept["result"], kept["revision"]["revision"])
        return kept["revision"]["revision"]

    def roll_back(self, config_map, number):
        """Writes the state of an earlier revision into the object. That is a change like any other: it is kept when we hear of it, and
        annals finds that the old revision has it."""
        metadata = config_map.metadata
        found = self.custom.list_namespaced_custom_object(GROUP, VERSION, metadata.namespace, "controllerrevisions",
                                                          field_selector=f"controller.uid={metadata.uid},revision={number}")["items"]
        if found:
            config_map.data = found[0]["data"]["data"]
        else:
            log.warning("%s/%s: there is no revision %s", metadata.namespace, metadata.name, number)
        self.replace(config_map)

    def replace(self, config_map):
        """Of the version that we have seen: somebody else's change is not overwritten, and will bring us here again."""
        try:
            self.core.replace_namespaced_config_map(config_map.metadata.name, config_map.metadata.namespace, config_map)
        except kubernetes.client.ApiException as error:
            if error.status not in (404, 409):
                raise

    def run(self, stop, seconds=300):
        """Looks at everything once, then at what changes; and at everything again every so many seconds."""
        while not stop.is_set():
            watch = kubernetes.watch.Watch()
            try:
                for event in watch.stream(self.core.list_config_map_for_all_namespaces, label_selector=LABEL, timeout_seconds=seconds):
                    if event["type"] in ("ADDED", "MODIFIED"):
                        self.reconcile(event["object"])
                    if stop.is_set():
                        return
            except kubernetes.client.ApiException as error:
                log.warning("trying again: %s", error)
                stop.wait(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    kubernetes.config.load_kube_config()
    Controller(kubernetes.client.ApiClient()).run(threading.Event())
