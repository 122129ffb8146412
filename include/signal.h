/* Signals: what ISO C says of them here, the rest in <sys/signal.h>. */
#ifndef _SIGNAL_H
#define _SIGNAL_H

#include <sys/signal.h>

typedef int sig_atomic_t;
typedef _sig_func_ptr sig_t;

#define SIG_DFL ((_sig_func_ptr)0)
#define SIG_IGN ((_sig_func_ptr)1)
#define SIG_ERR ((_sig_func_ptr)-1)

#endif
