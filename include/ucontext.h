/* What a signal's handler finds of what it has interrupted. */
#include <sys/ucontext.h>
