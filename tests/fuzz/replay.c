/* Stands in for libFuzzer: feeds a target every file of the folders named on the command line, in order of name. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { INTERRUPT_US = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_file(const char *dir, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(1);
	}

	/* Of exactly the file's size, so that a sanitizer sees one byte too far. */
	fseek(file, 0, SEEK_END);
	size_t n = (size_t)ftell(file);
	rewind(file);
	uint8_t *data = malloc(n ? n : 1);
	if (!data || fread(data, 1, n, file) != n) {
		perror(path);
		exit(1);
	}

	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	fclose(file);
}

static int replay_folder(const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_visible, alphasort);
	if (n <= 0) {
		fprintf(stderr, "%s: no corpus\n", dir);
		return 1;
	}

	for (int i = 0; i < n; i++) {
		replay_file(dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static void on_alarm(int number)
{
	(void)number;
}

/* libFuzzer watches over the time with SIGALRM, every few seconds: what waits in a system call then gets EINTR. Here it comes often,
 * so that a target that takes it for something else fails in its test, not once in a long run. */
static void interrupt_every(int us)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval interval = {{0, us}, {0, us}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &interval, NULL);
}

int main(int argc, char **argv)
{
	int r = 0;
	interrupt_every(INTERRUPT_US);
	for (int i = 1; i < argc; i++) {
		r |= replay_folder(argv[i]);
	}
	interrupt_every(0);
	return r;
}
