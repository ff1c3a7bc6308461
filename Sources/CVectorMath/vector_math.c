#include "products.h"

#include <math.h>
#include <string.h>

static const float NORM_EPSILON = 1e-12f;

// e to the x for x <= 0, to a relative error of 1e-6: two to the whole part by the exponent's bits, times a polynomial of the rest. Where x is no
// number, nearly 0.
static inline __attribute__((always_inline)) float exponential(float x) {
    const float power = (x > -80 ? x : -80) * 1.44269504f;
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
void vector_pack(const void *restrict values, int8_t *restrict packed, int32_t *restrict sums, size_t inner, size_t columns) {
    memset(sums, 0, columns * sizeof *sums);
    for (size_t first = 0; first < columns; first += VECTOR_COLUMNS) {
        for (size_t k = 0; k < inner; k += VECTOR_INNER) {
            const int8_t *const rows = (const int8_t *)values + k * columns + first;
            for (size_t column = 0; column < VECTOR_COLUMNS; column++) {
                for (size_t row = 0; row < VECTOR_INNER; row++) packed[column * VECTOR_INNER + row] = rows[row * columns + column];
            }
            // A loop of its own: together the compiler vectorises neither.
            for (size_t column = 0; column < VECTOR_COLUMNS; column++) {
                for (size_t row = 0; row < VECTOR_INNER; row++) sums[first + column] += rows[row * columns + column];
            }
            packed += VECTOR_COLUMNS * VECTOR_INNER;
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

// Parts of a sum, because C keeps the order of additions, and with one sum each waits for the one before.
enum { LANES = 16 };

static inline __attribute__((always_inline)) float total(const float *restrict parts) {
    float sum = 0;
    for (int j = 0; j < LANES; j++) sum += parts[j];
    return sum;
}

static inline __attribute__((always_inline)) float largest(const float *restrict parts) {
    float value = parts[0];
    for (int j = 1; j < LANES; j++) value = parts[j] > value ? parts[j] : value;
    return value;
}

WIDEST_VECTORS
void vector_normalise(
    float *restrict x, const float *restrict added, const float *restrict weight, const float *restrict bias, size_t rows,
    size_t width) {
    for (size_t row = 0; row < rows; row++, x += width, added += width) {
        float sums[LANES] = {0}, squares[LANES] = {0};
        for (size_t i = 0; i < width; i += LANES) {
            for (int j = 0; j < LANES; j++) {
                x[i + j] += added[i + j];
                sums[j] += x[i + j];
            }
        }
        const float mean = total(sums) / (float)width;
        for (size_t i = 0; i < width; i += LANES) {
            for (int j = 0; j < LANES; j++) squares[j] += (x[i + j] - mean) * (x[i + j] - mean);
        }
        const float scale = 1 / sqrtf(total(squares) / (float)width + NORM_EPSILON);
        for (size_t i = 0; i < width; i++) x[i] = (x[i] - mean) * scale * weight[i] + bias[i];
    }
}

static const uint64_t FNV_START = 0xCBF29CE484222325, FNV_PRIME = 0x100000001B3;

static uint64_t checksum(uint64_t hash, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

uint64_t vector_checksum(const uint8_t *bytes, size_t count) { return checksum(FNV_START, bytes, count); }

uint64_t vector_word_checksum(const uint8_t *bytes, size_t count) {
    uint64_t hash = FNV_START, word;
    const uint8_t *const end = bytes + count / sizeof word * sizeof word;
    for (; bytes < end; bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * FNV_PRIME;
    }
    return checksum(hash, bytes, count % sizeof word);
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

// The part of each token in the results of `VECTOR_ROWS` tokens, not yet divided by their sum, which goes to `sums`. keys: one below the other, value
// after value, `padded` of each; queries: a row every `stride` values; bias: NULL, or the relative position bias, of which the value
// at (other - r) is that of row r for the token `other`.
static inline __attribute__((always_inline)) void attention_shares(
    const float *restrict queries, const float *restrict keys, const float *bias, float *restrict shares, float *restrict sums,
    size_t stride, size_t size, size_t tokens, size_t padded) {
    for (size_t other = 0; other < padded; other += LANES) {
        float products[VECTOR_ROWS][LANES] = {{0}};
        for (int r = 0; r < VECTOR_ROWS && bias; r++) memcpy(products[r], bias + other - r, sizeof products[r]);
        for (size_t i = 0; i < size; i++) {
            for (int r = 0; r < VECTOR_ROWS; r++) {
                const float query = queries[(size_t)r * stride + i];
                for (int j = 0; j < LANES; j++) products[r][j] += query * keys[i * padded + other + j];
            }
        }
        for (int r = 0; r < VECTOR_ROWS; r++) memcpy(shares + (size_t)r * padded + other, products[r], sizeof products[r]);
    }
    for (int r = 0; r < VECTOR_ROWS; r++, shares += padded) {
        for (size_t other = tokens; other < padded; other++) shares[other] = -INFINITY;
        float parts[LANES];
        memcpy(parts, shares, sizeof parts);
        for (size_t other = LANES; other < padded; other += LANES) {
            for (int j = 0; j < LANES; j++) parts[j] = shares[other + j] > parts[j] ? shares[other + j] : parts[j];
        }
        const float highest = largest(parts);
        memset(parts, 0, sizeof parts);
        for (size_t other = 0; other < padded; other += LANES) {
            for (int j = 0; j < LANES; j++) {
                shares[other + j] = exponential(shares[other + j] - highest);
                parts[j] += shares[other + j];
            }
        }
        sums[r] = total(parts);
    }
}

static inline size_t padded_to_lanes(size_t count) { return (count + LANES - 1) / LANES * LANES; }

size_t vector_attend_scratch(size_t tokens, size_t heads, size_t width) {
    const size_t size = width / heads;
    return (size + VECTOR_ROWS) * padded_to_lanes(tokens) + tokens * padded_to_lanes(size);
}

size_t vector_attend_distance(size_t tokens) { return padded_to_lanes(tokens); }

WIDEST_VECTORS
void vector_attend(
    const float *restrict qkv, const float *bias, size_t distance, float *restrict scratch, float *restrict out, size_t tokens,
    size_t heads, size_t width) {
    const size_t size = width / heads, stride = 3 * width;
    const size_t padded = padded_to_lanes(tokens), padded_size = padded_to_lanes(size);
    const float scale = 1 / sqrtf((float)size);
    // Those of one head, in an order in which `LANES` of them are read at once.
    float *keys = scratch, *values = keys + size * padded, *shares = values + tokens * padded_size;
    memset(keys, 0, (size * padded + tokens * padded_size) * sizeof *keys);
    for (size_t head = 0; head < heads; head++, qkv += size, out += size) {
        for (size_t token = 0; token < tokens; token++) {
            const float *key = qkv + token * stride + width, *value = key + width;
            for (size_t i = 0; i < size; i++) keys[i * padded + token] = scale * key[i];
            memcpy(values + token * padded_size, value, size * sizeof *values);
        }
        for (size_t token = 0; token < tokens; token += VECTOR_ROWS) {
            float sums[VECTOR_ROWS];
            // Read from -(token + VECTOR_ROWS - 1) to (padded - 1): both are within `distance`, which is at least `padded`.
            const float *own = bias ? bias + head * 2 * distance + distance - token : NULL;
            attention_shares(qkv + token * stride, keys, own, shares, sums, stride, size, tokens, padded);
            for (size_t i = 0; i < size; i += LANES) {
                float results[VECTOR_ROWS][LANES] = {{0}};
                for (size_t other = 0; other < tokens; other++) {
                    for (int r = 0; r < VECTOR_ROWS; r++) {
                        const float share = shares[(size_t)r * padded + other];
                        for (int j = 0; j < LANES; j++) results[r][j] += share * values[other * padded_size + i + j];
                    }
                }
                const size_t count = size - i < LANES ? size - i : LANES;
                for (size_t r = 0; r < VECTOR_ROWS && token + r < tokens; r++) {
                    for (size_t j = 0; j < count; j++) out[(token + r) * width + i + j] = results[r][j] / sums[r];
                }
            }
        }
    }
}
