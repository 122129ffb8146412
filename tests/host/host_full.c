/*
 * A file of /host that the host doesn't let grow beyond 1 GiB: what a write of
 * several exchanges says that can't all be done. All but the last 64 KiB of
 * that is a hole.
 */
#include <fcntl.h>
#include <string.h>

#include "../guest/children.h"

#define END  (1L << 30)
#define ROOM (64 * 1024)

static char data[2 * ROOM];

int
main(void)
{
	int fd = open("/host/full", O_CREAT | O_WRONLY, 0666);

	memset(data, 'x', sizeof(data));
	lseek(fd, END - ROOM, SEEK_SET);
	CHECK(write(fd, data, sizeof(data)) == ROOM,
	      "as much as there is room");
	CHECK(lseek(fd, 0, SEEK_CUR) == END, "the offset is behind that");
	CHECK_ERRNO(write(fd, data, 1), EFBIG, "then none at all");
	CHECK(lseek(fd, 0, SEEK_CUR) == END, "and the offset stays");
	close(fd);
	return check_done();
}
