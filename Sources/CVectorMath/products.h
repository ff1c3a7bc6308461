// The kernels of `vector_multiply`: products of 8-bit numbers.
#pragma once

#include "vector_math.h"

typedef int32_t vector_products_t[VECTOR_ROWS][VECTOR_COLUMNS];

// products = (x - 128) * w, of `VECTOR_ROWS` rows of x with `VECTOR_COLUMNS` columns of w, whose order and sums are those of `vector_pack`. x: all
// 256 values of a byte; w: all of a signed one. Exact up to 65,535 inputs.
typedef void vector_kernel_function_t(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner);

vector_kernel_function_t vector_products_portable;
#if defined(__x86_64__)
vector_kernel_function_t vector_products_avx2, vector_products_vnni;
#elif defined(__aarch64__)
vector_kernel_function_t vector_products_neon, vector_products_dotprod;
#endif

vector_kernel_function_t *vector_kernel_function(vector_kernel_t kernel);

// One copy of a function for each kind of processor; the loader chooses.
#if defined(__x86_64__) && defined(__linux__)
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST_VECTORS
#endif
