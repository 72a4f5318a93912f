/* Finds the user at the other end of a connection within this machine. The kernel lists both ends. The wanted end has the
 * client's address as its own, and ours as the remote one. All four numbers count, since another user may use the same
 * local port with other addresses. A socket that its program has closed is listed with user 0 (root), but has no inode.
 *
 * Root is admitted, since it can read our memory anyway, and port forwarders run as root on some systems. */
#include "cli/ui/peer.h"

#include "base/buf.h"
#include "base/file.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TABLE_MAX = 64 << 20, /* some 400,000 sockets */
	HOST_DIGITS = 32,
};

/* Returns false if it is neither IPv4 nor IPv6. */
static bool peer_end_of(struct peer_end *ret, const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	*ret = (struct peer_end){.family = address->sa_family};
	switch (address->sa_family) {
	case AF_INET:
		ret->port = in->sin_port;
		ret->words[0] = in->sin_addr.s_addr;
		return true;
	case AF_INET6:
		ret->port = in6->sin6_port;
		memcpy(ret->words, &in6->sin6_addr, sizeof(ret->words));
		return true;
	default:
		return false;
	}
}

static struct peer_end our_end(sa_family_t family, uint16_t port)
{
	struct peer_end end = {.family = family, .port = htons(port)};
	if (family == AF_INET) {
		end.words[0] = htonl(INADDR_LOOPBACK);
	} else {
		memcpy(end.words, &in6addr_loopback, sizeof(end.words));
	}
	return end;
}

/* ---- one question to the kernel, whose time does not depend on the number of sockets ---- */

/* Asks for the socket at `local` that is connected to `remote`, or else one that listens at `local`. */
static bool ask(int fd, const struct peer_end *local, const struct peer_end *remote, struct inet_diag_msg *ret)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} question = {
		.head = {.nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)local->family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = UINT32_MAX,
			.id = {.idiag_sport = local->port,
				.idiag_dport = remote->port,
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	memcpy(question.body.id.idiag_src, local->words, sizeof(local->words));
	memcpy(question.body.id.idiag_dst, remote->words, sizeof(remote->words));
	if (send(fd, &question, sizeof(question), 0) != sizeof(question)) {
		return false;
	}
	ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*ret)) || !NLMSG_OK(&answer.head, (uint32_t)n) ||
		answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
		return false;
	}
	memcpy(ret, NLMSG_DATA(&answer.head), sizeof(*ret));
	return true;
}

enum finding { FOUND, NOT_THERE, CANNOT_SAY };

/* A kernel without this service answers as if there were no such socket. So it is also asked for our own end, which
 * exists. */
static enum finding ask_kernel(const struct peer_end *theirs, const struct peer_end *ours, uid_t *ret)
{
	struct inet_diag_msg found;
	enum finding finding = CANNOT_SAY;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0) {
		return CANNOT_SAY;
	}
	if (ask(fd, theirs, ours, &found)) {
		bool is_it = found.idiag_state != TCP_LISTEN && found.id.idiag_dport == ours->port && found.idiag_inode != 0;
		*ret = found.idiag_uid;
		finding = is_it ? FOUND : NOT_THERE;
	} else if (ask(fd, ours, theirs, &found)) {
		finding = NOT_THERE;
	}
	close(fd);
	return finding;
}

/* ---- the table of all sockets, if questions are forbidden ---- */

/* Writes an end as the table does: words as numbers of this machine, in hexadecimal. is_mapped: an IPv4 address of an IPv6
 * socket, which stands in the other table. */
static void write_end(const struct peer_end *end, bool is_mapped, char ret[HOST_DIGITS + 8])
{
	const uint32_t mapped[4] = {0, 0, htonl(0xffff), end->words[0]};
	const uint32_t *words = end->family == AF_INET && is_mapped ? mapped : end->words;
	size_t n = end->family == AF_INET && !is_mapped ? 1 : 4;
	for (size_t i = 0; i < n; i++) {
		snprintf(ret + 8 * i, 9, "%08X", words[i]);
	}
	snprintf(ret + 8 * n, 8, ":%04X", ntohs(end->port));
}

/* sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ... */
static bool read_line(struct str line, const char *theirs, const char *ours, uid_t *ret)
{
	char text[256], local[HOST_DIGITS + 8], remote[HOST_DIGITS + 8];
	unsigned uid;
	unsigned long inode;
	snprintf(text, sizeof(text), STR_FMT, STR_ARG(line));
	if (sscanf(text, " %*u: %39[0-9A-F:] %39[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %u %*d %lu", local, remote, &uid, &inode) !=
			4 ||
		inode == 0 || strcmp(local, theirs) != 0 || strcmp(remote, ours) != 0) {
		return false;
	}
	*ret = uid;
	return true;
}

bool peer_find(struct str table, const struct peer_end *theirs, const struct peer_end *ours, uid_t *ret)
{
	for (int is_mapped = 0; is_mapped <= 1; is_mapped++) {
		char local[HOST_DIGITS + 8], remote[HOST_DIGITS + 8];
		struct str rest = table, line;
		write_end(theirs, is_mapped, local);
		write_end(ours, is_mapped, remote);
		while (rest.n > 0) {
			str_cut(rest, '\n', &line, &rest);
			if (read_line(line, local, remote, ret)) {
				return true;
			}
		}
	}
	return false;
}

static enum finding read_tables(const struct peer_end *theirs, const struct peer_end *ours, uid_t *ret)
{
	static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(buf_done) struct buf table;
		buf_init(&table, TABLE_MAX);
		if (file_read_path(paths[i], &table) == 0 && peer_find(buf_str(&table), theirs, ours, ret)) {
			return FOUND;
		}
	}
	return NOT_THERE;
}

/* ---- the verdict ---- */

static bool is_let_in(uid_t uid)
{
	int64_t caller;
	const char *sudo = getenv("SUDO_UID");
	return uid == geteuid() || uid == 0 ||
		(geteuid() == 0 && sudo && str_to_int64(str_of(sudo), &caller) && caller >= 0 && uid == (uid_t)caller);
}

enum peer_owner peer_judge(const struct sockaddr *theirs, uint16_t port, uid_t *ret_uid)
{
	struct peer_end client, ours;
	if (!peer_end_of(&client, theirs)) {
		return PEER_UNKNOWN;
	}
	ours = our_end(client.family, port);
	enum finding finding = ask_kernel(&client, &ours, ret_uid);
	if (finding == CANNOT_SAY) {
		finding = read_tables(&client, &ours, ret_uid);
	}
	return finding != FOUND ? PEER_UNKNOWN : is_let_in(*ret_uid) ? PEER_OURS : PEER_STRANGER;
}
