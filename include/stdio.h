/* The C library's, with what POSIX adds and older versions of it lack. */
#ifndef _TALLY_STDIO_H
#define _TALLY_STDIO_H

#include_next <stdio.h>

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
ssize_t getline(char **line, size_t *size, FILE *f);
ssize_t getdelim(char **line, size_t *size, int delim, FILE *f);
FILE *popen(const char *command, const char *mode);
int pclose(FILE *f);
int dprintf(int fd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int vdprintf(int fd, const char *format, va_list args);
#ifdef __cplusplus
}
#endif
#endif
