/*
 * Working with the device pcs, and running a command meanwhile. What goes
 * wrong ends the program with a message.
 */
#ifndef PCSDEV_H
#define PCSDEV_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/pcs.h>
#include <sys/types.h>

#define PCS_DEVICE "/dev/pcs"

/* --- The device --- */

/* For reads that don't wait. */
int pcs_open(void);
void pcs_ask(int device, int cmd, uintptr_t arg);
struct pcs_stat pcs_account(int device);

/* What is done with so many LOGBUFs. */
typedef void pcs_work(const struct LOGBUF *b, size_t count);

/* No more samples; and all that the device has of them. */
struct pcs_stat pcs_finish(int device, pcs_work *work);

/* --- While it samples --- */

/* Signals that came: SIGINT and SIGQUIT; SIGTERM and SIGHUP. */
extern volatile sig_atomic_t pcs_interrupted, pcs_terminated;

/* Catch them, and SIGCHLD, from here on until exec. Those that were ignored
 * stay so. */
void pcs_catch_signals(void);

/*
 * Wait until the device gives something, a signal has come, or fd (-1: none)
 * can be read, but for so many milliseconds at most (-1: no limit). Then work
 * on all that the device has.
 */
void pcs_wait(int device, int fd, int timeout, pcs_work *work);

/* Start a command. */
pid_t pcs_command(char **argv);
/* Has it ended? A signal to end is passed on to it. */
bool pcs_ended(void);
/* Its exit status, or 128 and the number of the signal that ended it. */
int pcs_status(void);

#endif
