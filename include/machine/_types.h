/* The C library's basic types, with device, inode and user numbers as wide as
 * Linux's. */
#ifndef _TALLY_MACHINE_TYPES_H
#define _TALLY_MACHINE_TYPES_H

#include <machine/_default_types.h>

#define __machine_dev_t_defined
#define __machine_ino_t_defined
#define __machine_uid_t_defined
#define __machine_gid_t_defined
typedef __UINT64_TYPE__ __dev_t;
typedef __UINT64_TYPE__ __ino_t;
typedef __UINT32_TYPE__ __uid_t;
typedef __UINT32_TYPE__ __gid_t;

#endif
