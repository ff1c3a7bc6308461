// The arithmetic of `TextEncoder`, compiled for the widest vectors of the processor that it runs on, which Swift cannot do for one function.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Rows that `vector_multiply` and `vector_attend` work on at once; the number of rows must be a multiple of it.
enum { VECTOR_ROWS = 4 };
// Columns that it works on at once; the number of columns must be a multiple of it.
enum { VECTOR_COLUMNS = 64 };
// Inputs that it multiplies at once; the number of inputs must be a multiple of it.
enum { VECTOR_INNER = 4 };

// The code for products of 8-bit numbers, of each kind of processor from the slowest to the fastest. All give the same sums.
typedef enum {
    VECTOR_KERNEL_PORTABLE,
    VECTOR_KERNEL_AVX2,
    // AVX-512 with its instructions for neural networks.
    VECTOR_KERNEL_VNNI,
    // ARMv8.0.
    VECTOR_KERNEL_NEON,
    // ARMv8.2 with FEAT_DotProd.
    VECTOR_KERNEL_DOTPROD,
    VECTOR_KERNELS,
} vector_kernel_t;

// Whether this processor has the instructions of a kernel. It has those of the portable one.
bool vector_has_kernel(vector_kernel_t kernel);

// Orders a matrix as `vector_multiply` reads it. values: inner x columns signed bytes, row after row; packed: as many; sums: that of each column.
void vector_pack(const void *values, int8_t *packed, int32_t *sums, size_t inner, size_t columns);

// y = x * (scale of the column * w) + bias, with each row of x rounded to 8 bits. x: rows x inner, y: rows x columns, both row after row; w and
// sums by `vector_pack`; scales, bias: columns; scratch: rows * (inner / 4 + 1) floats; kernel: one that this processor has. The sums of
// products are whole numbers, exact by every kernel.
void vector_multiply(
    const float *x, const int8_t *w, const int32_t *sums, const float *scales, const float *bias, float *scratch, float *y, size_t rows,
    size_t inner, size_t columns, vector_kernel_t kernel);

// x = layer norm of (x + added) per row, times weight, plus bias. width: a multiple of 16.
void vector_normalise(float *x, const float *added, const float *weight, const float *bias, size_t rows, size_t width);

// The Gaussian error linear unit of each value, by its error function to 2e-7.
void vector_gelu(float *x, size_t count);

// FNV-1a (64 bits).
uint64_t vector_checksum(const uint8_t *bytes, size_t count);
// The same over little-endian words of 8 bytes, and the bytes behind the last whole word one by one: it takes an eighth of the time.
uint64_t vector_word_checksum(const uint8_t *bytes, size_t count);

// Self-attention. qkv: rows x (3 * width), queries, keys and values side by side; rows: tokens, filled up to a multiple of `VECTOR_ROWS`; scratch:
// `vector_attend_scratch` values; out: tokens x width. bias: NULL, or a relative position bias: for each head 2 * distance values, of which the one at
// `distance` + d is added to the product of a query and the key that stands d tokens after it; distance: at least `vector_attend_distance`.
void vector_attend(
    const float *qkv, const float *bias, size_t distance, float *scratch, float *out, size_t tokens, size_t heads, size_t width);
// Floats that `vector_attend` needs beside its arguments.
size_t vector_attend_scratch(size_t tokens, size_t heads, size_t width);
// The largest distance between tokens that `vector_attend` reads, as it fills up their number.
size_t vector_attend_distance(size_t tokens);
