"""What must hold of StatefulSets, their pods and their histories at every moment, whoever fails: watched beside any other test.

    with Invariants(server, namespace) as watched:
        ...                                   # whatever a test does
        watched.deleting(pod)                 # before it deletes one itself, so that nobody else is blamed; changing(pod) likewise
        watched.check_rest()                  # what holds when nothing is left to be done

Watches follow pods, statefulsets (both versions), ControllerRevisions and PodTemplates from one resourceVersion on, over as many connections as
it takes. At the end all is put into the order of versions and gone through once. A violation says which objects it is about, and which versions.

A controller acts on what its caches have, so a state may have changed by the time its write arrives. It has seen its own writes, though: all
pods since its last change of one, and the set since its last status. So a write is right if it was right by some pods since then and some spec
since then. Such stretches are called windows below. One pass may make several changes of a Parallel set: these are judged by the window before, too,
unless a status has been written in between, which ends a pass. And it trims the history behind its status.
"""

import collections
import contextlib
import dataclasses
import http.client
import json
import re
import threading

import processes

APPS, BETA = "apis/apps/v1", "apis/annals.dev/v1beta1"
KINDS = {"pods": "api/v1", "statefulsets": APPS, "beta": BETA, "controllerrevisions": APPS, "podtemplates": "api/v1"}
HASH, GENERATION, CREATED_BY = "controller-revision-hash", "statefulset-template-revision", "created-by-statefulset"
SET_LABELS = (HASH, "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")
TIMEOUT = 5  # seconds without a byte, after which a connection is made anew
FOLLOWS_SEED = "annals.dev/replace-broken-pods"


def bare(node):
    """Without what says nothing: null, and what is empty."""
    if isinstance(node, dict):
        kept = {name: bare(value) for name, value in node.items()}
        return {name: value for name, value in kept.items() if value not in (None, {}, [])}
    return [bare(item) for item in node] if isinstance(node, list) else node


def dump(node):
    return json.dumps(bare(node), sort_keys=True)


def ordinal_of(set_name, pod_name):
    """As the law has it: no sign, no leading zeros, an int32; None: it is no member's name."""
    match = re.fullmatch(re.escape(set_name) + r"-(0|[1-9]\d{0,9})", pod_name)
    return int(match[1]) if match and int(match[1]) < 2**31 else None


@dataclasses.dataclass
class Thing:
    """What is kept of one version of an object."""

    kind: str
    key: str  # NAMESPACE/NAME
    uid: str
    version: int
    owners: tuple  # uids of its controllers
    refers: bool  # it has some owner
    labels: dict
    is_going: bool
    body: str  # all but owners, status and bookkeeping: what only its owner may change
    facts: dict  # of its kind

    @property
    def name(self):
        return self.key.partition("/")[2]

    @property
    def owner(self):
        return self.owners[0] if self.owners else None

    def __str__(self):
        return f"{self.kind} {self.key} ({self.uid[:8]}, version {self.version})"


def read_pod(it):
    status = it.get("status", {})
    ready = any((c["type"], c["status"]) == ("Ready", "True") for c in status.get("conditions") or [])
    turned = [c.get("lastTransitionTime") for c in status.get("conditions") or [] if c["type"] == "Ready"]
    return {"phase": status.get("phase", ""), "ready": ready and status.get("phase") == "Running", "has_turned": turned not in ([], [status.get("startTime")])}


def read_set(it):
    spec, strategy = it["spec"], it["spec"].get("updateStrategy", {})
    return {"replicas": spec.get("replicas", 1), "start": spec.get("ordinals", {}).get("start", 0), "template": dump(spec["template"]),
            "partition": strategy.get("rollingUpdate", {}).get("partition", 0), "on_delete": strategy.get("type") == "OnDelete",
            "parallel": spec.get("podManagementPolicy") == "Parallel", "limit": spec.get("revisionHistoryLimit", 10),
            "several": strategy.get("rollingUpdate", {}).get("maxUnavailable") is not None,
            "generation": it["metadata"].get("generation", 0), "status": it.get("status", {}),
            "follows_seed": it["metadata"].get("annotations", {}).get(FOLLOWS_SEED) == "true"}


def read_beta(it):
    return {"T": it["spec"].get("templateGeneration"), "template": dump(it["spec"]["template"]), "status": it.get("status", {})}


def read_controllerrevision(it):
    template = ((it.get("data") or {}).get("spec") or {}).get("template")
    state = dump({name: value for name, value in template.items() if name != "$patch"}) if isinstance(template, dict) else None
    return {"number": it["revision"], "state": state, "made": "controller.kubernetes.io/hash" in it["metadata"].get("labels", {}), "data": dump(it.get("data"))}


def read_podtemplate(it):
    labels = it["metadata"].get("labels", {})
    number = labels.get(GENERATION, "")
    return {"number": int(number) if number.isdigit() else None, "state": dump(it.get("template")), "made": CREATED_BY in labels, "data": dump(it.get("template"))}


READ = {"pods": read_pod, "statefulsets": read_set, "beta": read_beta, "controllerrevisions": read_controllerrevision, "podtemplates": read_podtemplate}
BOOKKEEPING = {"resourceVersion", "managedFields", "ownerReferences", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"}


def thing(kind, it):
    meta = it["metadata"]
    rest = {name: value for name, value in it.items() if name not in ("metadata", "status", "kind", "apiVersion")}
    if kind == "pods":
        rest["spec"] = {name: value for name, value in it["spec"].items() if name != "nodeName"}  # a scheduler's
    body = dump([{name: value for name, value in meta.items() if name not in BOOKKEEPING}, rest]) if kind not in ("statefulsets", "beta") else ""
    refs = meta.get("ownerReferences") or []
    return Thing(kind, f"{meta.get('namespace', '')}/{meta['name']}", meta["uid"], int(meta["resourceVersion"]),
                 tuple(ref["uid"] for ref in refs if ref.get("controller")), bool(refs), meta.get("labels") or {}, "deletionTimestamp" in meta, body,
                 READ[kind](it))


class Stream(threading.Thread):
    """All that happens to one kind, from a version on. gaps: versions at which history was forgotten before it was read."""

    def __init__(self, kind, connect, namespace):
        super().__init__(daemon=True)
        self.kind, self.connect = kind, connect
        resource = "statefulsets" if kind == "beta" else kind
        self.path = "/" + "/".join([KINDS[kind], *(["namespaces", namespace] if namespace else []), resource])
        self.events, self.gaps, self.there = [], [], {}
        self.changed = threading.Condition()
        self.is_over, self.connection, self.failure = False, None, None
        self.first = self.position = self._list(None)

    def _list(self, version):
        """Puts what is there in the place of what was. version: of the gap, None at the beginning."""
        answer = processes.retry_until(lambda: self._get(), f"a list of {self.kind}", interval=0.2, patience=processes.LONG_PATIENCE)
        with self.changed:
            at = int(answer["metadata"]["resourceVersion"])
            items = [thing(self.kind, it) for it in answer["items"]]
            self.there = {it.key: it.version for it in items}
            self.events.append((at, "LISTED", items))
            if version is not None:
                self.gaps.append(at)
            self.changed.notify_all()
        return at

    def _get(self):
        try:
            answer = self.connect().get(self.path)
            return answer.json if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def run(self):
        try:
            while not self.is_over:
                try:
                    self._follow()
                except (OSError, http.client.HTTPException, ValueError):
                    threading.Event().wait(0.05)  # the server is away
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error

    def _follow(self):
        client = self.connect()
        self.connection = client.connect(timeout=TIMEOUT)
        try:
            self.connection.request("GET", f"{self.path}?watch=1&resourceVersion={self.position}&allowWatchBookmarks=true")
            response = self.connection.getresponse()
            if response.status == 410:
                self.position = self._list(self.position)
                return
            if response.status != 200:
                threading.Event().wait(0.05)
                return
            while not self.is_over and (line := response.readline()).endswith(b"\n"):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    if event["object"].get("code") == 410:
                        self.position = self._list(self.position)
                    return
                self._take(event["type"], event["object"])
        finally:
            self.connection.close()

    def _take(self, what, it):
        version = int(it["metadata"]["resourceVersion"])
        with self.changed:
            if what != "BOOKMARK":
                seen = thing(self.kind, it)
                self.events.append((version, what, seen))
                if what == "DELETED":
                    self.there.pop(seen.key, None)
                else:
                    self.there[seen.key] = version
            self.position = version
            self.changed.notify_all()

    def wait_abreast(self):
        """Until it has heard of all that a list shows, read after this was called."""

        def is_abreast():
            if self.failure:
                raise self.failure
            listed = self._get()
            if listed is None:
                return False
            shown = {f"{it['metadata'].get('namespace', '')}/{it['metadata']['name']}": int(it["metadata"]["resourceVersion"]) for it in listed["items"]}
            with self.changed:
                return self.there == shown

        processes.retry_until(is_abreast, f"the watch of {self.kind} is abreast", interval=0.05, patience=processes.LONG_PATIENCE)

    def end(self):
        self.is_over = True
        connection = self.connection
        if connection and connection.sock:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(2)
        self.join(processes.PATIENCE)


class Window:
    """Of one set: what its controller may act on. specs: since its last status; states: since its last change of a pod, {ordinal: (up, going)};
    revisions: what these pods were made from."""

    def __init__(self, specs=(), states=()):
        self.specs, self.states, self.revisions = list(specs), list(states), set()

    @property
    def is_ordered(self):
        return not any(spec["parallel"] for spec in self.specs)

    def slots(self):
        return [range(spec["start"], spec["start"] + spec["replicas"]) for spec in self.specs]

    def any(self, test):
        """Of some slots, and those of them that are down, and some pods."""
        return any(test(slots, [n for n in slots if not pods.get(n, (False, False))[0]], pods) for slots in self.slots() for pods in self.states)

    def may_create(self, n):
        return self.any(lambda slots, down, pods: n in slots and not any(other < n for other in down))

    def may_scale_away(self, n):
        return self.any(lambda slots, down, pods: n not in slots and not down and not any(other > n for other in pods if other not in slots))

    def may_update(self, n, is_ordered):
        """In its turn, and alone."""
        if is_ordered:
            return self.any(lambda slots, down, pods: not set(down) - {n})
        return self.any(lambda slots, down, pods: not any(other > n for other in down))

    def may_replace_broken(self, n):
        """The one that all others wait for."""
        return self.any(lambda slots, down, pods: n in down and not any(other < n for other in down) and not any(going for _, going in pods.values()))


class Check:
    """Goes through what happened. violations: sentences."""

    def __init__(self, changed=(), deleted=(), carrier=None, judges_late_adoption=False):
        self.judges_late_adoption = judges_late_adoption
        self.changed_by_users, self.deleted_by_users, self.carrier = changed, deleted, carrier
        self.violations = []
        self.there = {kind: {} for kind in KINDS}  # by key
        self.been_ready = set()  # uids of pods
        self.windows, self.earlier = {}, {}  # by the set's uid: of now, and the one before
        self.n_renewed = collections.Counter()
        self.lost = {}  # by a pod's uid: who had it, and the window in which a user took it away
        self.specs_before = {}  # those behind which a status has been written
        self.taken = collections.defaultdict(lambda: [0, 0])  # revisions by users: before and since the controller's last write of one
        self.remade = set()     # (owner, name) of revisions that a user has deleted: the same state gets the same name, and a generation of today
        self.came_from = {}     # what that status moved away from: the pass that wrote it counts this as live until it ends
        self.reported = set()  # uids of sets whose status has changed in the window of now
        self.sets = {}     # uid: the key
        self.known = {}    # uid of a set: names of all revisions that it ever had
        self.counts = collections.Counter()  # what was seen: a test may insist

    def blame(self, law, *about):
        self.violations.append(f"{law}: " + "; ".join(map(str, about)))

    # ---- what is there ----

    def set_of(self, owner):
        it = self.there["statefulsets"].get(self.sets.get(owner))
        return it if it and it.uid == owner else None

    def pods_of(self, it):
        found = {}
        for pod in self.there["pods"].values():
            if pod.owner == it.uid and (n := ordinal_of(it.name, pod.name)) is not None:
                found[n] = pod
        return found

    def revisions_of(self, owner):
        kinds = [self.carrier] if self.carrier else ["controllerrevisions", "podtemplates"]
        return [r for kind in kinds for r in self.there[kind].values() if r.owner == owner]

    def look(self, owner):
        it = self.set_of(owner)
        if it:
            window = self.windows.setdefault(owner, Window())
            spec = {**it.facts, "is_going": it.is_going}
            if not window.specs or window.specs[-1] != spec:
                window.specs.append(spec)
            window.revisions |= {pod.labels.get(HASH) for pod in self.pods_of(it).values()}
            state = {n: (pod.facts["ready"] and not pod.is_going, pod.is_going) for n, pod in self.pods_of(it).items()}
            if not window.states or window.states[-1] != state:
                window.states.append(state)

    def renew(self, owner):
        """Its controller has changed its pods, and knows it."""
        self.earlier[owner] = self.windows.get(owner) or Window()
        self.windows[owner] = Window(self.earlier[owner].specs)
        self.reported.discard(owner)
        self.n_renewed[owner] += 1

    def report(self, owner):
        """It has written the status, and knows it."""
        if window := self.windows.get(owner):
            self.specs_before[owner], window.specs = window.specs, []
        self.reported.add(owner)

    def window_of(self, owner):
        window, earlier = self.windows.get(owner) or Window(), self.earlier.get(owner)
        if earlier and not window.is_ordered and owner not in self.reported:
            return Window(earlier.specs + window.specs, earlier.states + window.states)
        return window

    # ---- events ----

    def go_through(self, events):
        for version, what, about in sorted(events, key=lambda event: event[0]):
            if what == "LISTED":
                self.list(about)
            else:
                self.counts["changes"] += 1
                self.change(version, what, about)

    def list(self, items):
        """At the beginning, and after a gap: nobody is blamed for what was not seen."""
        for it in items:
            self.there[it.kind][it.key] = it
            self.note(it)
        for owner in list(self.sets):
            self.look(owner)

    def note(self, it):
        if it.kind == "statefulsets":
            self.sets[it.uid] = it.key
        if it.kind == "pods" and it.facts["ready"]:
            self.been_ready.add(it.uid)
        if it.kind in ("controllerrevisions", "podtemplates") and it.owner:
            self.known.setdefault(it.owner, set()).add(it.name)

    def change(self, version, what, it):
        old = self.there[it.kind].get(it.key)
        if old and old.uid != it.uid:
            old = None
        if what == "DELETED":
            if old and old.version >= version:
                return  # came twice
            self.deleted(old or it, version)
            self.there[it.kind].pop(it.key, None)
        else:
            if old and old.version >= it.version:
                return
            self.there[it.kind][it.key] = it
            self.note(it)
            if len(it.owners) > 1:
                self.blame("two controllers", it)
            (self.changed if old else self.created)(*([old, it] if old else [it]))
        for owner in {old.owner if old else None, it.owner, it.uid if it.kind == "statefulsets" else None} - {None}:
            self.look(owner)

    def created(self, it):
        handler = {"pods": self.created_pod, "controllerrevisions": self.created_revision, "podtemplates": self.created_revision}.get(it.kind)
        if handler:
            handler(it)

    def changed(self, old, it):
        if it.kind in ("pods", "controllerrevisions", "podtemplates"):
            self.changed_owner(old, it)
            if it.is_going and not old.is_going:
                self.removed(old, it.version)
            if it.kind != "pods":
                self.changed_revision(old, it)
        elif it.kind == "beta":
            self.changed_template(old, it)
        else:
            self.changed_set(old, it)

    def deleted(self, old, version):
        if old.kind in ("pods", "controllerrevisions", "podtemplates"):
            if not old.is_going:
                self.removed(old, version)
        elif old.kind == "statefulsets":
            self.windows.pop(old.uid, None)

    def removed(self, old, version):
        """The moment at which somebody deletes it."""
        if old.uid in self.deleted_by_users:
            self.counts["deleted by users"] += 1
            if old.kind != "pods":
                self.taken[old.owner][1] += 1
                self.remade.add((old.owner, old.name))
            return
        if old.kind == "pods":
            self.removed_pod(old, version)
        else:
            self.removed_revision(old, version)

    # ---- the Three Laws ----

    def changed_owner(self, old, it):
        if old.owner and not it.owner:
            self.counts["released or orphaned"] += 1
            self.lost[it.uid] = (old.owner, self.n_renewed[old.owner])
        if old.owner and it.owner and old.owner != it.owner:
            self.blame("taken from another controller", old, it)
        if not old.owner and it.owner:
            self.counts["adopted"] += 1
            owner = self.set_of(it.owner)
            if self.judges_late_adoption and it.owner in self.sets and (not owner or owner.is_going):
                self.blame("adopted by a set that was deleted", old, it, owner)
            if self.judges_late_adoption and it.owner in self.sets and old.is_going:
                self.blame("adopted while it was being deleted", old, it)
            if it.kind == "pods" and owner and ordinal_of(owner.name, it.name) is None:
                self.blame("adopted under a name that is no member's", it, owner)
        if old.body == it.body or it.uid in self.changed_by_users:
            return
        if old.owner != it.owner:
            self.blame("adoption or release changed more than the reference", old, it, f"{old.body} -> {it.body}")
        elif not old.owner or (old.owner not in self.sets and old.kind == "pods"):
            self.blame("changed by somebody who does not own it", old, it, f"{old.body} -> {it.body}")

    # ---- pods ----

    def created_pod(self, pod):
        made = [name for name in SET_LABELS if name in pod.labels]
        if not pod.owner:
            if made and pod.uid not in self.changed_by_users:
                self.blame("created without its controller", pod)
            return
        it = self.set_of(pod.owner)
        if not it:
            return
        beta = self.there["beta"].get(it.key)
        if HASH not in pod.labels and beta and beta.facts["T"] is not None and pod.uid not in self.changed_by_users:
            self.blame("created without its revision", pod, it)
        if HASH in pod.labels and pod.labels[HASH] not in self.known.get(it.uid, ()):
            self.blame(f"created from a revision {pod.labels[HASH]} that is not its set's", pod, it)
        n, window = ordinal_of(it.name, pod.name), self.window_of(it.uid)
        self.counts["created"] += 1
        if window.specs:
            if n is None or all(n not in slots for slots in window.slots()):
                self.blame("created beyond the replicas", pod, it)
            elif window.is_ordered and not window.may_create(n):
                self.blame("created before its predecessors were ready", pod, it, *self.down(it))
            if all(spec["is_going"] for spec in window.specs):
                self.blame("created for a set that is being deleted", pod, it)
        self.renew(it.uid)

    def down(self, it):
        return [pod for pod in self.pods_of(it).values() if pod.is_going or not pod.facts["ready"]]

    def removed_pod(self, pod, version):
        """Whoever did it: was there a reason?"""
        if not pod.owner:
            owner, number = self.lost.get(pod.uid, (None, 0))
            if owner and self.n_renewed[owner] == number:
                self.renew(owner)  # its controller may not have heard that it is not its own any more
            elif not pod.refers:
                self.blame(f"deleted at version {version} by somebody who does not own it", pod)
            return
        it = self.set_of(pod.owner)
        if not it or it.is_going:
            if pod.owner not in self.sets:
                self.blame(f"deleted at version {version} by somebody who does not own it", pod)
            return  # its owner is gone: the garbage collector's
        window = self.window_of(it.uid)
        n = ordinal_of(it.name, pod.name)
        if window.specs and n is not None and pod.facts["phase"] not in ("Failed", "Succeeded"):
            self.judge_removal(pod, version, it, n, window)
        self.renew(it.uid)

    def judge_removal(self, pod, version, it, n, window):
        at, specs, is_ordered = f"deleted at version {version}", window.specs, window.is_ordered
        if any(n not in slots for slots in window.slots()):
            self.counts["scaled away"] += 1
            if is_ordered and all(n not in slots for slots in window.slots()) and not window.may_scale_away(n):
                self.blame(f"scaled away ({at}) before a higher one, or while slots were down", pod, it, *self.down(it))
            return
        self.counts["updated"] += 1
        if all(spec["on_delete"] for spec in specs):
            self.blame(f"updated ({at}) though the strategy is OnDelete", pod, it)
        revision = next((r for r in self.revisions_of(it.uid) if r.name == pod.labels.get(HASH)), None)
        if revision and all(revision.facts["state"] == spec["template"] and n - spec["start"] >= spec["partition"] for spec in specs):
            self.blame(f"deleted without a reason ({at}): it is of the template of today", pod, revision, it)
        if any(spec["several"] for spec in specs):
            return
        is_broken = not (pod.uid in self.been_ready and pod.facts["has_turned"])  # times have seconds
        may_replace = is_broken and any(spec["follows_seed"] for spec in specs) and window.may_replace_broken(n)
        may = window.may_update(n, is_ordered) or may_replace
        if not may:
            self.blame(f"updated ({at}) while others were down", pod, it, *self.down(it))

    # ---- revisions ----

    def created_revision(self, r):
        if not r.owner:
            if r.facts["made"] and r.uid not in self.changed_by_users and not r.refers:
                self.blame("created without its controller", r)
            return
        if r.owner not in self.sets or r.uid in self.changed_by_users:
            return
        self.counts["revisions"] += 1
        self.wrote_revision(r.owner)
        others = [other for other in self.revisions_of(r.owner) if other.uid != r.uid and other.kind == r.kind]
        for other in others:
            if other.facts["state"] == r.facts["state"] and not other.is_going:
                self.blame("two equal states of one owner", other, r)
            if other.facts["number"] is not None and r.facts["number"] <= other.facts["number"]:
                self.blame(f"number {r.facts['number']} does not rise above {other.facts['number']}", other, r)
        if "/" in r.name or r.labels.get(GENERATION) == "":
            self.blame("without a generation", r)

    def wrote_revision(self, owner):
        """The next pass knows of what was there before. The one that has written it may not."""
        self.taken[owner] = [self.taken[owner][1], 0]

    def changed_revision(self, old, r):
        if old.facts["data"] != r.facts["data"]:
            self.blame("a state was changed", old, r)
        if old.facts["number"] == r.facts["number"] or r.uid in self.changed_by_users or not r.owner or r.owner != old.owner:
            return
        self.wrote_revision(r.owner)
        for other in self.revisions_of(r.owner):
            if other.uid != r.uid and other.kind == r.kind and other.facts["number"] is not None and r.facts["number"] <= other.facts["number"]:
                self.blame(f"renumbered to {r.facts['number']}, which does not rise above {other.facts['number']}", other, r)

    def live(self, it):
        """Names of those that are needed."""
        status = it.facts["status"]
        labels = {pod.labels.get(HASH) for pod in self.there["pods"].values() if pod.owner == it.uid}
        return {status.get("currentRevision"), status.get("updateRevision"), *labels}

    def removed_revision(self, r, version):
        if not r.owner:
            if not r.refers and r.facts["made"]:
                self.blame(f"deleted at version {version} by somebody who does not own it", r)
            return
        it = self.set_of(r.owner)
        if not it or it.is_going:
            if r.owner not in self.sets and r.facts["made"]:
                self.blame(f"deleted at version {version} by somebody who does not own it", r)
            return
        self.counts["revisions trimmed"] += 1
        live = self.live(it)
        if r.name in live:
            self.blame(f"a live revision was deleted at version {version}", r, it)
        rest = [other for other in self.revisions_of(it.uid) if other.uid != r.uid and other.kind == r.kind and not other.is_going]
        specs = self.window_of(it.uid).specs + self.specs_before.get(it.uid, [])
        least = min([it.facts["limit"], *(spec["limit"] for spec in specs)])
        counted = rest if r.kind == "podtemplates" else [other for other in rest if other.name not in live]
        if least < 0 or len(counted) + sum(self.taken[it.uid]) < least:
            self.blame(f"deleted at version {version} though only {len(counted)} of {least} were left", r, it)
        spared = live | {self.came_from.get(it.uid)}
        for window in (self.windows.get(it.uid), self.earlier.get(it.uid)):
            spared |= window.revisions if window else set()  # its cache may still have a pod that is gone
        if any(other.facts["number"] is not None and other.facts["number"] < r.facts["number"] and other.name not in spared for other in rest):
            self.blame(f"deleted at version {version} before an older one", r, it)

    # ---- sets ----

    def changed_template(self, old, it):
        before, after = old.facts["T"], it.facts["T"]
        if before is not None and (after is None or after < before):
            self.blame(f"the template's generation fell from {before} to {after}", old, it)
        is_same = old.facts["template"] == it.facts["template"]
        if not is_same and after == before and without_amounts(old.facts["template"]) != without_amounts(it.facts["template"]):
            self.blame(f"another template under generation {after}", old, it)
        if is_same and after != before and before is not None:
            self.blame(f"generation {after} without another template", old, it)
        was, status = old.facts["status"], it.facts["status"]
        if was.get("templateGeneration") and was.get("templateGeneration") != status.get("templateGeneration"):
            self.completed(old, it)

    def completed(self, old, it):
        """Current moves in one write, with all that belongs to it."""
        was, status = old.facts["status"], it.facts["status"]
        if was.get("currentRevision") == status.get("currentRevision") and (it.uid, status.get("currentRevision")) in self.remade:
            return
        if status.get("templateGeneration") != status.get("targetTemplateGeneration"):
            self.blame("the current generation moved to what was no target", old, it, status)
        elif status.get("currentRevision") == status.get("updateRevision") and status.get("updatedReplicas"):
            self.blame("completed, and updatedReplicas is not zeroed", it, status)

    def changed_set(self, old, it):
        was, status = old.facts["status"], it.facts["status"]
        if status.get("observedGeneration", 0) < was.get("observedGeneration", 0):
            self.blame("observedGeneration fell", old, it)
        if status.get("observedGeneration", 0) > it.facts["generation"]:
            self.blame("observedGeneration is of the future", it)
        if was != status:
            self.report(it.uid)
            self.came_from[it.uid] = was.get("currentRevision")

    # ---- at rest ----

    def rest(self):
        """What a set with nothing left to do is like."""
        for it in self.there["statefulsets"].values():
            if not it.is_going:
                self.rest_of(it)

    def rest_of(self, it):
        spec, status, pods = it.facts, it.facts["status"], self.pods_of(it)
        slots = list(range(spec["start"], spec["start"] + spec["replicas"]))
        if sorted(pods) != slots:
            self.blame(f"at rest its pods are {sorted(pods)}", it)
        if status.get("observedGeneration") != spec["generation"]:
            self.blame("at rest it has not been observed", it)
        counts = {"replicas": len(pods), "readyReplicas": sum(pod.facts["ready"] for pod in pods.values()),
                  "currentReplicas": sum(pod.labels.get(HASH) == status.get("currentRevision") for pod in pods.values()),
                  "updatedReplicas": sum(pod.labels.get(HASH) == status.get("updateRevision") for pod in pods.values())}
        for name, count in counts.items():
            if status.get(name, 0) != count:
                self.blame(f"at rest {name} is {status.get(name, 0)} rather than {count}", it, *pods.values())
        for n, pod in pods.items():
            self.rest_of_pod(it, n, pod)
        revisions = self.revisions_of(it.uid)
        live = self.live(it)
        excess = [r for r in revisions if r.name not in live]
        limit = spec["limit"]
        for kind in ("controllerrevisions", "podtemplates"):
            n_excess, n = sum(r.kind == kind for r in excess), sum(r.kind == kind for r in revisions)
            if 0 <= limit < (n_excess if kind == "controllerrevisions" else min(n, n_excess + limit)) and n_excess:
                self.blame(f"at rest {n_excess} revisions are beyond the limit of {limit}", it, *excess)
        update = next((r for r in revisions if r.name == status.get("updateRevision")), None)
        if not update or without_amounts(update.facts["state"] or "null") != without_amounts(spec["template"]):
            self.blame("at rest its update revision is not its template", it, update)

    def rest_of_pod(self, it, n, pod):
        spec, status = it.facts, it.facts["status"]
        of = pod.labels.get(HASH)
        if pod.is_going or spec["on_delete"]:
            return
        if n - spec["start"] >= spec["partition"] and of != status.get("updateRevision") and pod.facts["ready"]:
            self.blame("at rest a pod is not of the update's revision", pod, it)
        if of not in (status.get("currentRevision"), status.get("updateRevision")) and spec["partition"] == 0 and pod.facts["ready"]:
            self.blame("at rest a pod is of a third revision", pod, it)


def without_amounts(template):
    """Of resources 1000m and 1 are the same; only that they are amounts counts here."""
    return re.sub(r'"resources": (\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})', '"resources": 0', template)


def uid_of(it):
    return it if isinstance(it, str) else it["metadata"]["uid"]


class Invariants:
    """Beside a test: a context manager. server: anything with .client, or a function that returns a Client, which may be another one later.
    namespace: the only one that is looked at. carrier: of the histories. judges_late_adoption: nobody deletes a set or an orphan between
    the controller's last look at it and its adoption, which are two requests."""

    def __init__(self, server, namespace=None, carrier=None, kinds=tuple(KINDS), judges_late_adoption=False):
        connect = server if callable(server) else lambda: server.client
        self.changed, self.deleted = set(), set()
        self.judges_late_adoption, self.is_judged = judges_late_adoption, False
        self.carrier = carrier
        self.streams = [Stream(kind, connect, namespace) for kind in kinds]

    def __enter__(self):
        for stream in self.streams:
            stream.start()
        return self

    def __exit__(self, failure, *_):
        try:
            if not failure and not self.is_judged:
                self.check()
        finally:
            for stream in self.streams:
                stream.end()

    def changing(self, *things):
        """The caller is about to change these pods or revisions himself; also to make them."""
        self.changed.update(map(uid_of, things))

    def deleting(self, *things):
        """A client is about to delete them: with a precondition, so that no other of that name goes."""
        self.deleted.update(map(uid_of, things))

    def judge(self):
        """A Check of all that has happened up to now."""
        for stream in self.streams:
            stream.wait_abreast()
        check = Check(set(self.changed), set(self.deleted), self.carrier, self.judges_late_adoption)
        check.go_through([event for stream in self.streams for event in list(stream.events)])
        return check

    def check(self):
        found = self.judge()
        assert not found.violations, show(found.violations)
        return found

    def check_rest(self):
        """All that has happened, and what holds when all is done."""
        found = self.judge()
        found.rest()
        assert not found.violations, show(found.violations)
        return found


def show(violations):
    return f"{len(violations)} violations:\n" + "\n".join(violations[:20])
