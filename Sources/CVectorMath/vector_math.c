#include "vector_math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// One copy of a function for each kind of processor; the loader chooses.
#if defined(__x86_64__) && defined(__linux__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define WIDEST_VECTORS
#endif

static const float NORM_EPSILON = 1e-12f;

// e to the x for x <= 0, to a relative error of 1e-6: two to the whole part by the exponent's bits, times a polynomial of the rest.
static inline __attribute__((always_inline)) float exponential(float x) {
    const float power = (x < -80 ? -80 : x) * 1.44269504f;
    const float whole = (float)(int32_t)(power - 0.5f);
    const float rest = (power - whole) * 0.69314718f;
    const float series =
        1 + rest * (1 + rest * (1 / 2.0f + rest * (1 / 6.0f + rest * (1 / 24.0f + rest * (1 / 120.0f + rest / 720)))));
    const uint32_t bits = (uint32_t)((int32_t)whole + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return series * scale;
}

WIDEST_VECTORS
void vector_multiply(
    const float *restrict x, const float *restrict w, const float *restrict bias, float *restrict y, size_t rows, size_t inner,
    size_t columns) {
    for (size_t column = 0; column < columns; column += VECTOR_COLUMNS) {
        for (size_t row = 0; row < rows; row += VECTOR_ROWS) {
            float sum[VECTOR_ROWS][VECTOR_COLUMNS];
            for (int r = 0; r < VECTOR_ROWS; r++) {
                for (int c = 0; c < VECTOR_COLUMNS; c++) sum[r][c] = bias[column + c];
            }
            for (size_t k = 0; k < inner; k++) {
                const float *weights = w + k * columns + column;
                for (int r = 0; r < VECTOR_ROWS; r++) {
                    const float factor = x[(row + r) * inner + k];
                    for (int c = 0; c < VECTOR_COLUMNS; c++) sum[r][c] += factor * weights[c];
                }
            }
            for (int r = 0; r < VECTOR_ROWS; r++) memcpy(y + (row + r) * columns + column, sum[r], sizeof sum[r]);
        }
    }
}

void vector_normalise(
    float *restrict x, const float *restrict added, const float *restrict weight, const float *restrict bias, size_t rows,
    size_t width) {
    for (size_t row = 0; row < rows; row++) {
        float *values = x + row * width;
        float mean = 0, variance = 0;
        for (size_t i = 0; i < width; i++) {
            values[i] += added[row * width + i];
            mean += values[i];
        }
        mean /= (float)width;
        for (size_t i = 0; i < width; i++) variance += (values[i] - mean) * (values[i] - mean);
        const float scale = 1 / sqrtf(variance / (float)width + NORM_EPSILON);
        for (size_t i = 0; i < width; i++) values[i] = (values[i] - mean) * scale * weight[i] + bias[i];
    }
}

void vector_expand(
    const int8_t *restrict values, const float *restrict scales, float *restrict weights, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < columns; i++) weights[row * columns + i] = scales[i] * (float)values[row * columns + i];
    }
}

uint64_t vector_checksum(const uint8_t *bytes, size_t count) {
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 0x100000001B3;
    return hash;
}

// Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26.
WIDEST_VECTORS
void vector_gelu(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const float z = fabsf(x[i]) * 0.70710678f;
        const float t = 1 / (1 + 0.3275911f * z);
        const float sum = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
        const float erf = 1 - sum * exponential(-z * z);
        x[i] *= 0.5f * (1 + copysignf(erf, x[i]));
    }
}

// Partial sums, because C keeps the order of additions, and with one sum no two are done at once.
static inline __attribute__((always_inline)) float product(const float *restrict x, const float *restrict y, size_t count) {
    float part[16] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        for (int j = 0; j < 16; j++) part[j] += x[i + j] * y[i + j];
    }
    for (; i < count; i++) sum += x[i] * y[i];
    for (int j = 0; j < 16; j++) sum += part[j];
    return sum;
}

WIDEST_VECTORS
void vector_attend(
    const float *restrict qkv, float *restrict scores, float *restrict out, size_t tokens, size_t heads, size_t width) {
    const size_t size = width / heads;
    const float scale = 1 / sqrtf((float)size);
    memset(out, 0, tokens * width * sizeof *out);
    for (size_t head = 0; head < heads; head++) {
        for (size_t token = 0; token < tokens; token++) {
            const float *query = qkv + token * 3 * width + head * size;
            float highest = -INFINITY, total = 0;
            for (size_t other = 0; other < tokens; other++) {
                const float *key = qkv + other * 3 * width + width + head * size;
                scores[other] = scale * product(query, key, size);
                highest = fmaxf(highest, scores[other]);
            }
            for (size_t other = 0; other < tokens; other++) {
                scores[other] = exponential(scores[other] - highest);
                total += scores[other];
            }
            float *result = out + token * width + head * size;
            for (size_t other = 0; other < tokens; other++) {
                const float *value = qkv + other * 3 * width + 2 * width + head * size;
                const float share = scores[other] / total;
                for (size_t i = 0; i < size; i++) result[i] += share * value[i];
            }
        }
    }
}
