#!/usr/bin/env python3
"""Writes docs/reference/logs.md: the topics of log lines, and the sentences that the source has for each."""

import collections
import re
import sys

import page
import source
import states

# topic: (who writes it, what it is about, what to do about a warning)
TOPICS = {
    "cache": ("server", "The copy of etcd's objects in memory.", "Look whether etcd answers: `annals doctor`. The server goes on by itself when it does."),
    "controllers": ("controllers", "All controllers together, and the server that they ask.", "Look whether the server answers, and which rights the message names."),
    "dependent-controller": ("controllers", "Dependents.", "Fix what the message names; the controller tries again."),
    "etcd": ("server", "Alarms of etcd.", "See [etcd is full](../how-to/etcd-full.md). Writes are refused until the alarm is gone."),
    "kubernetes-service-controller": ("controllers", "The Service `kubernetes`.", "Fix what the message names; the controller tries again."),
    "default-objects-controller": ("controllers", "Objects that every namespace has.", "Fix what the message names; the controller tries again."),
    "definitions": ("server", "CustomResourceDefinitions that are being deleted, or wait for names.", "Fix what the message names; it is tried again."),
    "fake-kubelet": ("controllers", "Simulated nodes.", "Fix what the message names; the controller tries again."),
    "garbage-collector-controller": ("controllers", "Objects whose owners are gone.", "Fix what the message names; the controller tries again."),
    "migration": ("server", "StorageMigrations.", "Read the conditions of the StorageMigration."),
    "namespace-controller": ("controllers", "Namespaces that are deleted.", "Read the conditions of the namespace."),
    "persistentvolumeclaim-protection-controller": ("controllers", "Claims that are deleted while pods use them.", "Fix what the message names; the controller tries again."),
    "provider-finalization-controller": ("controllers", "Providers that are deleted.", "Fix what the message names; the controller tries again."),
    "recorder-controller": ("controllers", "Recorders, and the histories that they keep.", "Read the events and the status of the Recorder."),
    "request.slow": ("server", "A request took longer than `--slow-request-threshold`. The fields of the line say where the time went.", "Look at `etcd_ms`: if it is most of the whole, etcd is slow."),
    "server": ("server", "Certificates, tokens and rights, webhooks, the audit log, connections.", "Fix what the message names."),
    "start": ("both", "The start of a program.", "Fix what the message names."),
    "statefulset-controller": ("controllers", "StatefulSets.", "Read the events of the StatefulSet."),
    "stop": ("both", "The end of a program.", "Nothing: requests that were under way when the program ended are sent again by their clients."),
    "storage-version": ("server", "Which version each replica stores.", "Read the StorageVersions. Upgrade the replicas that lag behind."),
    "store": ("server", "The store in memory, of `--store=memory`.", "Delete objects, or start with a larger `--memory-limit-mib`."),
    "threads": ("both", "A thread cannot be started.", "Raise the limits of processes and of memory."),
}
# Where messages are made that somebody else logs: the folder, and the topic.
FOLDERS = {
    "controllers/runner.c": "controllers",
    "client/outage.c": "controllers",
    "delegation/": "server",
    "server/": "server",
    "storage/engine/agreement": "storage-version",
    "storage/engine/definitions": "definitions",
    "storage/engine/": "migration",
    "storage/upkeep.c": "etcd",
    "storage/cache/": "cache",
}
LOGS = {"log_error": 0, "log_warning": 0, "log_info": 0, "log_write": 1, "log_write_fields": 1}
FUNCTION = re.compile(r"^[a-z][\w \*]*?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.M | re.S)
CONTROLLER = re.compile(r'^\t\.name = "([a-z]+-[a-z-]+)",', re.M)
WORDS_MIN = 3  # less is no sentence


def topic_of(name):
    found = [topic for folder, topic in FOLDERS.items() if name.startswith(folder)]
    if found:
        return found[0]
    if name.startswith("controllers/"):
        folder = name.rpartition("/")[0]
        names = sorted({name for file in source.files(folder=folder) for name in CONTROLLER.findall(source.read(file))})
        # Two controllers in one folder: the file says whose it is.
        return next((one for one in names if one.startswith(name.rpartition("/")[2].partition(".")[0].partition("_")[0])), names[0]) if names else None
    return None


def is_sentence(text):
    return len(source.shown(text).split()) >= WORDS_MIN and not text.startswith(("/", "{", "%s%s"))


def notices():
    """{folder: names of functions that hand a sentence on to whoever logs}"""
    found = collections.defaultdict(set)
    for name, text in source.texts():
        found[name.rpartition("/")[0]] |= {function for function, body in FUNCTION.findall(text) if "on_notice(" in body}
    return found


def said():
    """{topic: sentences}"""
    found = collections.defaultdict(set)
    says_of = notices()
    for name, text in source.texts():
        # A controller that says nothing by itself passes on what its watches say.
        for controller in CONTROLLER.findall(text) if name.startswith("controllers/") else ():
            found[controller] |= set()
        says = says_of[name.rpartition("/")[0]] | {"cache_say", "controller_notice", "recorder_notice"}
        if not re.search(r"\blog_(?:write|error|warning|info)|on_notice|" + "|".join(rf"\b{function}\(" for function in says), text):
            continue
        for function, arguments in source.groups(source.tokens(text), set(LOGS)):
            topic = source.literal(arguments[LOGS[function]]) if len(arguments) > LOGS[function] else None
            if topic:
                found[topic] |= {part for part in map(source.literal, arguments[LOGS[function] + 1 :]) if part and is_sentence(part)}
        topic = topic_of(name)
        if not topic:
            continue
        functions = FUNCTION.findall(text)
        for function, body in functions:
            tokens = source.tokens(body)
            if "on_notice(" in body:
                found[topic] |= {token for token in tokens if isinstance(token, source.Text) and is_sentence(token)}
            for _, arguments in source.groups(tokens, says):
                found[topic] |= {token for argument in arguments for token in argument if isinstance(token, source.Text) and is_sentence(token)}
    return found


TEXT = """
For people who run annals, and who read its log.

    2026-11-23T09:04:50.532170Z info    cache: following etcd from revision 1 on

A line of the log has a time, a level (error, warning, info, debug), a topic and a sentence. With
`--logging-format=json` these are the members `ts`, `level`, `what` and `msg` of an object. `-v 0` leaves
out info. Filter by topic and level: topics stay as they are, sentences may change.

No line has a token, a key, a certificate or the data of an object in it.

## Topics

{topics}

## Sentences

These are sentences of the source; `…` stands for a name, a number, or the words of another program.
What controllers say of a failed request is the server's answer, and is not here.

{sentences}
"""


def main(root):
    found = said()
    states.compare("topics of the log", set(TOPICS), set(found) | {"store"})  # that is the other topic of alarms
    lists = []
    for topic in sorted(found):
        if found[topic]:
            lists += [f"**{topic}**", "", *(f"- {page.plain(page.cell(source.shown(text)))}" for text in sorted(found[topic])), ""]
    topics = page.table(["topic", "written by", "it is about", "what to do about a warning"], [[f"`{topic}`", *texts] for topic, texts in sorted(TOPICS.items())])
    page.write(root, "docs/reference/logs.md", "Log lines", "the calls that write them", TEXT.format(topics=topics, sentences="\n".join(lists)))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
