"""A controller that copies ConfigMaps to other namespaces: the label example.test/copy-to says where. A copy follows its original, and goes with it.

    python3 copier.py     # with the kubeconfig that kubectl would take
"""

import threading

import kubernetes

TO, FROM = "example.test/copy-to", "example.test/copy-from"


def key(config_map):
    return config_map.metadata.namespace, config_map.metadata.name


def copy_of(original):
    """What is to be in the other namespace."""
    return kubernetes.client.V1ConfigMap(
        api_version="v1", kind="ConfigMap",
        metadata=kubernetes.client.V1ObjectMeta(namespace=original.metadata.labels[TO], name=original.metadata.name,
                                                labels={FROM: original.metadata.namespace}),
        data=original.data, binary_data=original.binary_data)


def reconcile(core):
    """One pass over everything. Returns the resource version it has seen."""
    listed = core.list_config_map_for_all_namespaces()
    labelled = [item for item in listed.items if TO in (item.metadata.labels or {})]
    wanted = {key(copy): copy for copy in map(copy_of, labelled) if copy.metadata.namespace != copy.metadata.labels[FROM]}
    there = {key(item): item for item in listed.items if FROM in (item.metadata.labels or {})}
    strangers = {key(item) for item in listed.items} - there.keys()
    for (namespace, name), copy in wanted.items():
        present = there.get((namespace, name))
        if (namespace, name) in strangers:
            continue  # somebody's own, which is not ours to change
        if present is None:
            core.create_namespaced_config_map(namespace, copy)
        elif (present.data, present.binary_data, present.metadata.labels) != (copy.data, copy.binary_data, copy.metadata.labels):
            copy.metadata.resource_version = present.metadata.resource_version
            core.replace_namespaced_config_map(name, namespace, copy)
    for namespace, name in there.keys() - wanted.keys():
        core.delete_namespaced_config_map(name, namespace)
    return listed.metadata.resource_version


def run(core, stop, wait_seconds=1):
    """Until stop, an Event, is set."""
    while not stop.is_set():
        try:
            version = reconcile(core)
            for _ in kubernetes.watch.Watch().stream(core.list_config_map_for_all_namespaces, resource_version=version, timeout_seconds=wait_seconds):
                break  # something has changed: look at everything again
        except kubernetes.client.ApiException as error:
            if error.status not in (404, 409, 410):  # somebody was quicker; a namespace is not there yet; the version is too old
                raise
            stop.wait(0.1)


if __name__ == "__main__":
    kubernetes.config.load_kube_config()
    run(kubernetes.client.CoreV1Api(), threading.Event(), wait_seconds=300)
