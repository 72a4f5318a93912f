"""Histories of an etcd that is restored from backups: one for each time between two restores, an era. What was written after a backup is lost by its
restore, and revisions may be used a second time: so what clients saw in an era is held against the history of that era alone.

An era's history is that of the era before up to the backup, and then its own. Its end is not known to the last revision, for an etcd that is
stopped tells nothing any more: what was answered after history had been read is held against nothing. The first thing that counts of the next era is
what began when etcd had been stopped."""

import dataclasses
import json
import math
import time
import types

import clients
import crowd
import history
import model
import search
import sweep
import truth
import watchers
import writers

WRITTEN, CROWDED = "written", "crowded"  # namespaces: of each check's own, beside those of clients and watchers


@dataclasses.dataclass
class Era:
    began: float = -math.inf  # the first moment of it
    base: int = 0  # the revision of the backup
    unnoticed: list = dataclasses.field(default_factory=list)  # revisions of its history that were written before servers noticed a restore
    told_at: float = math.inf  # when its history was read last ...
    told_to: float = math.inf  # ... and up to which revision
    changes: list = None  # all, those before it, too; some beyond told_to, perhaps

    def truth(self, namespace=""):
        return truth.Truth([change for change in self.changes if change.key.startswith(f"{truth.REVISIONS}{namespace}")])


class Eras:
    """Of a world. Its recorder is that of the era that is going on."""

    def __init__(self, gateway):
        self.gateway, self.recorder = gateway, truth.Recorder(gateway)
        self.all = [Era()]

    def read(self):
        """Adds all answers of clients so far to the facts of this era."""
        era = self.all[-1]
        era.told_at = time.monotonic()
        era.told_to = self.recorder.catch_up()
        era.changes = list(self.recorder.found)

    def close(self, base, stopped_at):
        """etcd has been stopped, and is to go on from there. Who was being answered then has been given up."""
        before = self.all[-1]
        before.changes = self.recorder.end()
        self.all.append(Era(began=stopped_at, base=base, unnoticed=list(before.unnoticed),
                            changes=[change for change in before.changes if change.revision <= base]))

    def open(self, bump):
        """etcd goes on, at revisions greater than that of the backup by `bump`."""
        era = self.all[-1]
        self.recorder = truth.Recorder(self.gateway, era.changes, era.base + bump + 1)

    def note_noticed(self, revision):
        """All servers have noticed the restore by then."""
        era = self.all[-1]
        era.unnoticed.append(range(era.base + 1, revision + 1))


# ---- who takes part, and knows of eras ----


class Writer(writers.Writer):
    """Gets the objects that it has lost."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.eras, self.restored = [], None

    @staticmethod
    def path(api_version, name=""):
        return clients.path(api_version, name).replace(f"/{clients.NAMESPACE}/", f"/{WRITTEN}/")

    def step(self):
        if self.restored is not None:
            self._forget(self.restored)
            self.restored = None
        super().step()

    def _forget(self, there):
        self.end_era()
        for name, record in self.records.items():
            _, value = there.get(f"{WRITTEN}/{name}", (0, None))
            record.forget(value and dataclasses.replace(self.version_of(value), revision=0))

    def end_era(self):
        self.eras.append(types.SimpleNamespace(acknowledged=self.acknowledged, refused=self.refused, lost=self.lost))
        self.acknowledged, self.refused, self.lost = {}, set(), set()

    def gives_up(self):
        return self.restored is not None


class Crowd(crowd.Member):
    namespace = CROWDED

    def __init__(self, world, number, seed):
        super().__init__(world, number, seed, n_providers=6, n_dependents=12)


class Watcher(watchers.Watcher):
    """One that was not connected when etcd was restored cannot know that its resourceVersion means something else now, and is restarted as
    docs/how-to/back-up-and-restore.md says: unless revisions have been bumped, by which it learns it."""

    def step(self):
        self.era = self.world.era
        is_old = self.segment and self.segment.era != self.era
        if is_old and (self.segment.era is None or self.world.are_revisions_used_again):
            self.segment = None
        super().step()

    @property
    def position(self):
        return super().position if self.segment and self.segment.era == self.world.era else 0

    def _begin(self, revision, there):
        before = self.segment
        super()._begin(revision, there)
        if there is None:
            self.segment.era = before.era
        else:
            self.segment.era = self.era if self.era == self.world.era else None


# ---- checks ----


def as_known(ops, era):
    """Operations of the era, as far as its history shows them."""
    known = search.known_at([op for op in ops if op.begin >= era.began], era.told_at)
    return [op for op in known if not (op.is_lost and op.kind in ("get", "list"))]


def check_operations(ops, eras):
    for era in eras:
        told, mine = era.truth(f"{clients.NAMESPACE}/"), as_known(ops, era)
        there = {key: (sweep.state_of(value), str(revision)) for key, (revision, value) in told.state(era.base).items()}
        model.name_incarnations(mine, told)
        swept = sweep.Sweep(told)
        swept.check(mine, era.base)
        search.check(swept.without_vanished(mine, era.base), there)
        check_writers(told, era, {op.id for op in ops if op.begin >= era.began})


def check_writers(told, era, names):
    """What was sent to the etcd of another era is not carried out in this one."""
    strangers = [change for change in told.changes if change.value and change.revision > era.base
                 and model.writer(sweep.state_of(change.value)) not in names]
    assert not strangers, f"written by operations before {era.began}: {strangers}"


def check_acknowledged(members, eras):
    for number, era in enumerate(eras):
        told = era.truth(f"{WRITTEN}/")
        before = {writers.version_of(change.value).mark for change in told.changes if change.value and change.revision <= era.base}
        writers.check_history(told, [member.eras[number] for member in members], before, era.told_to)


def check_references(eras):
    for era in eras:
        found = list(history.replay(era.changes, crowd.LIMITS, era.unnoticed))
        assert not found, f"after a backup of revision {era.base}: {history.report(found)}"


def check_watchers(members, eras):
    for number, era in enumerate(eras):
        told = era.truth()
        for watcher in members:
            watchers.check(told, watcher, number, era.told_to)
    for number, era in enumerate(eras[1:]):
        check_nothing_is_mixed(members, number, era)


def check_nothing_is_mixed(members, number, following):
    """A watcher of one era gets no event of the following one."""
    later = {(change.revision, text_of(watchers.meaning(change.value)))
             for change in following.truth().changes if change.value and change.revision > following.base}
    for watcher in members:
        for segment in watcher.segments:
            mixed = [event for event in segment.events if segment.era == number and (event.revision, text_of(event.object)) in later]
            assert not mixed, f"{watcher.form.name} from {segment.start} on got events of another era: {mixed}"


def text_of(value):
    return json.dumps(value, sort_keys=True)
