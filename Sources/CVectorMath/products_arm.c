#include "products.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

// Inputs that are made signed at once.
enum { CHUNK = 256 };

typedef int8_t centred_t[VECTOR_ROWS][CHUNK];

static inline size_t centre(const uint8_t *restrict x, centred_t centred, size_t start, size_t inner) {
    const size_t count = inner - start < CHUNK ? inner - start : CHUNK;
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (size_t k = 0; k < count; k++) centred[r][k] = (int8_t)(x[r * inner + start + k] - 128);
    }
    return count;
}

// Four inputs of a row, four times.
static inline int8x16_t repeated(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// For processors before ARMv8.2. Adds the products of eight columns.
static inline void add_eight(centred_t x, const int8_t *w, vector_products_t products, int column, size_t count) {
    // Of each column two sums, side by side: of the even and of the odd pairs of inputs.
    int32x4_t part[VECTOR_ROWS][4];
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < 4; p++) part[r][p] = vdupq_n_s32(0);
    }
    w += column * VECTOR_INNER;
    for (size_t k = 0; k < count; k += VECTOR_INNER, w += VECTOR_COLUMNS * VECTOR_INNER) {
        const int8x16_t weights[2] = {vld1q_s8(w), vld1q_s8(w + 16)};
        for (int r = 0; r < VECTOR_ROWS; r++) {
            const int8x16_t four = repeated(x[r] + k);
            for (int p = 0; p < 2; p++) {
                part[r][2 * p] = vpadalq_s16(part[r][2 * p], vmull_s8(vget_low_s8(weights[p]), vget_low_s8(four)));
                part[r][2 * p + 1] = vpadalq_s16(part[r][2 * p + 1], vmull_high_s8(weights[p], four));
            }
        }
    }
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < 2; p++) {
            int32_t *out = products[r] + column + 4 * p;
            vst1q_s32(out, vaddq_s32(vld1q_s32(out), vpaddq_s32(part[r][2 * p], part[r][2 * p + 1])));
        }
    }
}

void vector_products_neon(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner) {
    centred_t centred;
    memset(products, 0, sizeof(vector_products_t));
    for (size_t start = 0; start < inner; start += CHUNK) {
        const size_t count = centre(x, centred, start, inner);
        for (int column = 0; column < VECTOR_COLUMNS; column += 8) add_eight(centred, w + start * VECTOR_COLUMNS, products, column, count);
    }
}

// Adds the products of sixteen columns.
__attribute__((target("arch=armv8.2-a+dotprod"))) static inline void add_sixteen(
    centred_t x, const int8_t *w, vector_products_t products, int column, size_t count) {
    int32x4_t part[VECTOR_ROWS][4];
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < 4; p++) part[r][p] = vld1q_s32(products[r] + column + 4 * p);
    }
    w += column * VECTOR_INNER;
    for (size_t k = 0; k < count; k += VECTOR_INNER, w += VECTOR_COLUMNS * VECTOR_INNER) {
        int8x16_t weights[4];
        for (int p = 0; p < 4; p++) weights[p] = vld1q_s8(w + 16 * p);
        for (int r = 0; r < VECTOR_ROWS; r++) {
            const int8x16_t four = repeated(x[r] + k);
            for (int p = 0; p < 4; p++) part[r][p] = vdotq_s32(part[r][p], weights[p], four);
        }
    }
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < 4; p++) vst1q_s32(products[r] + column + 4 * p, part[r][p]);
    }
}

__attribute__((target("arch=armv8.2-a+dotprod"))) void vector_products_dotprod(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner) {
    centred_t centred;
    memset(products, 0, sizeof(vector_products_t));
    for (size_t start = 0; start < inner; start += CHUNK) {
        const size_t count = centre(x, centred, start, inner);
        for (int column = 0; column < VECTOR_COLUMNS; column += 16) add_sixteen(centred, w + start * VECTOR_COLUMNS, products, column, count);
    }
}
#endif
