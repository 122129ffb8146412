/* The C library's, some versions of which use a type they don't declare. */
#include <sys/types.h>

#include_next <time.h>
