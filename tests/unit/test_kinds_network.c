/* Endpoints and Ingresses: what is filled in, refused, tolerated in updates, and shown. tests/cluster compares much more of it with kube-apiserver. */
#include "api/model/protobuf.h"
#include "tests/unit/kind_world.h"

#define ENDPOINTS "/v1/endpoints"
#define INGRESS "networking.k8s.io/v1/ingresses"
#define SERVICE "{\"service\":{\"name\":\"s\",\"port\":{\"number\":80}}}"
#define RULE(host, path)                                                                      \
	"{\"spec\":{\"rules\":[{\"host\":\"" host "\",\"http\":{\"paths\":[{\"path\":\"" path \
	"\",\"pathType\":\"Prefix\",\"backend\":" SERVICE "}]}}]}}"

static void test_types__all_have_numbers_in_protobuf(void **state)
{
	(void)state;
	assert_true(protobuf_knows(world_version(ENDPOINTS, NULL)->type));
	assert_true(protobuf_knows(world_version(INGRESS, NULL)->type));
}

static void test_endpoints__ports_are_of_tcp(void **state)
{
	struct api_world *w = *state;
	struct object *o =
		world_decode(w, ENDPOINTS, "{\"subsets\":[{\"ports\":[{\"port\":80},{\"port\":53,\"protocol\":\"UDP\"}]}]}");
	world_assert_json(w, json_gets(o->fields, "subsets"),
		"[{\"ports\":[{\"port\":80,\"protocol\":\"TCP\"},{\"port\":53,\"protocol\":\"UDP\"}]}]");
}

static void test_endpoints__are_validated(void **state)
{
	static const struct invalid_row rows[] = {
		{"{}", NULL, NULL},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"hostname\":\"h\",\"nodeName\":\"n\"}],\"ports\":[{\"port\":80}]}]}",
			NULL, NULL},
		{"{\"subsets\":[{\"notReadyAddresses\":[{\"ip\":\"10.0.0.1\"}]}]}", NULL, NULL},
		{"{\"subsets\":[{\"ports\":[{\"port\":80}]}]}", "subsets[0]",
			"must specify `addresses` or `notReadyAddresses`"},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"127.0.0.1\"}]}]}", "subsets[0].addresses[0].ip",
			"may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"010.0.0.1\"}]}]}", "subsets[0].addresses[0].ip",
			"must not have leading 0s"},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":0}]}]}", "subsets[0].ports[0].port",
			"must be between 1 and 65535, inclusive"},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":1,\"name\":\"a\"},{\"port\":2}]}]}",
			"subsets[0].ports[1].name", ""},
		{"{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"hostname\":\"a.b\"}]}]}",
			"subsets[0].addresses[0].hostname", "must not contain dots"},
	};
	assert_rows(*state, ENDPOINTS, rows, ARRAY_SIZE(rows));
}

/* Subsets of old may break today's rules as long as nobody changes them. */
static void test_endpoints__old_subsets_may_stay(void **state)
{
	static const char old[] = "{\"metadata\":{\"name\":\"e\"},\"subsets\":[{\"addresses\":[{\"ip\":\"127.0.0.1\"}]}]}";
	static const struct invalid_row rows[] = {
		{old, NULL, NULL},
		{"{\"metadata\":{\"name\":\"e\"},\"subsets\":[{\"addresses\":[{\"ip\":\"127.0.0.2\"}]}]}",
			"subsets[0].addresses[0].ip", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
	};
	assert_update_rows(*state, ENDPOINTS, old, rows, ARRAY_SIZE(rows));
}

static void test_endpoints__three_are_shown(void **state)
{
	struct api_world *w = *state;
	assert_cell(world_decode(w, ENDPOINTS, "{}"), "Endpoints", "\"\\u003cnone\\u003e\"");
	assert_cell(
		world_decode(w, ENDPOINTS,
			"{\"subsets\":[{\"addresses\":[{\"ip\":\"2001:db8::1\"},{\"ip\":\"10.0.0.1\"}],\"ports\":[{\"port\":1},{\"port\":2}]}]}"),
		"Endpoints", "\"[2001:db8::1]:1,10.0.0.1:1,[2001:db8::1]:2 + 1 more...\"");
	assert_cell(world_decode(w, ENDPOINTS, "{\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\"}]}]}"), "Endpoints",
		"\"10.0.0.1\"");
}

static void test_ingress__is_validated(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"spec\":{\"defaultBackend\":" SERVICE "}}", NULL, NULL},
		{RULE("*.a.b", "/"), NULL, NULL},
		{"{\"spec\":{}}", "spec", "either `defaultBackend` or `rules` must be specified"},
		{"{\"spec\":{\"defaultBackend\":{}}}", "spec.defaultBackend", "resource or service backend is required"},
		{"{\"spec\":{\"defaultBackend\":{\"service\":{\"name\":\"s\"}}}}", "spec.defaultBackend",
			"port name or number is required"},
		{"{\"spec\":{\"defaultBackend\":{\"service\":{\"name\":\"s\",\"port\":{\"number\":1,\"name\":\"a\"}}}}}",
			"spec.defaultBackend", "cannot set both port name & port number"},
		{"{\"spec\":{\"defaultBackend\":{\"resource\":{\"kind\":\"K\",\"name\":\"..\"}}}}",
			"spec.defaultBackend.resource.name", "may not be '..'"},
		{RULE("1.2.3.4", "/"), "spec.rules[0].host", "must be a DNS name, not an IP address"},
		{RULE("a.b", "x"), "spec.rules[0].http.paths[0].path", "must be an absolute path"},
		{RULE("a.b", "/a//b"), "spec.rules[0].http.paths[0].path", "must not contain '//'"},
		{RULE("a.b", "/a/.."), "spec.rules[0].http.paths[0].path", "cannot end with '/..'"},
		{"{\"spec\":{\"rules\":[{\"http\":{\"paths\":[{\"path\":\"/\",\"backend\":" SERVICE "}]}}]}}",
			"spec.rules[0].http.paths[0].pathType", "pathType must be specified"},
		{"{\"spec\":{\"rules\":[{\"http\":{\"paths\":[{\"path\":\"/\",\"pathType\":\"x\",\"backend\":" SERVICE
		 "}]}}]}}",
			"spec.rules[0].http.paths[0].pathType",
			"supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\""},
		{"{\"spec\":{\"rules\":[{\"http\":{}}]}}", "spec.rules[0].http.paths", ""},
		{"{\"metadata\":{\"annotations\":{\"kubernetes.io/ingress.class\":\"a\"}},\"spec\":{\"ingressClassName\":\"b\","
		 "\"defaultBackend\":" SERVICE "}}",
			"annotations.kubernetes.io/ingress.class", "must match `ingressClassName` when both are specified"},
	};
	assert_rows(*state, INGRESS, rows, ARRAY_SIZE(rows));
}

/* Upstream once stored what its rules refuse now: such an object can still be changed. */
static void test_ingress__old_mistakes_may_stay(void **state)
{
	static const struct invalid_row rows[] = {
		{"{\"metadata\":{\"name\":\"i\"},\"spec\":{\"defaultBackend\":" SERVICE ",\"tls\":[{\"secretName\":\"B_\"}]}}",
			NULL, NULL},
	};
	static const struct invalid_row good[] = {
		{"{\"metadata\":{\"name\":\"i\"},\"spec\":{\"defaultBackend\":" SERVICE ",\"tls\":[{\"secretName\":\"a..\"}]}}",
			"spec.tls[0].secretName",
			"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
			"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
			"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
	};
	assert_update_rows(*state, INGRESS,
		"{\"metadata\":{\"name\":\"i\"},\"spec\":{\"defaultBackend\":" SERVICE ",\"tls\":[{\"secretName\":\"A_\"}]}}",
		rows, 1);
	assert_update_rows(
		*state, INGRESS, "{\"metadata\":{\"name\":\"i\"},\"spec\":{\"defaultBackend\":" SERVICE "}}", good, 1);
}

static void test_ingress__old_addresses_may_stay_in_status(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, INGRESS, "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"01.2.3.4\"}]}}}");
	struct object *none = world_decode(w, INGRESS, "{}");
	struct field_errors e;
	field_errors_init(&e, &w->a);
	o->kind->subresources[0].validate_update(o, o, &e);
	assert_int_equal(e.n, 0);
	o->kind->subresources[0].validate_update(o, none, &e);
	assert_int_equal(e.n, 1);
	assert_str(e.v[0].path, "status.loadBalancer.ingress[0].ip");
}

static void test_ingress__a_new_one_has_no_status(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, INGRESS, "{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"1.2.3.4\"}]}}}");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, object_status(o), "{\"loadBalancer\":{}}");
}

static void test_ingress__warns_of_the_annotation(void **state)
{
	struct api_world *w = *state;
	struct str warnings[KIND_WARNINGS_MAX];
	struct object *o = world_decode(
		w, INGRESS, "{\"metadata\":{\"annotations\":{\"kubernetes.io/ingress.class\":\"a\"}},\"spec\":{}}");
	assert_int_equal(o->kind->warn(o, NULL, warnings), 1);
	assert_int_equal(o->kind->warn(o, o, warnings), 0);
	o = world_decode(w, INGRESS,
		"{\"metadata\":{\"annotations\":{\"kubernetes.io/ingress.class\":\"a\"}},\"spec\":{\"ingressClassName\":\"a\"}}");
	assert_int_equal(o->kind->warn(o, NULL, warnings), 0);
}

static void test_ingress__columns(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, INGRESS,
		"{\"spec\":{\"ingressClassName\":\"c\",\"tls\":[{}],\"rules\":[{},{\"host\":\"a\"},{\"host\":\"b\"},{\"host\":\"c\"},{}]},"
		"\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"2.2.2.2\"},{\"hostname\":\"a\"},{\"ip\":\"1.1.1.1\"},{\"ip\":\"2.2.2.2\"}]}}"
		"}");
	assert_cell(o, "Class", "\"c\"");
	assert_cell(o, "Hosts", "\"a,b,c + 2 more...\"");
	assert_cell(o, "Address", "\"1.1.1.1,2.2.2.2,a\"");
	assert_cell(o, "Ports", "\"80, 443\"");
	o = world_decode(w, INGRESS, "{\"spec\":{}}");
	assert_cell(o, "Class", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "Hosts", "\"*\"");
	assert_cell(o, "Address", "\"\"");
	assert_cell(o, "Ports", "\"80\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types__all_have_numbers_in_protobuf),
		API_TEST(test_endpoints__ports_are_of_tcp),
		API_TEST(test_endpoints__are_validated),
		API_TEST(test_endpoints__old_subsets_may_stay),
		API_TEST(test_endpoints__three_are_shown),
		API_TEST(test_ingress__is_validated),
		API_TEST(test_ingress__old_mistakes_may_stay),
		API_TEST(test_ingress__old_addresses_may_stay_in_status),
		API_TEST(test_ingress__a_new_one_has_no_status),
		API_TEST(test_ingress__warns_of_the_annotation),
		API_TEST(test_ingress__columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
