/*
 * Two processes for each hart, all of which only compute, get equal shares of
 * the time, however many threads they have; and one that mostly sleeps, or
 * waits for another, isn't kept from its work by them for longer than their
 * turns.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "children.h"
#include "prf.h"

#define SECOND     1000000 /* us */
#define TURN_US    40000
#define MAX_RIVALS (2 * HARTS)
#define SLEEPERS   30
#define PAUSES     40
#define CROWD      200 /* threads */

static size_t rivals;

/* Compute from one time to another, and tell how much it was. */
static void
compete(uint64_t start, uint64_t end, int out)
{
	uint64_t work = 0;

	while (now_us() < start)
		burn_us(1000);
	for (; now_us() < end; work++)
		for (volatile int i = 0; i < 200; i++)
			;
	write(out, &work, sizeof(work));
	_exit(0);
}

/*
 * All start a while after they were made, so that they have found their harts,
 * and compute for six seconds: the same, within 10 %.
 */
static void
check_shares(void)
{
	uint64_t start = now_us() + SECOND, work[MAX_RIVALS], mean = 0;
	int fds[2];

	pipe(fds);
	for (size_t i = 0; i < rivals; i++)
		if (fork() == 0)
			compete(start, start + 6 * SECOND, fds[1]);
	for (size_t i = 0; i < rivals; i++) {
		read(fds[0], &work[i], sizeof(work[i]));
		mean += work[i] / rivals;
		wait(NULL);
	}
	for (size_t i = 0; i < rivals; i++)
		CHECK(work[i] * 10 >= mean * 9 && work[i] * 10 <= mean * 11,
		      "process %zu has its share of the time (%u/1000)", i,
		      (unsigned int)(work[i] * 1000 / mean));
	close(fds[0]);
	close(fds[1]);
}

static uint64_t crowd_start, crowd_end;

static void *
compete_too(void *work)
{
	while (now_us() < crowd_start)
		;
	for (; now_us() < crowd_end; ++*(uint64_t *)work)
		for (volatile int i = 0; i < 200; i++)
			;
	return NULL;
}

/* What compete does, by many threads at once. */
static void
compete_as_crowd(int out)
{
	static uint64_t work[CROWD];
	pthread_t thread[CROWD];
	uint64_t sum = 0;

	for (int i = 0; i < CROWD; i++)
		pthread_create(&thread[i], NULL, compete_too, &work[i]);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(thread[i], NULL);
		sum += work[i];
	}
	write(out, &sum, sizeof(sum));
	_exit(0);
}

/* How long it takes to run a program that ends at once: the most of 20. NULL:
 * only to make its process. */
static uint64_t
worst_fork(const char *program)
{
	uint64_t worst = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t start = now_us(), took;
		pid_t pid = fork();

		if (pid == 0 && program != NULL)
			execl(program, program, NULL);
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		took = now_us() - start;
		worst = took > worst ? took : worst;
	}
	return worst;
}

/* A process of many threads has as much as any of one. */
static void
check_crowd(void)
{
	size_t singles = rivals / 2; /* as many as harts */
	uint64_t work[HARTS], crowd;
	int fds[2], sum[2];

	crowd_start = now_us() + 2 * SECOND;
	crowd_end = crowd_start + 3 * SECOND;
	pipe(fds);
	pipe(sum);
	if (fork() == 0)
		compete_as_crowd(sum[1]);
	for (size_t i = 0; i < singles; i++)
		if (fork() == 0)
			compete(crowd_start, crowd_end, fds[1]);
	for (size_t i = 0; i < singles; i++)
		read(fds[0], &work[i], sizeof(work[i]));
	read(sum[0], &crowd, sizeof(crowd));
	while (wait(NULL) > 0)
		;
	for (size_t i = 0; i < singles; i++)
		CHECK(work[i] * 3 >= crowd * 2 && work[i] * 2 <= crowd * 3,
		      "process %zu has as much as one of %d threads (%u/1000)",
		      i, CROWD, (unsigned int)(work[i] * 1000 / crowd));
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(sum[i]);
	}
}

/* And who makes processes meanwhile waits for a turn of its, not of all its
 * threads. */
static void
check_beside_crowd(void)
{
	pid_t pid = fork();
	uint64_t worst;

	crowd_start = 0;
	crowd_end = UINT64_MAX;
	if (pid == 0)
		compete_as_crowd(-1);
	burn_us(SECOND);
	worst = worst_fork("/bin/true");
	CHECK(worst <= 5 * TURN_US, "a program runs beside %d threads (%lu ms)",
	      CROWD, worst / 1000);
	child_end(pid);
}

/* How late one wakes who sleeps for a tick: the most of 20 times. */
static uint64_t
worst_sleep(void)
{
	struct timespec tick = {.tv_nsec = 10 * 1000 * 1000};
	uint64_t worst = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t start = now_us(), took;

		nanosleep(&tick, NULL);
		took = now_us() - start;
		worst = took > worst ? took : worst;
	}
	return worst;
}

/* How long it takes until another answers: the most of 20 times. */
static uint64_t
worst_answer(void)
{
	uint64_t worst = 0;
	int to[2], from[2];
	char c = 'x';
	pid_t pid;

	pipe(to);
	pipe(from);
	pid = fork();
	while (pid == 0)
		if (read(to[0], &c, 1) != 1 || write(from[1], &c, 1) != 1)
			_exit(1);
	for (int i = 0; i < 20; i++) {
		uint64_t start = now_us(), took;

		write(to[1], &c, 1);
		read(from[0], &c, 1);
		took = now_us() - start;
		worst = took > worst ? took : worst;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return worst;
}

/* Whoever becomes runnable waits for two others, or three; and those who talk
 * wait twice. */
static void
check_response(void)
{
	uint64_t turn = rivals > 2 ? 2 * TURN_US : TURN_US; /* QEMU's, too */
	pid_t pids[MAX_RIVALS];

	for (size_t i = 0; i < rivals; i++) {
		pids[i] = fork();
		while (pids[i] == 0)
			;
	}
	CHECK(worst_sleep() <= 4 * turn, "a sleeper wakes in time");
	CHECK(worst_answer() <= 8 * turn, "two who talk aren't kept apart");
	for (size_t i = 0; i < rivals; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* Read a table, which takes a lock for most of the time, over and over. */
static void
read_table(uint64_t start, uint64_t end, int out)
{
	int fd = open(PRF, O_RDONLY);
	uint64_t n = 0;

	prf_get(fd, LARGE); /* so that no page of `got` is missing later */
	while (now_us() < start)
		burn_us(1000);
	for (; now_us() < end; n++)
		prf_get(fd, LARGE);
	write(out, &n, sizeof(n));
	_exit(0);
}

/* Three readers of one table: none does without. */
static void
check_lock(void)
{
	static unsigned long address[LARGE];
	uint64_t start = now_us() + SECOND, reads[3], sum = 0;
	int fd = open(PRF, O_WRONLY), fds[2];

	CHECK(prf_put(fd, address, LARGE), "a large table");
	close(fd);
	pipe(fds);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			read_table(start, start + 2 * SECOND, fds[1]);
	for (int i = 0; i < 3; i++) {
		read(fds[0], &reads[i], sizeof(reads[i]));
		sum += reads[i];
		wait(NULL);
	}
	for (int i = 0; i < 3; i++)
		CHECK(reads[i] * 6 >= sum, "reader %d gets the lock, too", i);
	close(fds[0]);
	close(fds[1]);
}

/* Ask for a list of all processes over and over, with a pause between, which
 * takes the lock that they are made under for most of the time. */
static pid_t
hog_start(int pause)
{
	static struct psinfo all[SLEEPERS];
	pid_t pid = fork();

	while (pid == 0) {
		psinfo(all, SLEEPERS);
		for (volatile int i = pause; i > 0; i--)
			;
	}
	return pid;
}

/* Whatever the pause: QEMU's turns may be in step with the two of them. */
static void
check_spinlock(void)
{
	pid_t sleepers[SLEEPERS];
	uint64_t worst = 0;

	for (int i = 0; i < SLEEPERS; i++)
		sleepers[i] = sleeper_start();
	for (int pause = 0; pause < PAUSES; pause++) {
		pid_t hog = hog_start(pause);
		uint64_t took = worst_fork(NULL);

		worst = took > worst ? took : worst;
		child_end(hog);
	}
	CHECK(worst <= 5 * TURN_US,
	      "others get a spinlock that one takes all the time (%lu ms)",
	      worst / 1000);
	for (int i = 0; i < SLEEPERS; i++)
		child_end(sleepers[i]);
}

int
main(void)
{
	rivals = 2 * system_now().harts;
	check_lock();
	check_shares();
	check_response();
	check_crowd();
	check_beside_crowd();
	check_spinlock();
	return check_done();
}
