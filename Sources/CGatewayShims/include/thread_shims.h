// What Swift's Glibc module does not export of threads.
#pragma once

#include <stdint.h>

// Names the calling thread; the kernel keeps the first 15 bytes.
void gateway_name_this_thread(const char *name);

// Asks Linux 6.12 or later to give the calling thread its share of a processor in slices of that many nanoseconds, 100,000 to 100,000,000: with
// shorter slices it waits less for threads with longer ones. Its share stays the same, so no privilege is needed. Older kernels ignore it.
// 0, or -1 with errno.
int gateway_set_time_slice(uint64_t nanoseconds);
