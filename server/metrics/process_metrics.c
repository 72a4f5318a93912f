/* Asked of the kernel at each scrape, with the names and texts of Prometheus' own client for Go:
 * its dashboards know no others. */
#include "server/metrics/process_metrics.h"

#include "base/clock.h"
#include "base/exposition.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static void read_memory(double *ret_virtual, double *ret_resident)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%lu %lu", &total, &resident) != 2) {
			total = resident = 0;
		}
		fclose(f);
	}
	*ret_virtual = (double)total * (double)sysconf(_SC_PAGESIZE);
	*ret_resident = (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Without the one that this takes. */
static double count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	double n = -1;

	for (struct dirent *e; d && (e = readdir(d));) {
		n += e->d_name[0] != '.';
	}
	if (d) {
		closedir(d);
	}
	return n;
}

static double limit_of(__rlimit_resource_t resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (double)limit.rlim_cur : -1;
}

void process_metrics_write(struct buf *out, int64_t started_s)
{
	double total, resident;

	read_memory(&total, &resident);
	exposition_counter(out, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
		(double)clock_cpu_ns() / 1e9);
	exposition_gauge(out, "process_max_fds", "Maximum number of open file descriptors.", limit_of(RLIMIT_NOFILE));
	exposition_gauge(out, "process_open_fds", "Number of open file descriptors.", count_files());
	exposition_gauge(out, "process_resident_memory_bytes", "Resident memory size in bytes.", resident);
	exposition_gauge(
		out, "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", (double)started_s);
	exposition_gauge(out, "process_virtual_memory_bytes", "Virtual memory size in bytes.", total);
	exposition_gauge(out, "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
		limit_of(RLIMIT_AS));
}
