/* The C library's, some versions of which use a type they don't declare. */
#include <stddef.h>

#include_next <regex.h>
