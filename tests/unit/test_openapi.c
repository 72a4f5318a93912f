#include "base/json.h"
#include "base/map.h"
#include "proto/openapi.pb-c.h"
#include "server/discovery/openapi.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <zlib.h>

/* Only the kinds of api/kinds are linked: ControllerRevision and Namespace. */
struct fixture {
	struct arena arena;
	struct openapi *openapi;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->arena, 256 << 20);
	f->openapi = openapi_new(true, STR("v1.2.3"));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	openapi_free(f->openapi);
	arena_done(&f->arena);
	mem_free(f);
	return 0;
}

static const char *const documents[] = {
	"/openapi/v2",
	"/openapi/v3/api/v1",
	"/openapi/v3/apis/apps/v1",
	"/openapi/v3/apis/annals.dev/v1",
	"/openapi/v3/version",
};

static struct openapi_answer find(struct fixture *f, const char *path)
{
	struct openapi_answer answer;

	assert_int_equal(openapi_find(&answer, f->openapi, str_of(path), STR(""), STR("application/json")), OPENAPI_OK);
	return answer;
}

static struct json *find_json(struct fixture *f, const char *path)
{
	struct json *j;
	size_t at;

	assert_int_equal(json_parse(&j, &f->arena, bytes_str(find(f, path).body), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

/* "#/a/b" */
static struct json *resolve(struct json *root, struct str ref)
{
	struct str part;

	assert_true(str_starts(ref, STR("#/")));
	for (ref = (struct str){ref.p + 2, ref.n - 2}; ref.n > 0 && root;) {
		str_cut(ref, '/', &part, &ref);
		root = json_get(root, part);
	}
	return root;
}

static void check_tree(struct json *root, const struct json *j)
{
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		check_tree(root, j->items[i]);
	}
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		struct json_member *m = &j->members[i];
		if (i > 0 && str_cmp(j->members[i - 1].name, m->name) >= 0) {
			fail_msg("not sorted: " STR_FMT, STR_ARG(m->name));
		}
		if (str_is(m->name, "$ref") && m->value->kind == JSON_STRING && !resolve(root, json_text(m->value))) {
			fail_msg("nothing at " STR_FMT, STR_ARG(json_text(m->value)));
		}
		check_tree(root, m->value);
	}
}

static void test_openapi__references_resolve_and_members_are_sorted(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct json *root = find_json(f, documents[i]);
		check_tree(root, root);
	}
}

static bool has_parameter(const struct json *list, struct str name, const char *in)
{
	for (uint32_t i = 0; list && i < list->n; i++) {
		if (str_eq(json_text(json_gets(list->items[i], "name")), name) &&
			str_is(json_text(json_gets(list->items[i], "in")), in)) {
			return true;
		}
	}
	return false;
}

static void check_path_parameters(struct str path, const struct json *item)
{
	struct str before, name;

	while (str_cut(path, '{', &before, &path)) {
		str_cut(path, '}', &name, &path);
		assert_true(has_parameter(json_gets(item, "parameters"), name, "path"));
	}
}

static void check_operation(const struct json *operation, struct map *ids)
{
	void *old = NULL;

	assert_true(json_gets(operation, "responses")->n > 0);
	assert_true(json_text(json_gets(operation, "description")).n > 0);
	assert_true(map_set(ids, json_text(json_gets(operation, "operationId")), ids, &old));
	assert_null(old);
}

static void check_paths(const struct json *paths)
{
	struct map ids;

	map_init(&ids, 10000);
	for (uint32_t i = 0; i < paths->n; i++) {
		const struct json *item = paths->members[i].value;
		check_path_parameters(paths->members[i].name, item);
		for (uint32_t j = 0; j < item->n; j++) {
			if (!str_is(item->members[j].name, "parameters")) {
				check_operation(item->members[j].value, &ids);
			}
		}
	}
	assert_true(ids.n > 0);
	map_done(&ids);
}

static void test_openapi__operations_are_complete(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		check_paths(json_gets(find_json(f, documents[i]), "paths"));
	}
}

#define OBJECT_PATH "/apis/apps/v1/namespaces/{namespace}/controllerrevisions/{name}"

/* What kubectl's verifiers look for before they use a parameter. */
static void test_openapi__patch_says_what_it_takes(void **state)
{
	struct fixture *f = *state;
	static const char *const paths[] = {"/openapi/v2", "/openapi/v3/apis/apps/v1"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct json *item = json_gets(json_gets(find_json(f, paths[i]), "paths"), OBJECT_PATH),
			    *patch = json_gets(item, "patch");
		assert_str(json_gets(patch, "x-kubernetes-group-version-kind")->source,
			"{\"group\":\"apps\",\"kind\":\"ControllerRevision\",\"version\":\"v1\"}");
		assert_true(has_parameter(json_gets(patch, "parameters"), STR("fieldValidation"), "query"));
		assert_true(has_parameter(json_gets(patch, "parameters"), STR("dryRun"), "query"));
		assert_str(json_text(json_gets(patch, "x-kubernetes-action")), "patch");
		assert_non_null(json_gets(item, "put"));
	}
}

/* As kube-apiserver's, where the version's objects are answered in protobuf. */
static void test_openapi__says_what_is_answered_in_protobuf(void **state)
{
	static const char protobuf[] = "\"application/vnd.kubernetes.protobuf\"",
			  watch[] = "\"application/vnd.kubernetes.protobuf;stream=watch\"";

	struct openapi_answer answer = find(*state, "/openapi/v3/apis/apps/v1");
	assert_non_null(memmem(answer.body->p, answer.body->n, protobuf, sizeof(protobuf) - 1));
	assert_non_null(memmem(answer.body->p, answer.body->n, watch, sizeof(watch) - 1));
	answer = find(*state, "/openapi/v3/apis/annals.dev/v1");
	assert_null(memmem(answer.body->p, answer.body->n, protobuf, sizeof(protobuf) - 1));
}

static void test_openapi__schemas_carry_merge_metadata(void **state)
{
	struct fixture *f = *state;
	struct json *schemas = json_gets(json_gets(find_json(f, "/openapi/v3/apis/apps/v1"), "components"), "schemas");
	struct json *meta = json_gets(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
	struct json *owners = json_gets(json_gets(meta, "properties"), "ownerReferences");
	struct json *revision = json_gets(schemas, "io.k8s.api.apps.v1.ControllerRevision");

	assert_str(json_text(json_gets(owners, "x-kubernetes-patch-strategy")), "merge");
	assert_str(json_text(json_gets(owners, "x-kubernetes-patch-merge-key")), "uid");
	assert_str(json_text(json_gets(owners, "x-kubernetes-list-type")), "map");
	assert_str(json_gets(owners, "x-kubernetes-list-map-keys")->source, "[\"uid\"]");
	assert_str(json_gets(revision, "required")->source, "[\"revision\"]");
	assert_str(json_gets(revision, "x-kubernetes-group-version-kind")->source,
		"[{\"group\":\"apps\",\"kind\":\"ControllerRevision\",\"version\":\"v1\"}]");
	assert_non_null(json_gets(schemas, "io.k8s.api.apps.v1.ControllerRevisionList"));
}

static void test_openapi__index_leads_to_the_documents(void **state)
{
	struct fixture *f = *state;
	struct openapi_answer index = find(f, "/openapi/v3"), answer;
	struct json *paths = json_gets(find_json(f, "/openapi/v3"), "paths");
	struct str path, hash;

	assert_int_equal(index.etag.n, 0);
	assert_true(index.last_modified.n > 0);
	assert_non_null(json_gets(paths, "apis/apps/v1"));
	assert_non_null(json_gets(paths, "version"));
	for (uint32_t i = 0; i < paths->n; i++) {
		str_cut(json_text(json_gets(paths->members[i].value, "serverRelativeURL")), '?', &path, &hash);
		hash = (struct str){hash.p + strlen("hash="), hash.n - strlen("hash=")};
		assert_int_equal(openapi_find(&answer, f->openapi, path, hash, STR("*/*")), OPENAPI_OK);
		assert_true(answer.is_immutable);
		assert_int_equal(openapi_find(&answer, f->openapi, path, STR("00"), STR("*/*")), OPENAPI_OK);
		assert_false(answer.is_immutable);
		assert_true(str_contains(answer.etag, hash));
	}
}

static void test_openapi__content_decides_the_hash(void **state)
{
	struct fixture *f = *state;
	struct openapi *same = openapi_new(true, STR("v1.2.3")), *other = openapi_new(true, STR("v1.2.4"));
	struct openapi_answer a = find(f, "/openapi/v2"), b, c;

	assert_int_equal(openapi_find(&b, same, STR("/openapi/v2"), STR(""), STR("")), OPENAPI_OK);
	assert_int_equal(openapi_find(&c, other, STR("/openapi/v2"), STR(""), STR("")), OPENAPI_OK);
	assert_true(str_eq(a.etag, b.etag));
	assert_false(str_eq(a.etag, c.etag));
	openapi_free(same);
	openapi_free(other);
}

static void test_openapi__hides_what_the_mode_hides(void **state _unused_)
{
	struct openapi *aggregated = openapi_new(false, STR("v1"));
	struct openapi_answer answer;

	assert_int_equal(
		openapi_find(&answer, aggregated, STR("/openapi/v3/apis/apps/v1"), STR(""), STR("")), OPENAPI_NOT_FOUND);
	assert_int_equal(
		openapi_find(&answer, aggregated, STR("/openapi/v3/apis/annals.dev/v1"), STR(""), STR("")), OPENAPI_OK);
	assert_false(str_contains(bytes_str(answer.body), STR("/apis/apps/v1")));
	openapi_free(aggregated);
}

static bool has_gvks(const struct json *document, const char *definition)
{
	const struct json *schema = json_gets(json_gets(document, "definitions"), definition);
	assert_non_null(schema);
	return json_gets(schema, "x-kubernetes-group-version-kind") != NULL;
}

/* Of what two servers have, only one may say that it is that kind: their documents are merged. */
static void test_openapi__aggregated_document_claims_only_its_own_kinds(void **state)
{
	struct fixture *f = *state;
	struct json *alone = find_json(f, "/openapi/v2"), *document;
	struct openapi_answer answer;
	size_t at;
	struct openapi *aggregated = openapi_new(false, STR("v1"));
	openapi_find(&answer, aggregated, STR("/openapi/v2"), STR(""), STR("application/json"));
	assert_int_equal(json_parse(&document, &f->arena, bytes_str(answer.body), JSON_LIMITS_DEFAULT, &at), 0);
	assert_true(has_gvks(document, "dev.annals.v1.ControllerRevision"));
	static const char *const common[] = {"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
		"io.k8s.apimachinery.pkg.apis.meta.v1.Status", "io.k8s.api.autoscaling.v1.Scale"};
	for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
		assert_true(has_gvks(alone, common[i]));
		assert_false(has_gvks(document, common[i]));
	}
	openapi_free(aggregated);
}

#define PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

static void test_openapi__v2_form_by_accept(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *accept, *content_type;
	} cases[] = {
		{"", "application/json"},
		{"*/*", "application/json"},
		{"application/*", "application/json"},
		{"application/json; charset=utf-8", "application/json"},
		{PROTOBUF, PROTOBUF},
		{PROTOBUF_OLD, PROTOBUF},
		{"application/json;q=0.5," PROTOBUF_OLD, PROTOBUF},
		{"text/html", NULL},
		{"application/yaml", NULL},
	};
	struct openapi_answer answer;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum openapi_result r = openapi_find(&answer, f->openapi, STR("/openapi/v2"), STR(""), str_of(cases[i].accept));
		assert_int_equal(r, cases[i].content_type ? OPENAPI_OK : OPENAPI_NOT_ACCEPTABLE);
		if (cases[i].content_type) {
			assert_str(answer.content_type, cases[i].content_type);
		}
	}
	assert_int_equal(openapi_find(&answer, f->openapi, STR("/openapi/v4"), STR(""), STR("")), OPENAPI_NOT_FOUND);
	assert_int_equal(
		openapi_find(&answer, f->openapi, STR("/openapi/v3/apis/x/v1"), STR(""), STR("text/html")), OPENAPI_NOT_FOUND);
}

static const Openapi__V2__Schema *packed_definition(const Openapi__V2__Document *d, const char *name)
{
	for (size_t i = 0; i < d->definitions->n_additional_properties; i++) {
		if (strcmp(d->definitions->additional_properties[i]->name, name) == 0) {
			return d->definitions->additional_properties[i]->value;
		}
	}
	return NULL;
}

static void test_openapi__binary_form_says_the_same(void **state)
{
	struct fixture *f = *state;
	struct json *j = find_json(f, "/openapi/v2");
	struct openapi_answer answer;

	assert_int_equal(openapi_find(&answer, f->openapi, STR("/openapi/v2"), STR(""), STR(PROTOBUF)), OPENAPI_OK);
	Openapi__V2__Document *d = openapi__v2__document__unpack(NULL, answer.body->n, (const uint8_t *)answer.body->p);
	assert_non_null(d);
	assert_string_equal(d->swagger, "2.0");
	assert_string_equal(d->info->version, "v1.2.3");
	assert_int_equal(d->paths->n_path, json_gets(j, "paths")->n);
	assert_int_equal(d->definitions->n_additional_properties, json_gets(j, "definitions")->n);

	const Openapi__V2__Schema *revision = packed_definition(d, "io.k8s.api.apps.v1.ControllerRevision");
	assert_non_null(revision);
	assert_int_equal(revision->n_required, 1);
	assert_string_equal(revision->type->value[0], "object");
	assert_string_equal(revision->vendor_extension[0]->name, "x-kubernetes-group-version-kind");
	assert_string_equal(revision->vendor_extension[0]->value->yaml,
		"[{\"group\":\"apps\",\"kind\":\"ControllerRevision\",\"version\":\"v1\"}]\n");
	openapi__v2__document__free_unpacked(d, NULL);
}

static void test_openapi__compressed_copy_is_the_same(void **state)
{
	struct fixture *f = *state;
	struct openapi_answer answer = find(f, "/openapi/v2");
	char *unpacked = arena_text(&f->arena, answer.body->n + 1);
	z_stream z = {.next_in = (Bytef *)answer.body_gzip->p,
		.avail_in = (uInt)answer.body_gzip->n,
		.next_out = (Bytef *)unpacked,
		.avail_out = (uInt)answer.body->n + 1};

	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, answer.body->n);
	assert_memory_equal(unpacked, answer.body->p, answer.body->n);
	inflateEnd(&z);
}

#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_openapi__references_resolve_and_members_are_sorted),
		WITH_FIXTURE(test_openapi__operations_are_complete),
		WITH_FIXTURE(test_openapi__patch_says_what_it_takes),
		WITH_FIXTURE(test_openapi__says_what_is_answered_in_protobuf),
		WITH_FIXTURE(test_openapi__schemas_carry_merge_metadata),
		WITH_FIXTURE(test_openapi__index_leads_to_the_documents),
		WITH_FIXTURE(test_openapi__content_decides_the_hash),
		TEST(test_openapi__hides_what_the_mode_hides),
		WITH_FIXTURE(test_openapi__aggregated_document_claims_only_its_own_kinds),
		WITH_FIXTURE(test_openapi__v2_form_by_accept),
		WITH_FIXTURE(test_openapi__binary_form_says_the_same),
		WITH_FIXTURE(test_openapi__compressed_copy_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
