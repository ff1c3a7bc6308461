#include "heap_shims.h"

#include <malloc.h>

size_t gateway_heap_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void gateway_heap_trim(void) {
    malloc_trim(0);
}
