/* The stream: see getpc.h. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "../../cmdlib/pcsdev.h"
#include "../../cmdlib/pcsread.h"

#include "getpc.h"

#define AT_ONCE 16 /* buffers that are written with one call */

static const char *name; /* of the output, for messages */
static int output;
static bool failed;
static bool sealed;

static struct LOGBUF waiting[AT_ONCE]; /* to be written */
static size_t waiting_count;

/* What the stream has so far. */
static struct pcs_walk seen = {.name = PCS_DEVICE}; /* of the device's */
static uint64_t told; /* hits lost, as the buffers' headers have it */
static uint64_t hits; /* in buffers that have been stored */
static unsigned int sequence;
static unsigned short recording; /* a number that others hardly have */

/* --- Buffers --- */

static void
flush(void)
{
	if (!failed && !out_direct(output, waiting, waiting_count * BSIZE)) {
		cmd_warn("%s", name);
		failed = true;
	}
	waiting_count = 0;
}

/* The device has left room for it, because of PROF_SEAL. */
static void
seal(struct LOGBUF *b)
{
	char *at = (char *)b + BSIZE - b->lb_buf_hdr.h_unused;
	struct SEAL_RECORD r = {
	    .type = SEAL,
	    .words = sizeof(r) / 8,
	    .recording = recording,
	    .sequence = sequence,
	    .hits = hits,
	};

	b->lb_buf_hdr.h_unused -= sizeof(r);
	memcpy(at, &r, sizeof(r));
	r.sum = pcs_sum(b);
	memcpy(at, &r, sizeof(r));
}

static void
store(const struct LOGBUF *b)
{
	waiting[waiting_count] = *b;
	if (sealed)
		seal(&waiting[waiting_count]);
	sequence++;
	if (++waiting_count == AT_ONCE)
		flush();
}

void
store_own(const void *records, size_t size, short numlost)
{
	struct LOGBUF b = {0};

	b.lb_buf_hdr.h_unused = BSIZE - sizeof(b.lb_buf_hdr) - size;
	b.lb_buf_hdr.h_numlost = numlost;
	memcpy(b.lb_data, records, size);
	store(&b);
}

unsigned int
store_count(void)
{
	return sequence;
}

bool
store_failed(void)
{
	return failed;
}

/* --- The stream --- */

void
store_open(const char *path, bool with_seals)
{
	bool standard = strcmp(path, "-") == 0;

	name = standard ? "standard output" : path;
	sealed = with_seals;
	output = STDOUT_FILENO;
	if (!standard)
		output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			      0666);
	if (output < 0)
		cmd_die("%s", path);
}

void
store_start(unsigned int time, const struct ISAMPLE *requests, size_t count)
{
	struct {
		struct SSAMPLE start;
		struct ISAMPLE requests[REQUESTS];
	} records;

	recording = time ^ getpid() << 8;
	memset(&records, 0, sizeof(records));
	records.start.type = START;
	records.start.stime = time;
	memcpy(records.requests, requests, count * sizeof(*requests));
	store_own(&records, sizeof(struct SSAMPLE) + count * sizeof(*requests),
		  0);
	if (sealed)
		whose_start();
	flush();
}

void
store_take(const struct LOGBUF *b, size_t count)
{
	const char *record;

	for (; count > 0; b++, count--) {
		told += b->lb_buf_hdr.h_numlost;
		pcs_buffer(&seen, b);
		while ((record = pcs_next(&seen)))
			if (sealed && *record != AT && *record != STACK)
				whose_look(record, seen.context);
		whose_store();
		store(b);
		hits = seen.total;
	}
	flush();
}

static void
store_account(const struct pcs_stat *s)
{
	struct sysinfo machine;
	struct ACCOUNT_RECORD r = {
	    .event = {.type = ACCOUNT, .words = sizeof(r) / 8},
	    .lost = s->lost,
	    .skipped = s->skipped,
	    .untold = s->untold,
	};

	if (sysinfo(&machine, sizeof(machine)) < 0)
		cmd_die("sysinfo");
	r.free = !machine.icount;
	store_own(&r, sizeof(r), 0);
}

/* What was lost after the last buffer has no other header to stand in. */
void
store_end(const struct pcs_stat *account)
{
	uint64_t lost = account->lost - told;
	struct SSAMPLE stop;

	if (sealed) {
		whose_end();
		store_account(account);
	}
	memset(&stop, 0, sizeof(stop));
	stop.type = STOP;
	stop.stime = time(NULL);
	store_own(&stop, sizeof(stop), lost < SHRT_MAX ? lost : SHRT_MAX);
	flush();
}
