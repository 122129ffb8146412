/* Two processes that wait for each other, 20,000 times. */
#include <unistd.h>

int
main(void)
{
	int there[2], back[2];
	char c = 0;

	pipe(there);
	pipe(back);
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &c, 1) > 0)
			write(back[1], &c, 1);
		return 0;
	}
	for (int i = 0; i < 20000; i++) {
		write(there[1], &c, 1);
		read(back[0], &c, 1);
	}
	return 0;
}
