#!/usr/bin/env python3
"""tools/check-layers.py sees what it should, and only that."""

import importlib.util
import pathlib
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check-layers.py"
spec = importlib.util.spec_from_file_location("check_layers", TOOL)
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


# In miniature: room, and what it uses.
ROOMS = {
    "base": [],
    "proto": [],
    "api/model": ["base"],
    "api/kinds": ["api/model"],
    "storage": ["api/model", "proto"],
    "storage/etcd": ["storage"],
    "storage/cache": ["storage"],
    "storage/engine": ["storage"],
    "server/http": ["base"],
    "server/parse": ["base"],
    "server/discovery": ["server/parse"],
    "server/verbs": ["server/discovery", "storage/cache"],
    "server": ["server/http", "server/verbs"],
    "client": ["api/model"],
    "cli/run": ["server", "client"],
}


def text_list(name, texts):
    return f"{name} = [" + ", ".join(f"'{text}'" for text in texts) + "]\n"


class CheckLayers(unittest.TestCase):
    def check(self, files, table=None):
        """The problems of a tree of {path: includes}."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "meson.build").write_text(text_list("rooms", ROOMS))
            for room, uses in ROOMS.items():
                (root / room).mkdir(parents=True, exist_ok=True)
                (root / room / "meson.build").write_text(text_list("uses", uses))
            for path, includes in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("".join(f"#include {header}\n" for header in includes))
            if table is not None:
                (root / "docs/explanation").mkdir(parents=True)
                (root / "docs/explanation/architecture.md").write_text(table)
                return list(check_layers.check_table(root, check_layers.Rooms(root)))
            return list(check_layers.check(root))

    def assert_single(self, files, *words):
        problems = self.check(files)
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_a_row_may_be_used(self):
        self.assertEqual(self.check({
            "base/buf.h": [],
            "api/model/object.h": ['"base/buf.h"', '"api/model/object.h"'],
            "api/kinds/widget.c": ['"api/model/object.h"'],
            "storage/etcd/etcd_kv.c": ['"proto/kv.pb-c.h"', '"api/model/object.h"'],
            "storage/etcd/etcd_client.c": ["<grpc/grpc.h>"],
            "server/http/http_connection.c": ["<microhttpd.h>", "<stdio.h>"],
            "client/transport.c": ["<curl/curl.h>"],
            "tests/unit/test_buf.c": ['"base/buf.h"', "<jansson.h>", "<microhttpd.h>"],
        }), [])

    def test_the_transaction_is_the_engines(self):
        for line in ("\tstorage_txn(s, &t);", "\tstorage_txn_wait(s, &t);", "\tstorage_txns_wait(s, all, n);", "\ts->ops->txn(s, &t);",
                     "\tstruct storage_step put = {.kind = STEP_PUT};"):
            code = [f"<stdio.h>\n{line}"]
            self.assert_single({"server/verbs/create.c": code}, "server/verbs/create.c:2", "storage/engine")
            self.assert_single({"storage/engine/migrator.c": code}, "storage/engine/migrator.c:2", "storage/engine/plan.h")
            self.assertEqual(self.check({"storage/cache/fence.c": code, "storage/engine/agreement_errands.c": code, "tests/unit/test_txn.c": code}), [])

    def test_a_layer_above_is_named_with_the_rule(self):
        self.assert_single({"api/model/object.h": [], "base/buf.c": ['"api/model/object.h"']},
                           "base/buf.c:1", "api/model/object.h", "base may use nothing")

    def test_a_layer_beside_is_seen(self):
        self.assert_single({"storage/cache/cache.h": [], "client/informer.c": ['"storage/cache/cache.h"']},
                           "client may use", "but not storage")

    def test_api_does_not_know_kinds(self):
        self.assert_single({"api/kinds/widget.h": [], "api/model/registry.c": ['"api/kinds/widget.h"']}, "not api/kinds")

    def test_a_fence_holds_within_its_own_folder(self):
        self.assert_single({"server/parse/route.c": ["<microhttpd.h>"]}, "server/parse/route.c:1", "only in server/http")
        self.assert_single({"server/http/http_exchange.c": ["<microhttpd.h>"]}, "http_connection.c")
        self.assert_single({"storage/cache/cache.c": ["<grpc/byte_buffer.h>"]}, "only in storage/etcd")

    def test_generated_messages_are_fenced(self):
        self.assert_single({"storage/cache/cache.c": ['"proto/kv.pb-c.h"']}, "only in storage/etcd")
        self.assert_single({"server/verbs/list.c": ['"proto/openapi.pb-c.h"']}, "openapi_pb.c")

    def test_one_file_only_may_know_curl(self):
        self.assert_single({"client/a.c": ["<curl/curl.h>"], "client/b.c": ["<curl/curl.h>"]}, "client/a.c, client/b.c")
        self.assert_single({"cli/run/up.c": ["<curl/curl.h>"]}, "only in client")

    def test_a_file_beside_the_rooms_is_seen(self):
        self.assert_single({"server/new/route.c": []}, "server/new/route.c", "no room")

    def test_the_table_says_what_is_used(self):
        row = "| `{}` | something | {} |\n"
        table = "".join(row.format(room, ", ".join(uses)) for room, uses in ROOMS.items())
        self.assertEqual(self.check({}, table), [])
        wrong = table.replace(row.format("client", "api/model"), row.format("client", "api/model, storage"))
        self.assertEqual(len(self.check({}, wrong)), 1)
        missing = table.replace(row.format("client", "api/model"), "")
        self.assertIn("no row for client", self.check({}, missing)[0])

    def test_paths_begin_at_the_root(self):
        self.assert_single({"base/buf.h": [], "base/buf.c": ['"buf.h"']}, "not a path from the root")


if __name__ == "__main__":
    unittest.main(verbosity=2)
