// The HTML, scripts and style sheets of the web pages `/operator` and `/try`, from the folder `Static`. In C, because `#embed` is fast: as arrays in
// Swift the same bytes took 12 s of a first build.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A file of the web pages, some of them templates.
typedef struct {
    const char *name;
    const uint8_t *bytes;
    size_t count;
} page_file_t;

// The file of a name; NULL: there is none.
const page_file_t *page_file(const char *name);
