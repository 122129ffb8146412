"""Process 1, whose end is the machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.guest import Guest

# Programs that take init's place: each is /bin/init, with a command it ignores.
ASKED_FOR = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int poweroff(int status);

static volatile int hits;
static void count(int sig) { hits += sig == SIGUSR1; }

int main(int argc, char **argv)
{
	if (argc > 1) /* it has run itself anew, with SIGUSR1 pending */
		for (sigset_t none = 0;; sigprocmask(SIG_SETMASK, &none, NULL))
			if (waitpid(-1, NULL, 0) > 0)
				poweroff(7);
	signal(SIGUSR1, count);
	if (fork() == 0) {
		for (int sig = 1; sig < NSIG; sig++)
			if (kill(1, sig) != 0)
				poweroff(sig);
		_exit(0);
	}
	while (hits == 0 || waitpid(-1, NULL, 0) < 0)
		;
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (fork() == 0) {
		kill(1, SIGUSR1);
		_exit(0);
	}
	for (sigset_t set = 0; set != blocked; sigpending(&set))
		;
	execv("/bin/init", (char *[]){argv[0], "again", NULL});
	return 1;
}
"""
FAULTS = "int main(void) { return *(volatile int *)8; }\n"
RETURNS = "int main(void) { return 9; }\n"


@pytest.mark.machines("1", "4", "free")
def test_signals_it_has_not_asked_for(guest: Guest) -> None:
    """None ends or stops it: it goes on to wait for others' children, and ends
    the machine with the command's status."""
    result = guest(
        "for s in $(seq 31); do kill -$s 1 || echo $s; done\n"
        "(sleep 0.1 & exec true); while ps | grep -q sleep; do sleep 0.1; done\n"
        "kill -9 1; echo alive; exit 5"
    )
    assert (result.out, result.err, result.status) == ("alive\n", "", 5)


@pytest.mark.parametrize(
    "source, status",
    [(ASKED_FOR, 7), (FAULTS, 128 + 11), (RETURNS, 9)],
    ids=["asked for", "faults", "returns"],
)
def test_another_in_its_place(
    guest: Guest, tmp_path: Path, source: str, status: int
) -> None:
    """It gets what it has a handler for, and nothing else; not even what was
    pending for a handler that is gone. A fault ends it, and so the machine."""
    (tmp_path / "init.c").write_text(source)
    result = guest("never run", extra=tmp_path)
    assert result.status == status, result.story()
