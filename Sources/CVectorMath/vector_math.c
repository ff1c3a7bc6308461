#include "products.h"

#include <math.h>
#include <string.h>

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

void vector_pack(const int8_t *restrict values, int8_t *restrict packed, int32_t *restrict sums, size_t inner, size_t columns) {
    memset(sums, 0, columns * sizeof *sums);
    for (size_t k = 0; k < inner; k++) {
        for (size_t column = 0; column < columns; column++) {
            const int8_t value = values[k * columns + column];
            const size_t group = column / VECTOR_COLUMNS * (inner / VECTOR_INNER) + k / VECTOR_INNER;
            packed[(group * VECTOR_COLUMNS + column % VECTOR_COLUMNS) * VECTOR_INNER + k % VECTOR_INNER] = value;
            sums[column] += value;
        }
    }
}

// Each row as bytes around 128; returns the scale of the row.
static inline __attribute__((always_inline)) float quantise(const float *restrict x, uint8_t *restrict bytes, size_t count) {
    // Partial maxima, because each comparison waits for the one before. A value that is no number never counts.
    enum { PARTS = 32 };
    float part[PARTS] = {0}, highest = 1e-12f;
    size_t i = 0;
    for (; i + PARTS <= count; i += PARTS) {
        for (int j = 0; j < PARTS; j++) part[j] = fabsf(x[i + j]) > part[j] ? fabsf(x[i + j]) : part[j];
    }
    for (; i < count; i++) highest = fabsf(x[i]) > highest ? fabsf(x[i]) : highest;
    for (int j = 0; j < PARTS; j++) highest = part[j] > highest ? part[j] : highest;
    const float factor = 127 / highest;
    for (i = 0; i < count; i++) {
        // 128.5 because the conversion to an integer cuts off. The limits hold for infinite values; no number becomes 1.
        const float value = x[i] * factor + 128.5f;
        bytes[i] = (uint8_t)(int32_t)(value > 1 ? (value < 255 ? value : 255) : 1);
    }
    return highest / 127;
}

WIDEST_VECTORS
void vector_multiply(
    const float *restrict x, const int8_t *restrict w, const int32_t *restrict sums, const float *restrict scales,
    const float *restrict bias, float *restrict scratch, float *restrict y, size_t rows, size_t inner, size_t columns,
    vector_kernel_t kernel) {
    float *row_scales = scratch;
    uint8_t *bytes = (uint8_t *)(scratch + rows);
    for (size_t row = 0; row < rows; row++) row_scales[row] = quantise(x + row * inner, bytes + row * inner, inner);
    vector_kernel_function_t *const multiply = vector_kernel_function(kernel);
    for (size_t column = 0; column < columns; column += VECTOR_COLUMNS, w += VECTOR_COLUMNS * inner) {
        for (size_t row = 0; row < rows; row += VECTOR_ROWS) {
            vector_products_t products;
            multiply(bytes + row * inner, w, sums + column, products, inner);
            for (int r = 0; r < VECTOR_ROWS; r++) {
                float *out = y + (row + r) * columns + column;
                for (int c = 0; c < VECTOR_COLUMNS; c++) {
                    const size_t at = column + c;
                    out[c] = row_scales[row + r] * scales[at] * (float)products[r][c] + bias[at];
                }
            }
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
