#!/usr/bin/env python3
"""Writes docs/reference/metrics.md: each metric that the source exposes, from the calls and tables that name it."""

import re
import sys

import page
import source

NAME = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")
TYPES = ("counter", "gauge", "histogram")
HEADER = re.compile(r"# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n")
# Of files that expose metrics, or have a table of some.
WRITES = re.compile(r'exposition_|counter_name|review_metrics_write|# TYPE ')
# What does not end with "_total" or "_seconds", and is named in a table without its type.
TYPE_OF = {"authentication_attempts": "counter"}
# Upstream's help of these is empty, and theirs are kept.
HELP_OF = {
    "authentication_token_cache_active_fetch_count": "TokenReviews under way, and requests that wait for one of them.",
    "authentication_token_cache_fetch_total": "TokenReviews asked, by how they ended.",
    "authentication_token_cache_request_duration_seconds": "How long tokens took, by whether the answer was in memory.",
    "authentication_token_cache_request_total": "Tokens asked about, by whether the answer was in memory.",
}
# The labels of those that have any. tests/integration/test_reference.py compares them with a server's answer.
REQUEST = "component group resource scope subresource verb version"
LABELS = {
    "apiserver_conversion_webhook_duration_seconds": "failure_type result", "apiserver_conversion_webhook_request_total": "failure_type result",
    "annals_certificate_expiration_timestamp_seconds": "use",
    "annals_etcd_alarm": "type",
    "annals_storage_migration_objects_total": "resource result",
    "annals_storage_version_common": "resource",
    "annals_stored_objects": "group resource version",
    "apiserver_admission_webhook_admission_duration_seconds": "name operation rejected type",
    "apiserver_admission_webhook_fail_open_count": "name type",
    "apiserver_admission_webhook_rejection_count": "error_type name operation rejection_code type",
    "apiserver_admission_webhook_request_total": "code name operation rejected type",
    "apiserver_audit_error_total": "plugin",
    "apiserver_audit_level_total": "level",
    "apiserver_current_inflight_requests": "request_kind",
    "apiserver_delegated_authn_request_duration_seconds": "code",
    "apiserver_delegated_authn_request_total": "code",
    "apiserver_delegated_authz_request_duration_seconds": "code",
    "apiserver_delegated_authz_request_total": "code",
    "apiserver_init_events_total": "group resource",
    "apiserver_longrunning_requests": REQUEST,
    "apiserver_rejected_requests_total": "request_kind",
    "apiserver_request_duration_seconds": f"{REQUEST} dry_run",
    "apiserver_request_sli_duration_seconds": REQUEST,
    "apiserver_request_terminations_total": f"{REQUEST} code",
    "apiserver_request_total": f"{REQUEST} code dry_run",
    "apiserver_requested_deprecated_apis": "group removed_release resource subresource version",
    "apiserver_resource_objects": "group resource",
    "apiserver_response_sizes": REQUEST,
    "apiserver_storage_objects": "resource",
    "apiserver_storage_size_bytes": "storage_cluster_id",
    "apiserver_terminated_watchers_total": "group resource",
    "apiserver_watch_cache_read_wait_seconds": "group resource",
    "apiserver_watch_events_sizes": "group resource version",
    "apiserver_watch_events_total": "group resource version",
    "authenticated_user_requests": "username",
    "authentication_attempts": "result",
    "authentication_duration_seconds": "result",
    "authentication_token_cache_active_fetch_count": "status",
    "authentication_token_cache_fetch_total": "status",
    "authentication_token_cache_request_duration_seconds": "status",
    "authentication_token_cache_request_total": "status",
    "authorization_attempts_total": "result",
    "authorization_duration_seconds": "result",
    "etcd_request_errors_total": "group operation resource",
    "etcd_request_duration_seconds": "group operation resource",
    "etcd_requests_total": "group operation resource",
    "leader_election_master_status": "name",
    "workqueue_adds_total": "name",
    "workqueue_depth": "name",
    "workqueue_longest_running_processor_seconds": "name",
    "workqueue_retries_total": "name",
    "workqueue_unfinished_work_seconds": "name",
}


def type_of(name, function):
    for word in ("gauge", "counter"):
        if function == f"exposition_{word}":
            return word
    if name in TYPE_OF:
        return TYPE_OF[name]
    return "histogram" if name.endswith("_seconds") else "counter" if name.endswith("_total") else None


def pairs_of(function, arguments):
    """(name, type, help) of each metric that a call or a table's row names."""
    texts = [source.literal(argument) for argument in arguments]
    for i, name in enumerate(texts):
        if not name or not NAME.fullmatch(name) or i + 1 >= len(texts):
            continue
        if texts[i + 1] in TYPES:
            help_text = texts[i + 2] if i + 2 < len(texts) else None
            if help_text:
                yield name, texts[i + 1], help_text if " " in help_text or help_text.startswith("[") else "[ALPHA]"
        elif texts[i + 1] and " " in texts[i + 1] and type_of(name, function):
            yield name, type_of(name, function), texts[i + 1]


def with_prefix(found_of):
    """Of metrics whose prefix is the caller's: "%s_request_total"."""
    prefixes = sorted({text for found in found_of.values() for name, arguments in source.groups(found, ["review_metrics_write"])
                       for text in map(source.literal, arguments) if text})
    found = found_of["delegation/call.c"]
    suffixes = [text[len("%s"):] for text in found if isinstance(text, source.Text) and text.startswith("%s_")]
    heads = [arguments for name, arguments in source.groups(found, ["exposition_head"])]
    for prefix in prefixes:
        for suffix, arguments in zip(suffixes, heads, strict=True):
            yield prefix + suffix, source.literal(arguments[2]), source.literal(arguments[3])


def metrics():
    """name: (type, help, whether a program of controllers shows it)"""
    found_of = {name: source.tokens(text) for name, text in source.texts() if WRITES.search(text)}
    metrics = {}
    for name, found in found_of.items():
        is_controllers = name.startswith("controllers/")
        for function, arguments in source.groups(found):
            for metric, kind, text in pairs_of(function, arguments):
                metrics[metric] = (kind, text, is_controllers)
        for token in found:
            for metric, text, kind in HEADER.findall(token) if isinstance(token, source.Text) and "%s" not in token else []:
                metrics[metric] = (kind, text, is_controllers)
    for metric, kind, text in with_prefix(found_of):
        metrics[metric] = (kind, text, False)
    return metrics


def rows(metrics, is_wanted):
    for name in sorted(metrics):
        kind, text, is_controllers = metrics[name]
        if not is_wanted(name):
            continue
        stability, _, text = text.partition("]") if text.startswith("[") else ("", "", text)
        text = text.strip() or HELP_OF[name]
        labels = ", ".join(f"`{label}`" for label in sorted(LABELS.get(name, "").split()))
        yield [f"`{name}`", kind, labels, stability.strip("[") or "-", "controllers" if is_controllers else "server",
               page.plain(text if text.endswith((".", "?")) else text + ".")]


INTRO = """
For people who run annals, and who write dashboards and alerts.

    kubectl get --raw /metrics | grep annals_etcd_alarm

A scrape of `/metrics` answers all of these in Prometheus' text format. A metric of which nothing was
counted yet is absent where it has labels. A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.

The column "in" says which program has the metric:

- server: `annals up` and `annals serve`
- controllers: `annals up`, and `annals controllers` with `--metrics-port`

The column "stability" is Kubernetes' promise for metrics that kube-apiserver has, too: a `STABLE` metric
keeps its name and labels, an `ALPHA` one may change. The metrics of annals itself have none: a change
of their names or labels stands in the [changelog](../../CHANGELOG.md).
"""


def main(root):
    all_metrics = metrics()
    unknown = sorted(set(LABELS) - set(all_metrics))
    if unknown:
        sys.exit(f"LABELS of {__file__} has metrics that the source has not: {', '.join(unknown)}")
    head = ["metric", "type", "labels", "stability", "in", "what it says"]
    text = [INTRO]
    for title, is_wanted in (
        ("Of annals alone", lambda name: name.startswith("annals_")),
        ("As in kube-apiserver and its libraries", lambda name: not name.startswith(("annals_", "process_"))),
        ("Of the process", lambda name: name.startswith("process_")),
    ):
        text += [f"## {title}", "", page.table(head, rows(all_metrics, is_wanted)), ""]
    page.write(root, "docs/reference/metrics.md", "Metrics", "the calls and tables that expose them", "\n".join(text))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
