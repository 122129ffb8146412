/* The C library's, with sets as large as Linux's. */
#ifndef FD_SETSIZE
#define FD_SETSIZE 1024
#endif

#include_next <sys/select.h>
