/*
 * synced SEED: makes and changes files of /host, without end. After each fsync
 * a line says what must be there from now on, whatever happens:
 *
 *   file N SIZE    file N has so many bytes, of N's pattern
 *   log N          the log has N records, or more
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGEST 100000 /* bytes of a file */

static unsigned int state;

static unsigned int
chance(unsigned int n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

static void
sync_and_close(int fd)
{
	if (fsync(fd) < 0 || close(fd) < 0)
		err(1, "fsync");
}

/* A file of bytes (N + i) * 13, in writes of several sizes. */
static void
make_file(int n)
{
	static char data[LARGEST];
	int size = chance(LARGEST), fd;
	char name[30];

	for (int i = 0; i < size; i++)
		data[i] = (n + i) * 13;
	sprintf(name, "/host/file%d", n);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	for (int at = 0, step; at < size; at += step) {
		step = 1 + chance(30000);
		step = step < size - at ? step : size - at;
		if (write(fd, data + at, step) != step)
			err(1, "%s", name);
	}
	sync_and_close(fd);
	printf("file %d %d\n", n, size);
}

static void
append_to_log(int n)
{
	char record[17];
	int fd = open("/host/log", O_WRONLY | O_CREAT | O_APPEND, 0666);

	sprintf(record, "%15d\n", n);
	if (write(fd, record, 16) != 16)
		err(1, "log");
	sync_and_close(fd);
	printf("log %d\n", n + 1);
}

int
main(int argc, char **argv)
{
	state = argc > 1 ? atoi(argv[1]) : 1;
	for (int files = 0, records = 0;; fflush(stdout))
		if (chance(3) == 0)
			make_file(files++);
		else
			append_to_log(records++);
}
