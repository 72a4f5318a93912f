#include "tests/contract/contract.h"
#include "tests/contract/etcd_process.h"

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
	return etcd_run_with_each(run_with);
}
