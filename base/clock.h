/* Time. Wall clock only for what people read; everything that measures or waits uses the monotonic clock. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include "base/str.h"

#include <pthread.h>
#include <time.h>

#define TIME_RFC3339_SIZE 21       /* "2006-01-02T15:04:05Z" and a NUL */
#define TIME_RFC3339_MICRO_SIZE 28 /* "2006-01-02T15:04:05.000000Z" and a NUL */

int64_t clock_mono_ns(void);
int64_t clock_mono_ms(void);
int64_t clock_boot_ms(void); /* as clock_mono_ms(), and goes on while the machine sleeps: for promises made to others */
int64_t clock_wall_s(void); /* seconds since 1970 */
int64_t clock_wall_us(void);
int64_t clock_cpu_ns(void); /* of this process */

/* A condition for clock_cond_wait(). */
void clock_cond_init(pthread_cond_t *cond);
/* pthread_cond_timedwait() on the monotonic clock: ETIMEDOUT when it is until_ms. */
int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms);

void time_format_rfc3339(char out[TIME_RFC3339_SIZE], int64_t wall_s);
void time_format_rfc3339_micro(char out[TIME_RFC3339_MICRO_SIZE], int64_t wall_us);
/* Go's time.RFC3339: fraction and offset allowed. */
bool time_parse_rfc3339(struct str s, int64_t *ret_wall_us);
/* kubectl's AGE column, k8s.io/apimachinery/pkg/util/duration.HumanDuration: "5s" "2m3s" "5m" "3h" "7d23h" "9d" "3y14d". */
void duration_format_human(char out[32], int64_t seconds);

#endif
