#include "cli/ui/peer.h"

#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const char table[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	"   0: 0100007F:B24D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
	"   1: 0100007F:9C40 0100007F:B24D 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1\n"
	"   2: 0100007F:B24D 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n"
	"   3: 0200007F:9C41 0100007F:B24D 01 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 -1\n";
static const char table6[] =
	"  sl  local_address                         remote_address                        st tx_queue ...   uid\n"
	"   0: 00000000000000000000000001000000:9C42 00000000000000000000000001000000:B24D 01 00000000:00000000 00:00000000 "
	"00000000  1003        0 5\n"
	"   1: 0000000000000000FFFF00000100007F:9C43 0000000000000000FFFF00000100007F:B24D 01 00000000:00000000 00:00000000 "
	"00000000  1004        0 6\n";
enum { PORT = 0xb24d, NOBODY = -1 };

static struct peer_end end_at(const char *host, uint16_t port)
{
	struct peer_end end = {.family = strchr(host, ':') ? AF_INET6 : AF_INET, .port = htons(port)};
	assert_int_equal(inet_pton(end.family, host, end.words), 1);
	return end;
}

static int owner(const char *text, const char *host, uint16_t port, const char *our_host, uint16_t our_port)
{
	const struct peer_end theirs = end_at(host, port), ours = end_at(our_host, our_port);
	uid_t uid;
	return peer_find(str_of(text), &theirs, &ours, &uid) ? (int)uid : NOBODY;
}

static void test_peer__is_whose_socket_is_at_the_other_end(void **state _unused_)
{
	assert_int_equal(owner(table, "127.0.0.1", 40000, "127.0.0.1", PORT), 1001);
	assert_int_equal(owner(table, "127.0.0.2", 40001, "127.0.0.1", PORT), 1002);
	assert_int_equal(owner(table6, "::1", 40002, "::1", PORT), 1003);
	assert_int_equal(owner(table6, "127.0.0.1", 40003, "127.0.0.1", PORT), 1004);
}

static void test_peer__is_nobody_where_an_address_or_a_port_differs(void **state _unused_)
{
	assert_int_equal(owner(table, "127.0.0.1", 40001, "127.0.0.1", PORT), NOBODY);
	assert_int_equal(owner(table, "127.0.0.2", 40000, "127.0.0.1", PORT), NOBODY);
	assert_int_equal(owner(table, "127.0.0.1", 40000, "127.0.0.1", PORT + 1), NOBODY);
	assert_int_equal(owner(table, "127.0.0.1", 40000, "127.0.0.2", PORT), NOBODY);
	assert_int_equal(owner(table6, "::2", 40002, "::1", PORT), NOBODY);
	assert_int_equal(owner(table6, "::1", 40002, "::2", PORT), NOBODY);
	assert_int_equal(owner("", "127.0.0.1", 40000, "127.0.0.1", PORT), NOBODY);
	assert_int_equal(owner("garbage\n\n: : :\n", "127.0.0.1", 40000, "127.0.0.1", PORT), NOBODY);
}

/* One user may have a port to us while another has it to somebody else; and root seems to have what nobody has any more. */
static void test_peer__is_not_who_has_the_same_port_to_others(void **state _unused_)
{
	static const char text[] =
		"   1: 0100007F:9C40 0200007F:B24D 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 "
		"-1\n"
		"   2: 0100007F:9C40 0300007F:B24D 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
		"   3: 0100007F:9C41 0100007F:B24D 05 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
		"   4: 0100007F:9C40 0100007F:B24D 01 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 30 10 "
		"-1\n";
	assert_int_equal(owner(text, "127.0.0.1", 40000, "127.0.0.1", PORT), 1002);
	assert_int_equal(owner(text, "127.0.0.1", 40001, "127.0.0.1", PORT), NOBODY);
}

/* ---- of real sockets ---- */

struct pair {
	int listener, client;
	struct sockaddr_in to, from;
};

static void pair_connect(struct pair *p, const char *host)
{
	socklen_t size = sizeof(p->to);
	p->to = (struct sockaddr_in){.sin_family = AF_INET};
	assert_int_equal(inet_pton(AF_INET, host, &p->to.sin_addr), 1);
	p->listener = socket(AF_INET, SOCK_STREAM, 0);
	p->client = socket(AF_INET, SOCK_STREAM, 0);
	assert_false(bind(p->listener, (struct sockaddr *)&p->to, size) || listen(p->listener, 1));
	assert_false(getsockname(p->listener, (struct sockaddr *)&p->to, &size));
	assert_false(connect(p->client, (struct sockaddr *)&p->to, size));
	assert_false(getsockname(p->client, (struct sockaddr *)&p->from, &size));
}

static enum peer_owner pair_judge(const struct pair *p)
{
	uid_t uid;
	return peer_judge((const struct sockaddr *)&p->from, ntohs(p->to.sin_port), &uid);
}

static void test_peer__of_ourselves_is_ours(void **state _unused_)
{
	struct pair p;
	pair_connect(&p, "127.0.0.1");
	assert_int_equal(pair_judge(&p), PEER_OURS);
	assert_int_equal(shutdown(p.client, SHUT_WR), 0);
	assert_int_equal(pair_judge(&p), PEER_OURS);
	close(p.client);
	close(p.listener);
}

static void test_peer__that_has_closed_is_unknown(void **state _unused_)
{
	struct pair p;
	pair_connect(&p, "127.0.0.1");
	close(p.client);
	assert_int_equal(pair_judge(&p), PEER_UNKNOWN);
	close(p.listener);
	assert_int_equal(pair_judge(&p), PEER_UNKNOWN);
}

static void test_peer__that_is_connected_elsewhere_is_unknown(void **state _unused_)
{
	struct pair p;
	pair_connect(&p, "127.0.0.2");
	assert_int_equal(pair_judge(&p), PEER_UNKNOWN);
	close(p.client);
	close(p.listener);
}

static void test_peer__of_another_family_is_unknown(void **state _unused_)
{
	const struct sockaddr local = {.sa_family = AF_UNIX};
	uid_t uid;
	assert_int_equal(peer_judge(&local, PORT, &uid), PEER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer__is_whose_socket_is_at_the_other_end),
		cmocka_unit_test(test_peer__is_nobody_where_an_address_or_a_port_differs),
		cmocka_unit_test(test_peer__is_not_who_has_the_same_port_to_others),
		cmocka_unit_test(test_peer__of_ourselves_is_ours),
		cmocka_unit_test(test_peer__that_has_closed_is_unknown),
		cmocka_unit_test(test_peer__that_is_connected_elsewhere_is_unknown),
		cmocka_unit_test(test_peer__of_another_family_is_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
