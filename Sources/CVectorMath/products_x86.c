#include "products.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

// Inputs that are widened at once: with their weights they fit into the nearest cache.
enum { CHUNK = 256 };

// Adds the products of eight columns. Numbers of 16 bits, because the byte instruction (vpmaddubsw) limits the sum of two products to 16 bits.
__attribute__((target("avx2"), always_inline)) static inline void add_eight(
    int16_t x[VECTOR_ROWS][CHUNK], const int8_t *w, vector_products_t products, int column, size_t count) {
    // Of each column two sums, side by side: of the even and of the odd pairs of inputs.
    __m256i part[VECTOR_ROWS][2];
    for (int r = 0; r < VECTOR_ROWS; r++) part[r][0] = part[r][1] = _mm256_setzero_si256();
    w += column * VECTOR_INNER;
    for (size_t k = 0; k < count; k += VECTOR_INNER, w += VECTOR_COLUMNS * VECTOR_INNER) {
        __m256i weights[2];
        for (int p = 0; p < 2; p++) weights[p] = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w + 16 * p)));
        for (int r = 0; r < VECTOR_ROWS; r++) {
            int64_t four;
            memcpy(&four, x[r] + k, sizeof four);
            for (int p = 0; p < 2; p++) {
                part[r][p] = _mm256_add_epi32(part[r][p], _mm256_madd_epi16(_mm256_set1_epi64x(four), weights[p]));
            }
        }
    }
    for (int r = 0; r < VECTOR_ROWS; r++) {
        __m256i *out = (__m256i *)(products[r] + column);
        // Adds neighbours within each half, which leaves the columns in the order 0 1 4 5 2 3 6 7.
        const __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(part[r][0], part[r][1]), _MM_SHUFFLE(3, 1, 2, 0));
        _mm256_storeu_si256(out, _mm256_add_epi32(_mm256_loadu_si256(out), sums));
    }
}

__attribute__((target("avx2"))) void vector_products_avx2(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner) {
    int16_t wide[VECTOR_ROWS][CHUNK];
    memset(products, 0, sizeof(vector_products_t));
    for (size_t start = 0; start < inner; start += CHUNK) {
        const size_t count = inner - start < CHUNK ? inner - start : CHUNK;
        for (int r = 0; r < VECTOR_ROWS; r++) {
            for (size_t k = 0; k < count; k++) wide[r][k] = x[r * inner + start + k] - 128;
        }
        for (int column = 0; column < VECTOR_COLUMNS; column += 8) add_eight(wide, w + start * VECTOR_COLUMNS, products, column, count);
    }
}

__attribute__((target("avx512f,avx512vnni"))) void vector_products_vnni(
    const uint8_t *restrict x, const int8_t *restrict w, const int32_t *restrict sums, vector_products_t products, size_t inner) {
    enum { PARTS = VECTOR_COLUMNS / 16 };
    __m512i part[VECTOR_ROWS][PARTS];
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < PARTS; p++) part[r][p] = _mm512_mullo_epi32(_mm512_set1_epi32(-128), _mm512_loadu_si512(sums + 16 * p));
    }
    for (size_t k = 0; k < inner; k += VECTOR_INNER, w += VECTOR_COLUMNS * VECTOR_INNER) {
        __m512i weights[PARTS];
        for (int p = 0; p < PARTS; p++) weights[p] = _mm512_loadu_si512(w + 64 * p);
        for (int r = 0; r < VECTOR_ROWS; r++) {
            int32_t four;
            memcpy(&four, x + r * inner + k, sizeof four);
            for (int p = 0; p < PARTS; p++) part[r][p] = _mm512_dpbusd_epi32(part[r][p], _mm512_set1_epi32(four), weights[p]);
        }
    }
    for (int r = 0; r < VECTOR_ROWS; r++) {
        for (int p = 0; p < PARTS; p++) _mm512_storeu_si512(products[r] + 16 * p, part[r][p]);
    }
}
#endif
