// The HTML, scripts and style sheets of `/operator` and `/try`, from the folder `Static`. In C, which embeds them at once; Swift compiles their bytes
// as numbers, which was 12 s of the first build.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    const uint8_t *bytes;
    size_t count;
} page_file_t;

// The file of a name; NULL: there is none.
const page_file_t *page_file(const char *name);
