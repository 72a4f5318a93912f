"""Jobs and CronJobs: defaults, generated selectors, what is refused and in which order, updates, status, ownership, tables."""

import deviations
from exchange import apply, delete, get, gets, json_patch, merge, post, put, strategic, watch

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
JOBS, CRON_JOBS = "/apis/batch/v1/namespaces/{ns}/jobs", "/apis/batch/v1/namespaces/{ns}/cronjobs"
JOB, CRON_JOB = f"{JOBS}/q", f"{CRON_JOBS}/q"


def pods(metadata=None, **spec):
    return {**({"metadata": metadata} if metadata else {}), "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], **spec}}


def job(name="q", metadata=None, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **(metadata or {})}, "spec": {"template": pods(), **spec}}


def indexed(**spec):
    return job(**{"completionMode": "Indexed", "completions": 5, "parallelism": 5, **spec})


def cron_job(name="q", metadata=None, job=None, **spec):
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name, **(metadata or {})},
            "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": pods(), **(job or {})}}, **spec}}


def failure(*rules):
    return job(podFailurePolicy={"rules": list(rules)})


def success(*rules, **spec):
    return indexed(successPolicy={"rules": list(rules)}, **spec)


def codes(**members):
    return {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2], **members}}


def conditions(*patterns):
    return {"action": "Ignore", "onPodConditions": list(patterns)}


NUMBERS = [{name: n} for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes")
           for n in (-1, 0, 7, None)]
REFUSED = {
    "numbers": [job(**numbers) for numbers in NUMBERS] + [indexed(**numbers) for numbers in NUMBERS] + [job(parallelism=2), job(completions=3), job(completions=3, parallelism=0)],
    "modes": [job(completionMode=mode) for mode in ("Other", "", "NonIndexed", "Indexed")] + [job(completionMode="Indexed", parallelism=3), indexed(parallelism=100001),
        indexed(completions=100001, backoffLimitPerIndex=1), indexed(completions=100001, parallelism=10001), indexed(completions=100001, parallelism=10001, backoffLimitPerIndex=1, maxFailedIndexes=10001),
        indexed(backoffLimitPerIndex=1, maxFailedIndexes=6), indexed(backoffLimitPerIndex=1, maxFailedIndexes=5), indexed(name="a" * 62), indexed(name="a" * 61), indexed(name="a.b"), indexed(completions=0)],
    "templates": [job(template=t) for t in ({}, pods(restartPolicy="Always"), pods(restartPolicy=""), pods(restartPolicy="x"), pods(restartPolicy="OnFailure"), pods(containers=[]),
                                            pods(metadata={"labels": {"a b": "c"}}), pods(metadata={"labels": {"a": "b"}}))] + [{**job(), "spec": {}}],
    "selectors": [job(manualSelector=True), job(manualSelector=True, selector={"matchLabels": {"a": "b"}}), job(selector={"matchLabels": {"a": "b"}}), job(selector={}),
                  job(manualSelector=True, selector={"matchLabels": {"a": "b"}}, template=pods(metadata={"labels": {"a": "b"}})), job(manualSelector=True, selector={}),
                  job(selector={"matchLabels": {"batch.kubernetes.io/controller-uid": "x"}}), job(selector={"matchExpressions": [{"key": "job-name", "operator": "Exists"}]}),
                  job(selector={"matchExpressions": [{"key": "x", "operator": "y"}]}),
                  *(job(template=pods(metadata={"labels": {label: "x"}})) for label in ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"))],
    "labels": [job(metadata={"labels": {"a": "b"}}, template=pods(metadata={"labels": labels})) for labels in ({"a": "b"}, {"c": "d"}, {})],
    "names": [job(name) for name in ("A", "a.b", "a" * 63, "")] + [{**job(), "metadata": {"generateName": "a-"}}],
    "managed": [job(managedBy=by) for by in ("bad value", "", "a/b", "A/b", "a.io/b c", "/b", "a/", "a.io/" + "b" * 60, "kubernetes.io/job-controller")],
    "replacement": [job(podReplacementPolicy=p) for p in ("Failed", "TerminatingOrFailed", "x", "")] + [{**failure(codes()), "spec": {**failure(codes())["spec"], "podReplacementPolicy": "TerminatingOrFailed"}}],
    "failure": [failure(*rules) for rules in (
        [{"action": "Other"}], [{}], [codes()], [codes(values=[])], [codes(values=[0])], [codes(values=[2, 1])], [codes(values=[1, 1])], [codes(operator="NotIn", values=[0])], [codes(operator="x")],
        [codes(operator="")], [codes(containerName="c")], [codes(containerName="x")], [codes(values=list(range(1, 300)))], [conditions({"type": "x"})], [conditions({"type": "a b", "status": "x"})],
        [{**codes(), **conditions({"type": "x"})}], [{**codes(), "action": "FailIndex"}], [codes()] * 21, [conditions(*[{"type": "x"}] * 21)])]
        + [{**failure(codes()), "spec": {**failure(codes())["spec"], "template": pods(restartPolicy="OnFailure")}}],
    "success": [success(*rules) for rules in (
        [], [{}], [{"succeededCount": 1}], [{"succeededCount": -1}], [{"succeededCount": 6}], [{"succeededIndexes": "0,2-4"}], [{"succeededIndexes": "0,2-4", "succeededCount": 5}], [{"succeededIndexes": "5"}],
        [{"succeededIndexes": "1-9"}], [{"succeededIndexes": "3,2"}], [{"succeededIndexes": "x"}], [{"succeededIndexes": "1-2-3"}], [{"succeededIndexes": "2-1"}], [{"succeededIndexes": "1,"}],
        [{"succeededIndexes": ""}], [{"succeededCount": 1}] * 21)] + [job(successPolicy={"rules": rules}) for rules in ([], [{"succeededCount": 1}])],
}
SCHEDULES = ["* * * * *", "*/5 * * * *", "0 0 1 jan SUN", "5/10 1-5/2 ? * 1,3", "@hourly", "@every 1h30m", "@every x", "@never", "", "x", "* * * *", "* * * * * *", "60 * * * *", "* * 0 * *", "5-1 * * * *",
             "1-2-3 * * * *", "1/2/3 * * * *", "*/0 * * * *", "*/-1 * * * *", "x * * * *", "99999999999999999999 * * * *", ", * * * *", "  *  * * *   * ", "* * * foo *", "TZ=UTC * * * * *",
             "CRON_TZ=UTC 0 0 * * *", "0 0 * * TZ"]
ZONES = ["Etc/UTC", "UTC", "", "a b", "Local", "../x", "-x/y", "a//b", "abcdefghijklmno", "America/New_York"]
CRON_REFUSED = {
    "schedules": [cron_job(schedule=schedule) for schedule in SCHEDULES], "zones": [cron_job(timeZone=zone) for zone in ZONES],
    "policies": [cron_job(concurrencyPolicy=p) for p in ("Allow", "Forbid", "Replace", "", "x")],
    "numbers": [cron_job(**{name: n}) for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit") for n in (-1, 0, 7)],
    "jobs": [cron_job(job=j) for j in ({"selector": {"matchLabels": {"a": "b"}}}, {"manualSelector": True}, {"manualSelector": False}, {"backoffLimit": -1}, {"template": {}}, {"completionMode": "Indexed"},
                                       {"successPolicy": {"rules": []}}, {"podFailurePolicy": {"rules": [{"action": "x"}]}})] + [{**cron_job(), "spec": {}}],
    "names": [cron_job(name) for name in ("a" * 52, "a" * 53, "A", "a.b")],
}
CHANGES = [{"parallelism": 3}, {"completions": 3}, {"completions": None}, {"backoffLimit": 1}, {"backoffLimit": None}, {"suspend": True}, {"suspend": False}, {"completionMode": "Indexed"}, {"managedBy": "a.io/b"},
           {"podFailurePolicy": {"rules": [codes()]}}, {"backoffLimitPerIndex": 1}, {"manualSelector": True}, {"ttlSecondsAfterFinished": 4}, {"activeDeadlineSeconds": -4}, {"selector": None}]
CRON_CHANGES = [{"schedule": "@daily"}, {"schedule": "x"}, {"schedule": None}, {"timeZone": "UTC"}, {"timeZone": None}, {"suspend": None}, {"suspend": True}, {"jobTemplate": {"spec": {"parallelism": 4}}},
                {"jobTemplate": {"metadata": {"labels": {"a": "b"}}}}, {"concurrencyPolicy": None}, {"successfulJobsHistoryLimit": None}]
START, END = "2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z"


def held(*types):
    return [{"type": t, "status": "True"} for t in types]


STATUSES = [
    {"active": 1, "startTime": START}, {"active": -1}, {"ready": 2}, {"ready": 1}, {"succeeded": 2}, {"succeeded": 1}, {"failed": 3}, {"failed": 1}, {"terminating": -1}, {"startTime": END},
    {"uncountedTerminatedPods": {"succeeded": ["a", "a", ""], "failed": ["a"]}}, {"uncountedTerminatedPods": {"succeeded": ["a"]}}, {"completedIndexes": "0"}, {"failedIndexes": "0"},
    {"completionTime": END}, {"conditions": held("Complete")}, {"conditions": held("Complete", "Failed")}, {"conditions": held("Complete", "FailureTarget")}, {"conditions": held("Failed")},
    {"conditions": held("SuccessCriteriaMet", "Failed")}, {"terminating": 1, "conditions": held("Complete")}, {"conditions": held("SuccessCriteriaMet")},
    {"active": 0, "ready": 0, "completionTime": "2023-01-01T00:00:00Z", "uncountedTerminatedPods": None, "conditions": held("SuccessCriteriaMet", "Complete")},
    {"active": 0, "ready": 0, "completionTime": END, "uncountedTerminatedPods": None, "conditions": held("SuccessCriteriaMet", "Complete")},
    {"conditions": None}, {"completionTime": START}, {"active": 2}, {"terminating": 1}]
INDEXED_STATUSES = [{"completedIndexes": text} for text in ("0,2-4", "5", "x", "3,1", "", "1")] + [
    {"failedIndexes": text} for text in ("0", "1", "7", "2,x")] + [{"completedIndexes": "0-2", "failedIndexes": "2-3"}]


def table(path):
    return get(path, headers=TABLE, deviates=deviations.COLUMN_TEXTS)


def immutable(path, change):
    return merge(path, {"spec": change}, **({"deviates": deviations.JOB_VALUES} if "podFailurePolicy" in change else {}))


CASES = {
    **{f"job-created-{name}": [post(f"{JOBS}?dryRun=All", body) for body in bodies] for name, bodies in REFUSED.items()},
    **{f"cronjob-created-{name}": [post(f"{CRON_JOBS}?dryRun=All", body) for body in bodies] for name, bodies in CRON_REFUSED.items()},
    "job-plain": [post(JOBS, job()), get(JOB), table(JOBS), put(JOB, job(), deviates=deviations.JOB_VALUES), delete(f"{JOB}?propagationPolicy=Background"), delete(JOB)],
    "job-labelled": [post(JOBS, job(template=pods(metadata={"labels": {"a": "b"}}))), get(JOB), post(JOBS, job("r", {"labels": {"a": "b"}}, template=pods(metadata={"labels": {"a": "b"}}))),
                     apply(f"{JOBS}/s?fieldManager=m", job("s", template=pods(metadata={"labels": {"a": "b"}})))],
    "job-deleted": [post(JOBS, job()), delete(JOB), delete(f"{JOBS}/x"), post(JOBS, job("r")), delete(f"{JOBS}/r?propagationPolicy=Foreground"), post(JOBS, job("s")), delete(JOBS), get(JOBS)],
    "job-changed": [post(JOBS, job())] + [immutable(JOB, change) for change in CHANGES] + [get(JOB)],
    "job-changed-indexed": [post(JOBS, indexed()), merge(JOB, {"spec": {"completions": 3}}), merge(JOB, {"spec": {"completions": 3, "parallelism": 3}}), merge(JOB, {"spec": {"completions": None}}), get(JOB)],
    "job-suspended": [post(JOBS, job(suspend=True)), strategic(JOB, {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "x", "operator": "Exists"}]}}}}),
                      strategic(JOB, {"spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}}}),
                      merge(JOB, {"spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}}),
                      merge(JOB, {"spec": {"template": {"spec": {"affinity": {"nodeAffinity": {}}}}}}), merge(JOB, {"spec": {"template": {"spec": {"affinity": None}}}}), get(JOB)],
    "job-status": [post(JOBS, job())] + [merge(f"{JOB}/status", {"status": status}, **({"deviates": deviations.JOB_VALUES} if "conditions" in status else {})) for status in STATUSES] + [get(JOB), table(JOB), *gets(
        f"{JOBS}?fieldSelector=status.successful%3D2", f"{JOBS}?fieldSelector=status.successful%3D0")] + [get(f"{JOBS}?fieldSelector=spec.suspend%3Dfalse", deviates=deviations.JOB_VALUES)],
    "job-status-indexed": [post(JOBS, indexed(backoffLimitPerIndex=1))] + [merge(f"{JOB}/status", {"status": status}) for status in INDEXED_STATUSES] + [table(JOB)],
    "job-tables": [post(JOBS, job(parallelism=3)), post(JOBS, job("r", suspend=True)), merge(f"{JOBS}/r/status", {"status": {"conditions": held("Suspended")}}), table(JOBS)],
    "job-json": [post(JOBS, job()), json_patch(JOB, [{"op": "replace", "path": "/spec/parallelism", "value": 4}]), get(f"{JOB}/status")],
    "job-watch": [post(JOBS, job()), watch(f"{JOBS}?resourceVersion=0", [merge(JOB, {"spec": {"suspend": True}}), merge(f"{JOB}/status", {"status": {"failed": 1}}), delete(f"{JOB}?propagationPolicy=Background")])],
    "cronjob-plain": [post(CRON_JOBS, cron_job()), post(CRON_JOBS, cron_job("r", timeZone="Etc/UTC", suspend=True, concurrencyPolicy="Forbid", job={"backoffLimit": 2})), get(CRON_JOB), table(CRON_JOBS),
                      merge(f"{CRON_JOB}/status", {"status": {"active": [{"name": "j", "namespace": "x"}]}}), get(f"{CRON_JOB}/status"), table(CRON_JOB),
                      *gets(f"{CRON_JOBS}?fieldSelector=spec.suspend%3Dtrue"), delete(CRON_JOB), delete(CRON_JOBS)],
    "cronjob-changed": [post(CRON_JOBS, cron_job())] + [merge(CRON_JOB, {"spec": change}) for change in CRON_CHANGES] + [merge(CRON_JOB, {"metadata": {"labels": {"a": "b"}}}), put(CRON_JOB, cron_job()), get(CRON_JOB)],
    "cronjob-applied": [apply(f"{CRON_JOB}?fieldManager=m", cron_job()), apply(f"{CRON_JOB}?fieldManager=n", cron_job(suspend=True)), get(CRON_JOB)],
}
