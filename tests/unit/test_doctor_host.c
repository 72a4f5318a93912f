/* Fixes are commands that the machine has. */
#include "cli/doctor/doctor_report.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <sys/stat.h>

struct world {
	char root[64];
	struct arena arena;
};

static int setup(void **state)
{
	struct world *w = mem_new(struct world);
	strcpy(w->root, "/tmp/annals-host-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	arena_init(&w->arena, 1 << 20);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	_cleanup_(mem_freep) char *command = mem_printf("rm -r %s", w->root);
	assert_int_equal(system(command), 0);
	arena_done(&w->arena);
	mem_free(w);
	return 0;
}

/* A folder will do: only whether it is there counts. */
static void put(const struct world *w, const char *path)
{
	_cleanup_(mem_freep) char *command = mem_printf("mkdir -p %s%s", w->root, path);
	assert_int_equal(system(command), 0);
}

static struct doctor_host look(const struct world *w)
{
	struct doctor_host h;
	doctor_host_look(&h, w->root);
	return h;
}

static void test_host__a_bare_one_has_nothing(void **state)
{
	struct world *w = *state;
	struct doctor_host h = look(w);
	assert_false(h.has_systemd || h.is_container || h.install);
	assert_str(fix_start_etcd(&h, &w->arena, STR("http://127.0.0.1:2379")),
		"etcd --data-dir=DIR --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379  "
		"  # and see that "
		"the address is right");
	assert_true(str_starts(fix_install_etcd(&h, &w->arena), STR("# run etcd of a release")));
	assert_true(str_contains(fix_clock(&h), STR("chrony or ntpd")));
}

static void test_host__systemd_and_apt(void **state)
{
	struct world *w = *state;
	put(w, "/run/systemd/system");
	put(w, "/usr/bin/apt-get");
	struct doctor_host h = look(w);
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("https://[::1]:2379")), STR("systemctl start etcd ")));
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("unix:///run/etcd")), STR("systemctl start etcd ")));
	assert_true(str_starts(fix_install_etcd(&h, &w->arena), STR("apt-get install etcd-server ")));
	assert_true(str_starts(fix_clock(&h), STR("timedatectl set-ntp true ")));
}

static void test_host__other_managers(void **state)
{
	struct world *w = *state;
	put(w, "/usr/bin/dnf");
	struct doctor_host h = look(w);
	assert_true(str_starts(fix_install_etcd(&h, &w->arena), STR("dnf install etcd ")));
}

static void test_host__in_a_container_nothing_is_installed(void **state)
{
	struct world *w = *state;
	put(w, "/usr/bin/apt-get");
	put(w, "/run/.containerenv");
	struct doctor_host h = look(w);
	assert_true(str_starts(fix_install_etcd(&h, &w->arena), STR("# run etcd of ")));
	assert_true(str_contains(fix_clock(&h), STR("a container has its machine's clock")));
}

static void test_host__of_another_machine_only_its_name_is_known(void **state)
{
	struct world *w = *state;
	put(w, "/run/systemd/system");
	struct doctor_host h = look(w);
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("https://10.0.0.1:2379/")), STR("# on 10.0.0.1: start etcd")));
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("https://[fd00::1]:2379")), STR("# on fd00::1: start etcd")));
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("https://etcd-0.annals-etcd.history.svc:2379")),
		STR("kubectl --namespace=history get pods,services ")));
	assert_true(str_starts(fix_start_etcd(&h, &w->arena, STR("https://svc:2379")), STR("# on svc: start etcd")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_host__a_bare_one_has_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host__systemd_and_apt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host__other_managers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host__in_a_container_nothing_is_installed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host__of_another_machine_only_its_name_is_known, setup, teardown),
	};
	return cmocka_run_group_tests_name("doctor_host", tests, NULL, NULL);
}
