// The arithmetic of `TextEncoder`, compiled for the widest vectors of the processor that it runs on, which Swift cannot do for one function.
// `vector_multiply` did 58 GFLOPS with AVX-512 where the build for every x86-64 processor did 14.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Rows that `vector_multiply` works on at once; the number of rows must be a multiple of it.
enum { VECTOR_ROWS = 4 };
// Columns that it works on at once; the number of columns must be a multiple of it.
enum { VECTOR_COLUMNS = 32 };

// y = x * w + bias. x: rows x inner, w: inner x columns, bias: columns, y: rows x columns; all row after row.
void vector_multiply(
    const float *x, const float *w, const float *bias, float *y, size_t rows, size_t inner, size_t columns);

// x = layer norm of (x + added) per row, times weight, plus bias.
void vector_normalise(float *x, const float *added, const float *weight, const float *bias, size_t rows, size_t width);

// The Gaussian error linear unit of each value, by its error function to 2e-7.
void vector_gelu(float *x, size_t count);

// weights = scale of the column * value, of a matrix of 8-bit values.
void vector_expand(const int8_t *values, const float *scales, float *weights, size_t rows, size_t columns);

// FNV-1a (64 bits).
uint64_t vector_checksum(const uint8_t *bytes, size_t count);

// Self-attention. qkv: tokens x (3 * width), queries, keys and values side by side; scores: room for `tokens` values; out: tokens x width.
void vector_attend(const float *qkv, float *scores, float *out, size_t tokens, size_t heads, size_t width);
