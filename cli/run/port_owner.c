/* Only for a better message than "address in use". /proc hides other users' processes, so it may
 * find nothing; that is no error. */
#include "cli/run/port_owner.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TCP_LISTEN = 0x0a }; /* include/net/tcp_states.h */

/* A line of /proc/net/tcp: sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode. The inode, or 0. */
static unsigned long listener_of(const char *line, uint16_t port)
{
	unsigned local_port, state;
	unsigned long inode;
	if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &local_port, &state,
		    &inode) != 3) {
		return 0;
	}
	return local_port == port && state == TCP_LISTEN ? inode : 0;
}

static unsigned long find_listener(const char *table, uint16_t port)
{
	char line[512];
	unsigned long inode = 0;
	FILE *f = fopen(table, "re");
	if (!f) {
		return 0;
	}
	while (!inode && fgets(line, sizeof(line), f)) {
		inode = listener_of(line, port);
	}
	fclose(f);
	return inode;
}

/* Does /proc/PID/fd have the socket? */
static bool holds_socket(const char *pid, const char *socket)
{
	char path[300], target[64];
	bool holds = false;
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	DIR *d = opendir(path);
	if (!d) {
		return false;
	}
	for (struct dirent *e = readdir(d); e && !holds; e = readdir(d)) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		target[MAX(n, 0)] = '\0';
		holds = strcmp(target, socket) == 0;
	}
	closedir(d);
	return holds;
}

static void add_process(struct buf *out, const char *pid)
{
	char path[300], name[64] = "a process";
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	FILE *f = fopen(path, "re");
	if (f) {
		if (fgets(name, sizeof(name), f)) {
			name[strcspn(name, "\n")] = '\0';
		}
		fclose(f);
	}
	buf_printf(out, "%s (pid %s)", name, pid);
}

bool port_owner(uint16_t port, struct buf *out)
{
	char socket[48];
	bool is_found = false;
	unsigned long inode = find_listener("/proc/net/tcp", port);
	inode = inode ? inode : find_listener("/proc/net/tcp6", port);
	DIR *d = inode ? opendir("/proc") : NULL;
	if (!d) {
		return false;
	}
	snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	for (struct dirent *e = readdir(d); e && !is_found; e = readdir(d)) {
		is_found = isdigit((unsigned char)e->d_name[0]) && holds_socket(e->d_name, socket);
		if (is_found) {
			add_process(out, e->d_name);
		}
	}
	closedir(d);
	return is_found;
}
