/* Copying from file to file within the kernel. */
#ifndef _SYS_SENDFILE_H
#define _SYS_SENDFILE_H

#include <sys/cdefs.h>
#include <sys/types.h>

__BEGIN_DECLS
/* Copy from the regular file `in', at *offset, which is advanced, or NULL: at
 * its own offset. How many bytes; 0 at the end. */
ssize_t sendfile(int out, int in, off_t *offset, size_t size);
__END_DECLS
#endif
