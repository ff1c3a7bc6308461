// What malloc holds: Swift's Glibc module does not export <malloc.h>.
#pragma once

#include <stddef.h>

// Bytes in use: what was taken from malloc and not given back to it, in all arenas and in mappings of their own.
size_t gateway_heap_in_use(void);

// Gives whole free pages back to the system, wherever they lie. Each arena is locked meanwhile: about 10 ms for 100 MiB.
void gateway_heap_trim(void);
