/* The names in /dev that lead elsewhere, as Linux's programs expect them. All
 * memory is in /tmp's file system, shared memory's as well. */
#include "device.h"

static const struct devfile files[] = {
    {.name = "fd", .mode = 0777, .link = "/proc/self/fd"},
    {.name = "stdin", .id = 1, .mode = 0777, .link = "/proc/self/fd/0"},
    {.name = "stdout", .id = 2, .mode = 0777, .link = "/proc/self/fd/1"},
    {.name = "stderr", .id = 3, .mode = 0777, .link = "/proc/self/fd/2"},
    {.name = "shm", .id = 4, .mode = 0777, .link = "/tmp"},
    {0},
};

const struct device links_device = {.files = files};
