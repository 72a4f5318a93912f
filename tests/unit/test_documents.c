/* How the objects of a file are separated, whatever is around them. */
#include "cli/export/documents.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct reader {
	FILE *file;
	struct documents documents;
	struct buf err;
};

static void reader_open(struct reader *r, const char *text, size_t max_bytes)
{
	r->file = tmpfile();
	fputs(text, r->file);
	rewind(r->file);
	documents_init(&r->documents, fileno(r->file), max_bytes);
	buf_init(&r->err, 4096);
}

static void reader_close(struct reader *r)
{
	documents_done(&r->documents);
	buf_done(&r->err);
	fclose(r->file);
}

/* All texts, each behind the line that it begins on; then what went wrong, if anything did. */
static void assert_read(const char *text, const char *wanted)
{
	struct reader r;
	struct document d;
	struct buf all;
	int error;
	buf_init(&all, 1 << 20);
	reader_open(&r, text, 1 << 20);
	while ((error = documents_next(&r.documents, &d, &r.err)) > 0) {
		char raw[256] = "";
		assert_true(d.length < sizeof(raw));
		assert_int_equal(pread(fileno(r.file), raw, d.length, (off_t)d.offset), d.length);
		assert_int_equal(raw[0], '{');
		assert_int_equal(raw[d.length - 1], '}');
		buf_printf(&all, "%llu" STR_FMT " ", (unsigned long long)d.line, STR_ARG(d.text));
	}
	buf_printf(&all, "%s", error ? r.err.p : "end");
	assert_string_equal(all.p, wanted);
	reader_close(&r);
	buf_done(&all);
}

static void test_documents__may_stand_on_lines_or_not(void **state _unused_)
{
	assert_read("", "end");
	assert_read("{\"a\":1}\n{\"b\":[2,{}]}\n", "1{\"a\":1} 2{\"b\":[2,{}]} end");
	assert_read("{}{}\n\n {\n\"a\" : \"}\\\"{\"\n} ", "1{} 1{} 3{\"a\":\"}\\\"{\"} end");
}

static void test_documents__are_the_items_of_a_list(void **state _unused_)
{
	assert_read("{\"kind\":\"List\",\"items\":[{\"a\":1},\n{\"items\":[3]}],\"z\":[{}]}\n{\"b\":2}",
		"1{\"a\":1} 2{\"items\":[3]} 3{\"b\":2} end");
	assert_read("{\"items\" : [ ] }{}", "1{} end");
	assert_read("{\"items\":{\"a\":[1]}}", "1{\"items\":{\"a\":[1]}} end");
}

static void test_documents__tell_where_a_file_goes_wrong(void **state _unused_)
{
	assert_read("{}\n]", "1{} line 2: there is ']' where an object should be");
	assert_read("{}\n{\"a\":", "1{} line 2: the file ends here, before the end of an object: it has been cut");
	assert_read("{\"items\":[{}",
		"1{} line 1: the file ends here, before a comma or the end of the List's items: it has been cut");
	assert_read("{\"items\":[{}]", "1{} line 1: the file ends here, before the end of the List: it has been cut");
	assert_read("{\"items\":[{} {}]}", "1{} line 1: there is '{' where a comma or the end of the List's items should be");
	assert_read("\x01", "line 1: there is the byte 0x01 where an object should be");
}

static void test_documents__know_the_kind_of_a_list_that_says_it_first(void **state _unused_)
{
	struct reader r;
	struct document d;
	reader_open(&r, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{}]}{\"kind\":\"Pod\"}", 1 << 20);
	assert_int_equal(documents_next(&r.documents, &d, &r.err), 1);
	assert_true(d.is_item && str_is(d.list_kind, "PodList") && str_is(d.list_version, "v1"));
	assert_int_equal(documents_next(&r.documents, &d, &r.err), 1);
	assert_false(d.is_item);
	reader_close(&r);
}

static void test_documents__have_a_ceiling(void **state _unused_)
{
	static const char *const texts[] = {
		"{\"a\":\"0123456789\"}", "{\"0123456789\":1}", "{\"a\":           1}", "{\"items\":[{\"a\":[0,1,2,3]}]}"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct reader r;
		struct document d;
		reader_open(&r, texts[i], 12);
		assert_int_equal(documents_next(&r.documents, &d, &r.err), -EFBIG);
		assert_non_null(strstr(r.err.p, "line 1: what begins here is longer than 12 bytes"));
		reader_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents__may_stand_on_lines_or_not),
		cmocka_unit_test(test_documents__are_the_items_of_a_list),
		cmocka_unit_test(test_documents__tell_where_a_file_goes_wrong),
		cmocka_unit_test(test_documents__know_the_kind_of_a_list_that_says_it_first),
		cmocka_unit_test(test_documents__have_a_ceiling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
