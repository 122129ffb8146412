/* The C library's, with the two words that newer versions left out. */
#ifndef _TALLY_SYS_CDEFS_H
#define _TALLY_SYS_CDEFS_H

#include_next <sys/cdefs.h>

#ifndef __BEGIN_DECLS
#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS   }
#else
#define __BEGIN_DECLS
#define __END_DECLS
#endif
#endif

#endif
