/* Messages on stderr that begin with the program's name. The ones without
 * an x end with what errno means; err and errx exit with status. */
#ifndef _ERR_H
#define _ERR_H

#include <sys/cdefs.h>

#define _ERR_FORMAT(n) __attribute__((format(printf, n, n + 1)))

__BEGIN_DECLS
void err(int status, const char *format, ...) _ERR_FORMAT(2)
    __attribute__((noreturn));
void errx(int status, const char *format, ...) _ERR_FORMAT(2)
    __attribute__((noreturn));
void warn(const char *format, ...) _ERR_FORMAT(1);
void warnx(const char *format, ...) _ERR_FORMAT(1);
__END_DECLS
#endif
