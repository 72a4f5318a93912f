/* An application under the HTTP front end for its tests: a few targets, and a world that the test can move. Each test has its own.
 *
 *   /hello /target... /header /nothing /echo /who /inject /early    answered at once
 *   /many                                                          a head that is as long as it may be
 *   /known                                                         answered at once; the client is vouched for
 *   /parts/COUNT/SIZE                                              COUNT pieces of SIZE bytes of a pattern
 *   /gate                                                          suspended until open_gate()
 *   /later                                                         suspended, and woken at once by one of several threads
 *   /head/echo /head/refuse /head/gate                             suspended before the body is read, and woken
 *   /alarm /patience                                               suspended with an alarm: gives up; goes on waiting for open_gate()
 *   /stream /list                                                  events, of unknown and of known length, as feed() makes them
 *   /cut                                                           a stream that breaks off
 */
#ifndef TESTS_UNIT_HTTP_WORLD_H
#define TESTS_UNIT_HTTP_WORLD_H

#include "base/clock.h"
#include "base/list.h"
#include "server/http/http.h"
#include "tests/unit/check.h"
#include "tests/unit/http_client.h"
#include "tests/unit/tls_pki.h"

#include <errno.h>
#include <pthread.h>

enum {
	PATIENCE_S = 180,
	N_WAKERS = 4,
	EVENT_SIZE = 64,
	LIST_EVENTS = 3000,
};

struct job {
	struct list link;
	struct http_exchange *x;
	uint64_t at;   /* streams: bytes read */
	bool is_ready; /* suspended: the operation has been done */
};

struct world {
	struct http_server *server;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list gated;   /* suspended until the gate opens */
	struct list hurried; /* suspended until a waker finds them */
	struct list streams;
	uint64_t n_events;
	bool is_over; /* no further event */
	bool are_wakers_stopping;
	unsigned n_announced, n_requests, n_done, n_cut, n_closed, n_notices, n_alarms;
	char notice[512]; /* the last */
	uint64_t n_sent;
	pthread_t wakers[N_WAKERS];
};

extern struct world world;
extern bool use_tls;
extern char *pki; /* the folder of certificates; those of a server and of the CA of its clients: */
extern char *server_cert, *server_key, *ca_cert;

#define LOCKED(statement)                               \
	do {                                            \
		pthread_mutex_lock(&world.lock);        \
		statement;                              \
		pthread_cond_broadcast(&world.changed); \
		pthread_mutex_unlock(&world.lock);      \
	} while (0)

/* Until another thread has made it true. */
#define await(condition)                                                                                 \
	do {                                                                                             \
		struct timespec until_;                                                                  \
		clock_gettime(CLOCK_REALTIME, &until_);                                                  \
		until_.tv_sec += PATIENCE_S;                                                             \
		pthread_mutex_lock(&world.lock);                                                         \
		while (!(condition)) {                                                                   \
			if (pthread_cond_timedwait(&world.changed, &world.lock, &until_) == ETIMEDOUT) { \
				pthread_mutex_unlock(&world.lock);                                       \
				fail_msg("in vain: %s", #condition);                                     \
			}                                                                                \
		}                                                                                        \
		pthread_mutex_unlock(&world.lock);                                                       \
	} while (0)

size_t list_length(const struct list *head);
char pattern(size_t i); /* the byte at any place of the bodies made of parts */
void open_gate(void);
void feed(uint64_t n);
void end_streams(void);
void await_connections(uint64_t n);

/* A server with these options, the rest filled in; wanted may be NULL. */
void start(const struct http_options *wanted);
/* It must not start with these, but say so. */
void assert_no_start(const struct http_options *o, int error, const char *sentence);
uint16_t port(void);

int server_end(const struct client *c); /* the socket on the other side: the server runs in this process */
void dial(struct client *c);        /* as the group wants: plain or TLS */
void open_stream(struct client *c); /* and asks for /stream, up to the head of the answer */
void await_end(struct client *c);   /* reads whatever comes, until the connection is closed */
void assert_answer(struct client *c, const char *request, unsigned status, const char *body); /* body NULL: any */
void assert_next_answer(struct client *c, unsigned status, const char *body);
void make_cert(const char *name, const char *issuer, const char *common_name, bool is_server);

#define GET(target) "GET " target " HTTP/1.1\r\nHost: x\r\n\r\n"

int world_setup(void **state);
int world_teardown(void **state);
int open_pki(void **state); /* of a group: TLS from now on */
int close_pki(void **state);

#define CASE(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

/* The same tests without and with TLS: returns how many failed. */
#define run_both_ways(tests)                                         \
	(cmocka_run_group_tests_name("plain", (tests), NULL, NULL) + \
		cmocka_run_group_tests_name("TLS", (tests), open_pki, close_pki))

#endif
