#include "base/options.h"
#include "tests/unit/check.h"

#include <errno.h>

struct flags {
	const char *dir;
	struct option_strings servers;
	bool is_standalone;
	int64_t port;
	int64_t timeout_ms;
	int64_t verbosity;
};

/* Parses a command line into flags; returns what options_parse does. */
struct run {
	struct flags flags;
	int r;
	int n_positional;
	char *argv[16];
	struct buf err;
};

static struct run *run_new(const char *const args[])
{
	struct run *run = mem_new(struct run);
	run->flags.port = 6443;
	buf_init(&run->err, 1000);
	const struct option table[] = {
		{"data-dir", OPTION_STRING, &run->flags.dir, "DIR", "where everything is.", 0, 0},
		{"etcd-servers", OPTION_STRINGS, &run->flags.servers, "URL,...", "etcd's endpoints.", 0, 0},
		{"standalone", OPTION_BOOL, &run->flags.is_standalone, NULL, "alone.", 0, 0},
		{"port", OPTION_INT, &run->flags.port, "N", "to listen on.", 1, 65535},
		{"timeout", OPTION_DURATION, &run->flags.timeout_ms, "TIME", "of a request.", 0, 3600000},
		{"v", OPTION_INT, &run->flags.verbosity, "N", "verbosity.", 0, 10},
		{0},
	};
	int argc = 0;
	run->argv[argc++] = mem_strdup("annals");
	while (args[argc - 1]) {
		run->argv[argc] = mem_strdup(args[argc - 1]);
		argc++;
	}
	char *argv[16];
	memcpy(argv, run->argv, sizeof(argv));
	run->r = options_parse(table, argc, argv, &run->n_positional, &run->err);
	return run;
}

static void *run_free(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->argv); i++) {
		mem_free(run->argv[i]);
	}
	option_strings_done(&run->flags.servers);
	buf_done(&run->err);
	return mem_free(run);
}
DEFINE_CLEANUP(struct run *, run_free)

#define RUN(name, ...) _cleanup_(run_freep) struct run *name = run_new((const char *const[]){__VA_ARGS__, NULL})

static void test_options__takes_every_type_in_both_spellings(void **state _unused_)
{
	RUN(run, "--data-dir=/tmp/x", "--port", "8443", "--standalone", "--timeout=1m30s", "-v", "4", "--etcd-servers=a,b",
		"--etcd-servers", "c");
	assert_int_equal(run->r, 0);
	assert_string_equal(run->flags.dir, "/tmp/x");
	assert_int_equal(run->flags.port, 8443);
	assert_true(run->flags.is_standalone);
	assert_int_equal(run->flags.timeout_ms, 90000);
	assert_int_equal(run->flags.verbosity, 4);
	assert_int_equal(run->flags.servers.n, 3);
	assert_string_equal(run->flags.servers.v[2], "c");
	assert_int_equal(run->n_positional, 0);
}

static void test_options__a_bool_takes_its_value_only_after_equals(void **state _unused_)
{
	RUN(run, "--standalone=false", "true");
	assert_int_equal(run->r, 0);
	assert_false(run->flags.is_standalone);
	assert_int_equal(run->n_positional, 1);
}

static void test_options__letters_are_read_as_pflag_does(void **state _unused_)
{
	static const struct {
		const char *words[3];
		bool all, follows;
		const char *form, *refusal;
	} cases[] = {
		{{"-o", "json"}, false, false, "json", NULL},
		{{"-ojson"}, false, false, "json", NULL},
		{{"-o=json"}, false, false, "json", NULL},
		{{"-o="}, false, false, "", NULL},
		{{"-A", "-w"}, true, true, "text", NULL},
		{{"-Aw"}, true, true, "text", NULL},
		{{"-Awoyaml"}, true, true, "yaml", NULL},
		{{"-Aw=false"}, true, false, "text", NULL},
		{{"-o"}, false, false, "text", "flag needs an argument: -o"},
		{{"-x"}, false, false, "text", "unknown flag: -x"},
		{{"-output=json"}, false, false, "text", "unknown flag: -output. Did you mean --output?"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool all = false, follows = false;
		const char *form = "text";
		const struct option table[] = {
			{"all", OPTION_BOOL, &all, NULL, "All.", 0, 0},
			{"A", OPTION_BOOL, &all, NULL, "The same.", 0, 0},
			{"w", OPTION_BOOL, &follows, NULL, "Go on.", 0, 0},
			{"output", OPTION_STRING, &form, "FORM", "The form.", 0, 0},
			{"o", OPTION_STRING, &form, "FORM", "The same.", 0, 0},
			{0},
		};
		_cleanup_(buf_done) struct buf err;
		char words[3][32], *argv[4] = {(char[]){"annals"}};
		int argc = 1, n;
		buf_init(&err, 1000);
		for (; cases[i].words[argc - 1]; argc++) {
			argv[argc] = strcpy(words[argc - 1], cases[i].words[argc - 1]);
		}
		assert_int_equal(options_parse(table, argc, argv, &n, &err), cases[i].refusal ? -EINVAL : 0);
		assert_str(buf_str(&err), cases[i].refusal ? cases[i].refusal : "");
		assert_true(all == cases[i].all && follows == cases[i].follows);
		assert_string_equal(form, cases[i].form);
	}
}

static void test_options__positional_arguments_come_first(void **state _unused_)
{
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 1000);
	int64_t port = 0;
	const struct option table[] = {{"port", OPTION_INT, &port, "N", "port.", 0, 0}, {0}};
	char words[][8] = {"annals", "one", "--port", "1", "-", "--", "--port"};
	char *argv[ARRAY_SIZE(words)];
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		argv[i] = words[i];
	}
	int n;
	assert_int_equal(options_parse(table, ARRAY_SIZE(words), argv, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "-");
	assert_string_equal(argv[3], "--port");
	assert_int_equal(port, 1);
}

struct refusal {
	const char *arg;
	const char *sentence;
};

static const struct refusal refusals[] = {
	{"--nope=1", "unknown flag: --nope"},
	{"-port", "unknown flag: -port. Did you mean --port?"},
	{"--prot=1", "unknown flag: --prot. Did you mean --port?"},
	{"-standalnoe", "unknown flag: -standalnoe. Did you mean --standalone?"},
	{"--port", "flag needs an argument: --port"},
	{"--port=x", "invalid argument \"x\" for \"--port\" flag: must be an integer"},
	{"--port=0", "invalid argument \"0\" for \"--port\" flag: must be at least 1 and at most 65535"},
	{"--standalone=maybe", "invalid argument \"maybe\" for \"--standalone\" flag: must be true or false"},
	{"--timeout=5", "invalid argument \"5\" for \"--timeout\" flag: must be a duration such as 1m30s, 500ms or 0"},
	{"--timeout=2h", "invalid argument \"2h\" for \"--timeout\" flag: must be at least 0s and at most 1h"},
	{"--timeout=-1s", "invalid argument \"-1s\" for \"--timeout\" flag: must be at least 0s and at most 1h"},
};

static void test_options__what_is_wrong_is_said(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		RUN(run, refusals[i].arg);
		assert_int_equal(run->r, -EINVAL);
		assert_str(buf_str(&run->err), refusals[i].sentence);
	}
}

struct duration_case {
	const char *text;
	bool is_duration;
	int64_t ms;
};

static const struct duration_case duration_cases[] = {
	{"0", true, 0},
	{"+5s", true, 5000},
	{"1.5s", true, 1500},
	{".5s", true, 500},
	{"1.s", true, 1000},
	{"1h2m3s4ms", true, 3600000 + 123004 - 0},
	{"2000us", true, 2},
	{"2000\u00b5s", true, 2},
	{"2000000ns", true, 2},
	{"0.0000000000000000000001h", true, 0},
	{"", false, 0},
	{".s", false, 0},
	{"s", false, 0},
	{"1d", false, 0},
	{"1s ", false, 0},
	{"9999999999999h", false, 0},
	{"99999999999999999999s", false, 0},
};

static void test_options__durations_are_spelled_as_in_go(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(duration_cases); i++) {
		const struct duration_case *c = &duration_cases[i];
		_cleanup_(mem_freep) char *arg = mem_printf("--timeout=%s", c->text);
		RUN(run, arg);
		assert_int_equal(run->r, c->is_duration && c->ms <= 3600000 ? 0 : -EINVAL);
		assert_true(run->r || run->flags.timeout_ms == c->ms);
	}
}

static void test_options__durations_are_printed_as_they_are_read(void **state _unused_)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {{0, "0s"}, {500, "500ms"}, {10 * 1000, "10s"}, {5 * 60 * 1000, "5m"}, {3600 * 1000, "1h"},
		{90 * 1000, "1m30s"}, {3600 * 1000 + 1001, "1h1s1ms"}, {-1500, "-1s500ms"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_done) struct buf out;
		buf_init(&out, 100);
		duration_add_ms(&out, cases[i].ms);
		assert_str(buf_str(&out), cases[i].text);
		int64_t ms;
		assert_true(duration_parse_ms(buf_str(&out), &ms));
		assert_int_equal(ms, cases[i].ms);
	}
}

static void test_options__help_shows_flags_and_defaults(void **state _unused_)
{
	int64_t port = 6443, timeout_ms = 300000, revision = -1;
	bool is_on = true;
	const char *dir = "data", *form = "text";
	const struct option table[] = {
		{"port", OPTION_INT, &port, "N", "The port.", 0, 0},
		{"on", OPTION_BOOL, &is_on, NULL, "On.", 0, 0},
		OPTIONS_GROUP("Output"),
		{"dir", OPTION_STRING, &dir, "DIR", "A folder.", 0, 0},
		{"output", OPTION_STRING, &form, "text|json", "The form.", 0, 0},
		{"o", OPTION_STRING, &form, "text|json", "The same.", 0, 0},
		{"timeout", OPTION_DURATION, &timeout_ms, "DURATION",
			"How long a request may take before it is given up and is answered with a status that says why it took "
			"so long.",
			0, 0},
		{"revision", OPTION_INT, &revision, "N", "The newest one, unless it is given.", 0, 0},
		{0},
	};
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, 1000);
	options_print_help(table, &out);
	assert_str(buf_str(&out),
		"  --port N\n        The port. (default 6443)\n"
		"  --on\n        On. (default true)\n"
		"\nOutput flags:\n"
		"  --dir DIR\n        A folder. (default data)\n"
		"  -o, --output text|json\n        The form. (default text)\n"
		"  --timeout DURATION\n"
		"        How long a request may take before it is given up and is answered with a status that says\n"
		"        why it took so long. (default 5m)\n"
		"  --revision N\n        The newest one, unless it is given.\n");
}

static void test_options__headings_are_no_flags(void **state _unused_)
{
	int64_t port = 0;
	const struct option table[] = {OPTIONS_GROUP("port"), {"port", OPTION_INT, &port, "N", "The port.", 0, 0}, {0}};
	assert_ptr_equal(options_find(table, STR("port")), &table[1]);
	assert_null(options_find(table, STR("ports")));
	struct option_entry e = {0};
	assert_true(options_next(table, &e));
	assert_string_equal(e.group, "port");
	assert_false(options_next(table, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_options__takes_every_type_in_both_spellings),
		TEST(test_options__a_bool_takes_its_value_only_after_equals),
		TEST(test_options__letters_are_read_as_pflag_does),
		TEST(test_options__positional_arguments_come_first),
		TEST(test_options__what_is_wrong_is_said),
		TEST(test_options__durations_are_spelled_as_in_go),
		TEST(test_options__durations_are_printed_as_they_are_read),
		TEST(test_options__help_shows_flags_and_defaults),
		TEST(test_options__headings_are_no_flags),
	};
	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
