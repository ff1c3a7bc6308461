#include "products.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

WIDEST_VECTORS
void vector_products_portable(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner) {
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int c = 0; c < VECTOR_COLUMNS; c++) products[r][c] = -128 * sums[c];
    }
    for (size_t k = 0; k < inner; k += VECTOR_INNER, w += VECTOR_COLUMNS * VECTOR_INNER) {
        for (int r = 0; r < VECTOR_ROWS; r++) {
            const uint8_t *four = x + r * inner + k;
            for (int c = 0; c < VECTOR_COLUMNS; c++) {
                const int8_t *weights = w + c * VECTOR_INNER;
                products[r][c] += four[0] * weights[0] + four[1] * weights[1] + four[2] * weights[2] + four[3] * weights[3];
            }
        }
    }
}

#if defined(__aarch64__)
static bool has_dotprod(void) {
#if defined(__ARM_FEATURE_DOTPROD)
    return true;
#elif defined(__linux__)
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#else
    return false;
#endif
}
#endif

bool vector_has_kernel(vector_kernel_t kernel) {
    switch (kernel) {
    case VECTOR_KERNEL_PORTABLE: return true;
#if defined(__x86_64__)
    case VECTOR_KERNEL_AVX2: return __builtin_cpu_supports("avx2");
    case VECTOR_KERNEL_VNNI: return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case VECTOR_KERNEL_NEON: return true;
    case VECTOR_KERNEL_DOTPROD: return has_dotprod();
#endif
    default: return false;
    }
}

vector_kernel_function_t *vector_kernel_function(vector_kernel_t kernel) {
    switch (kernel) {
#if defined(__x86_64__)
    case VECTOR_KERNEL_AVX2: return vector_products_avx2;
    case VECTOR_KERNEL_VNNI: return vector_products_vnni;
#elif defined(__aarch64__)
    case VECTOR_KERNEL_NEON: return vector_products_neon;
    case VECTOR_KERNEL_DOTPROD: return vector_products_dotprod;
#endif
    default: return vector_products_portable;
    }
}
