/*
 * Devices. A device is one file, of this folder or debug/, that ends in one
 * const struct device, and two lines in dev.c. Its files appear in /dev. What a
 * device leaves out has a default, named beside it.
 */
#ifndef KERNEL_DEV_H
#define KERNEL_DEV_H

#include "../fs/vfs.h"

/* One file in /dev: what the device calls it, and who may do what. */
struct devfile {
	const char *name;
	unsigned int id;
	mode_t mode; /* permission bits; checked by open */
};

struct device {
	const struct devfile *files; /* the last has a NULL name */
	bool stream;        /* lseek, pread and pwrite fail with ESPIPE */
	void (*init)(void); /* nothing */
	int (*missing)(const char *name); /* open's errno for a name that is
					   * none of its files'; ENOENT */
	off_t (*size)(unsigned int id);   /* 0, for stat */
	/* Of a vnode's operations those on an open file, which its mode has
	 * allowed. The offset is u->offset, whoever keeps it. */
	struct vnode_ops ops;
};

/* Which of its device's files v is: the id. */
unsigned int dev_id(const struct vnode *v);

extern const struct device *const devices[]; /* the last is NULL */
void dev_init(void);

/*
 * Read from a file that is this text now. It's another one at each read: so it
 * ends where it ended when its start was read, or whoever reads to the end sees
 * digits that the counts have had since.
 */
ssize_t dev_read_text(struct file *f, struct uio *u, const char *text,
		      size_t size);

/*
 * Control files: a write is one line of words, the first of which says what
 * to do. An unknown word, or the wrong number of arguments, is EINVAL and
 * says so on the console; a trailing newline is fine.
 */
#define CTL_ARGS 8

struct ctlword {
	const char *name;
	int (*run)(char **argv); /* argv[0] is the word; the last is NULL */
	int min, max;            /* arguments after the word */
};

/* A whole word as a number, decimal or 0x.., up to max; 0 or -EINVAL. */
int ctl_number(const char *word, uint64_t max, uint64_t *out);
ssize_t ctl_write(struct uio *u, const struct ctlword *words);
int samples_make(char **argv); /* profclock's `sample`: debug/samples.c */

/* A machine that boots needs these before there are files. */
void uart_init(void);
uint64_t rtc_read_ns(void); /* rtc.c: since 1970; 0: no such clock */
void plic_init(void);       /* once */
void plic_init_hart(void);  /* on each hart */
void plic_interrupt(void);  /* an external interrupt, at level 5 */
void plic_register(unsigned int irq, void (*handler)(void));

#endif
