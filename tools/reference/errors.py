#!/usr/bin/env python3
"""Writes docs/reference/errors.md: the reasons of Status answers and of their causes. What a reason means is said here; which reasons
there are, with which codes and sentences, the source says: a reason that is in one of the two alone stops "make docs"."""

import collections
import re
import sys

import page
import source
import states

DEFINED = re.compile(r'^#define REASON_(\w+) "(\w+)"', re.M)

# reason: (what it means, what a client does)
REASONS = {
    "AlreadyExists": ("An object of this name exists, or a name that was made up is taken.", "Read the object. With generateName, try again."),
    "BadRequest": ("The request cannot be understood: its body, a parameter, a selector.", "Correct the request. Retrying does not help."),
    "Conflict": ("The object has changed since it was read, a precondition does not hold, another manager owns the field, or the object is in use.",
                 "Read the object again, apply the change to it, and write it. Where the causes say InUse, remove the objects that they name."),
    "Expired": ("The resourceVersion or the continue token is older than what etcd keeps.", "List again from the start, and watch from there."),
    "Forbidden": ("The user lacks the right, or a rule of the server forbids the request whoever asks.", "Ask for the right: `kubectl auth can-i` says who has it. Retrying does not help."),
    "Gone": ("Not answered by annals; clients know it.", "As for Expired."),
    "InternalError": ("The server failed in a way that it does not know.", "Report it, with the line of the log."),
    "Invalid": ("The object breaks rules of its kind. The causes have each field and rule.", "Correct all fields that the causes name. Retrying does not help."),
    "MethodNotAllowed": ("The resource has no such verb.", "See the verbs of the kind in the API reference."),
    "NotAcceptable": ("The server has none of the forms that Accept names.", "Accept application/json."),
    "NotFound": ("There is no such object, resource or path.", "Check the name, the namespace and the API version."),
    "RequestEntityTooLarge": ("The request is larger than a limit of the server or of etcd.", "Make it smaller: see [limits](../how-to/limits.md). Retrying does not help."),
    "ServerTimeout": ("Not answered by annals; clients know it.", "As for Timeout."),
    "ServiceUnavailable": ("The server cannot answer now: it starts or stops, or etcd is away, full or behind.", "Try again after the seconds in Retry-After."),
    "Timeout": ("etcd has not answered in time. A write may have happened, or not.", "Read the object before the write is repeated."),
    "TooManyRequests": ("Too many requests are under way, or they hold too much memory.", "Try again after the seconds in Retry-After."),
    "Unauthorized": ("The server does not know who asks: no certificate, no token, or one that is not valid.", "Check the kubeconfig, and how long its certificate lasts."),
    "UnsupportedMediaType": ("The body is in a form that the server does not read here.", "Send application/json; for patches see the types in the message."),
}

# reason: (of which answers, what it means)
CAUSES = {
    "FieldManagerConflict": ("Conflict", "Server-side apply: another manager owns the field. The message names the manager."),
    "FieldValueDuplicate": ("Invalid, Conflict", "Two items have the same value, or another revision has this number or data."),
    "FieldValueForbidden": ("Invalid", "The field cannot be set here, or cannot be changed."),
    "FieldValueInvalid": ("Invalid", "The value breaks a rule, which the message states."),
    "FieldValueNotFound": ("Invalid", "The value names an object or item that does not exist."),
    "FieldValueNotSupported": ("Invalid", "The value is none of those that the message lists."),
    "FieldValueRequired": ("Invalid", "The field must be set."),
    "FieldValueTooLong": ("Invalid", "The value is longer than the message says."),
    "FieldValueTooMany": ("Invalid", "The list or map has more items than the message says."),
    "FieldValueTypeInvalid": ("Invalid", "The value is of another type than the field."),
    "InUse": ("Conflict", "An object refers to this one, which therefore stays. The message names it."),
    "NamespaceTerminating": ("Forbidden", "The namespace is being deleted, so nothing can be created in it."),
    "ReferenceMissing": ("Conflict", "A Dependent with `whenMissing: Refuse` names an object that is not there, or is being deleted."),
    "ResourceVersionTooLarge": ("Timeout", "The server has not seen the resourceVersion yet. Clients try again by themselves."),
}


def said():
    """(code and sentences of each reason, reasons of causes)"""
    codes, sentences, causes = collections.defaultdict(set), collections.defaultdict(set), set()
    names = dict(DEFINED.findall(source.read("api/model/status.h")))
    for name, text in source.texts():
        own = {**names, **dict(DEFINED.findall(text))}
        if "REASON_" not in text and "status_add_cause" not in text and "FieldValue" not in text:
            continue
        tokens = source.tokens(text)
        causes |= {token for token in tokens if isinstance(token, source.Text) and re.fullmatch("FieldValue[A-Z]\\w+", token)}
        for function, arguments in source.groups(tokens):
            flat = [token for argument in arguments for token in argument]
            numbers = [token for token in flat if re.fullmatch("[1-5]\\d\\d", token) and not isinstance(token, source.Text)]
            reasons = [token[len("REASON_"):] for token in flat if token.startswith("REASON_") and not isinstance(token, source.Text)]
            if len(numbers) == 1 and len(reasons) == 1 and reasons[0] in names:
                reason = names[reasons[0]]
                codes[reason].add(numbers[0])
                sentences[reason] |= {source.shown(text) for text in map(source.literal, arguments) if text and " " in text}
            if function == "status_add_cause" and len(arguments) > 1:
                literal = source.literal(arguments[1])
                if literal:
                    causes.add(literal)
                elif arguments[1][0].startswith("REASON_"):
                    causes.add(own[arguments[1][0][len("REASON_"):]])
    return set(names.values()), codes, sentences, causes


TEXT = """
For people who write clients, and who read an answer that is an error.

    kubectl get --raw /apis/annals.dev/v1/namespaces/default/providers/nobody

An error is answered as a `Status` (API version `v1`): `code` is the HTTP status, `reason` is one word for
programs, `message` is a sentence for people. `details.causes` says more where there is more than one
fault, with a `reason`, a `field` and a `message` each. The words are those of kube-apiserver.

## Reasons

{reasons}

## Reasons of causes

{causes}

## Sentences

These are the sentences that the server has for each reason; `…` stands for a name or a number.
Sentences of webhooks and of rules for single fields are not here.

{sentences}
"""


def main(root):
    names, codes, sentences, causes = said()
    states.compare("reasons", set(REASONS), names)
    states.compare("causes", set(CAUSES), causes)
    reasons = page.table(["reason", "code", "what it means", "what a client does"],
                         [[f"`{reason}`", ", ".join(sorted(codes[reason])), *texts] for reason, texts in sorted(REASONS.items())])
    rows = page.table(["reason", "in answers of", "what it means"], [[f"`{reason}`", *texts] for reason, texts in sorted(CAUSES.items())])
    lists = []
    for reason in sorted(sentences):
        if sentences[reason]:
            lists += [f"**{reason}**", "", *(f"- {page.plain(' '.join(sentence.split()))}" for sentence in sorted(sentences[reason])), ""]
    page.write(root, "docs/reference/errors.md", "Errors", "the reasons and sentences in the source", TEXT.format(
        reasons=reasons, causes=rows, sentences="\n".join(lists)))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
