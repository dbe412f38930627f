// LayerNorm of a sum, y = norm(residual + dropout(x)), in one pass over each row.
#pragma once

#include <cmath>

#include "lanes.h"
#include "parallel.h"

namespace {

template <class T>
struct AddAndNorm {
  const T* x;             // (rows, width)
  const float* residual;  // (rows, width)
  const float *weight, *bias;
  float* sums;        // (rows, width): residual + dropout(x)
  float* statistics;  // (rows, 2): mean and 1 / deviation
  float* y;           // (rows, width)
  int64_t rows, width;
  double rate, epsilon;
  uint64_t seed;

  bool run(int64_t chunk) const {
    const int64_t stop = (chunk + 1) * CHUNK < rows ? (chunk + 1) * CHUNK : rows;
    const bool dropping = rate > 0;
    const int32_t dropped = int32_t(rate * 2147483648.0);
    const Floats scale = all(float(1 / (1 - rate)));
    for (int64_t row = chunk * CHUNK; row < stop; row++) {
      const int64_t place = row * width;
      const Key key = row_key(seed, uint64_t(row));
      Floats total{};
      for (int64_t at = 0; at < width; at += W) {
        const int64_t left = width - at;
        Floats added = load_some(x + place + at, left);
        if (dropping) added = pick(kept(key, at, dropped), added * scale, all(0.0f));
        Floats state = load_some(residual + place + at, left) + added;
        store_some(sums + place + at, state, left);
        total += state;
      }
      const float mean = sum(total) / width;
      Floats squares{};
      for (int64_t at = 0; at < width; at += W) {
        const int64_t left = width - at;
        Floats distance = load_some(sums + place + at, left) - mean;
        if (left < W) distance = pick(numbers() < int32_t(left), distance, all(0.0f));
        squares += distance * distance;
      }
      const float inverse = 1 / std::sqrt(sum(squares) / width + float(epsilon));
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
      for (int64_t at = 0; at < width; at += W) {
        const int64_t left = width - at;
        Floats normal = (load_some(sums + place + at, left) - mean) * inverse;
        store_some(y + place + at, normal * load_some(weight + at, left) + load_some(bias + at, left), left);
      }
    }
    return true;
  }
};

template <class T>
struct AddAndNormBackward {
  const float* gradient;  // of y
  const float* sums;
  const float* statistics;
  const float* weight;
  float* of_residual;
  T* of_x;
  float* parts;  // (chunks, 2, width): the parts of the gradients of weight and bias
  int64_t rows, width;
  double rate;
  uint64_t seed;

  bool run(int64_t chunk) const {
    const int64_t stop = (chunk + 1) * CHUNK < rows ? (chunk + 1) * CHUNK : rows;
    const bool dropping = rate > 0;
    const int32_t dropped = int32_t(rate * 2147483648.0);
    const Floats scale = all(float(1 / (1 - rate)));
    float* of_weight = parts + chunk * 2 * width;
    float* of_bias = of_weight + width;
    memset(of_weight, 0, 2 * width * sizeof(float));
    for (int64_t row = chunk * CHUNK; row < stop; row++) {
      const int64_t place = row * width;
      const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
      const Key key = row_key(seed, uint64_t(row));
      Floats total{}, along{};
      for (int64_t at = 0; at < width; at += W) {
        const int64_t left = width - at;
        Floats outer = load_some(gradient + place + at, left);
        Floats normal = (load_some(sums + place + at, left) - mean) * inverse;
        store_some(of_weight + at, load_some(of_weight + at, left) + outer * normal, left);
        store_some(of_bias + at, load_some(of_bias + at, left) + outer, left);
        Floats weighted = outer * load_some(weight + at, left);
        total += weighted;
        along += weighted * normal;
      }
      const float mean_total = sum(total) / width, mean_along = sum(along) / width;
      for (int64_t at = 0; at < width; at += W) {
        const int64_t left = width - at;
        Floats normal = (load_some(sums + place + at, left) - mean) * inverse;
        Floats weighted = load_some(gradient + place + at, left) * load_some(weight + at, left);
        Floats inner = (weighted - mean_total - normal * mean_along) * inverse;
        store_some(of_residual + place + at, inner, left);
        if (dropping) inner = pick(kept(key, at, dropped), inner * scale, all(0.0f));
        store_some(of_x + place + at, inner, left);
      }
    }
    return true;
  }
};

}  // namespace
