/* Functions whose calls and ticks are known. Each has 64 bytes of text. */
#ifndef CALLS_H
#define CALLS_H

#define FUNCTION __attribute__((noinline, noclone, aligned(64)))

void f1(void);
void f2(void);  /* calls f1 */
void f3(int n); /* calls f1 and f2, n times each */

#endif
