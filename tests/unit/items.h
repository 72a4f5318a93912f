/* Informers' items, and JSON, out of literals. */
#ifndef TESTS_UNIT_ITEMS_H
#define TESTS_UNIT_ITEMS_H

#include "client/item.h"

#include "tests/unit/check.h"

static inline struct item *make_item(const char *text)
{
	struct item *i = item_new(str_of(text), item_managers);
	assert_non_null(i);
	return i;
}

static inline struct json *make_json(struct arena *a, const char *text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

#define META(name, uid, version, more) \
	"\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"" more "}"
#define DELETED ",\"deletionTimestamp\":\"2023-11-14T22:13:10Z\""
#define PROTECTED ",\"finalizers\":[\"x.io/y\",\"annals.dev/provider-protection\"]"
#define DEPENDENT(name, uid, version, references) "{" META(name, uid, version, "") ",\"spec\":{\"providers\":[" references "]}}"
#define TO_PROVIDER(name) "{\"kind\":\"Provider\",\"name\":\"" name "\"}"
#define TO_REVISION(name) "{\"kind\":\"ControllerRevision\",\"name\":\"" name "\"}"

#endif
