#include "tests/contract/contract.h"
#include "tests/contract/etcd_process.h"

enum { EXIT_SKIPPED = 77 };

static struct storage *open_etcd(void *ctx)
{
	return etcd_process_open(ctx, 0);
}

static int run_with(const char *binary)
{
	struct etcd_process *p = etcd_process_new(binary, ETCD_PLAIN, NULL);
	etcd_process_start(p);
	etcd_process_wait_ready(p);
	int n_failed = contract_run(binary, open_etcd, p);
	etcd_process_free(p);
	return n_failed;
}

int main(void)
{
	_cleanup_(mem_freep) const char **binaries = etcd_binaries();
	int n_failed = 0;
	if (!binaries[0]) {
		return EXIT_SKIPPED;
	}
	for (size_t i = 0; binaries[i]; i++) {
		n_failed += run_with(binaries[i]);
	}
	storage_etcd_shutdown();
	return n_failed;
}
