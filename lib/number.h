/* Numbers in text, as the kernel reads them: words written to devices such as
 * /dev/profclock, and the table of symbols. */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include <stdint.h>

/* Convert a whole word, decimal or 0x.., to a number of at most max. Returns 0,
 * or -EINVAL and leaves *out as it was. */
int number_parse(const char *word, uint64_t max, uint64_t *out);

#endif
