// AdamW (Loshchilov and Hutter 2019) over one weight, and the squares that gradients are clipped by. The weight has a
// copy in bf16, which is written in the same pass; its gradient is in fp32 or in bf16.
#pragma once

#include <cmath>

#include "lanes.h"
#include "parallel.h"

namespace {

template <class T>
struct AdamW {
  const T* gradient;
  float *weight, *mean, *square;
  Brain* copy;
  int64_t size;
  float divisor;  // of the gradient
  float kept;  // share of the weight that decay leaves
  float for_mean, of_square, for_square;  // 1 - beta1, beta2 and 1 - beta2, subtracted in double precision
  float rate, root, epsilon;  // the change is rate * mean / (sqrt(square) / root + epsilon)

  bool run(int64_t task) const {
    const int64_t begin = task * PART;
    const int64_t stop = begin + PART < size ? begin + PART : size;
    const Floats inverse = all(1 / divisor), scale = all(1 / root);
    for (int64_t at = begin; at < stop; at += W) {
      const int64_t left = stop - at;
      const Floats slope = load_some(gradient + at, left) * inverse;
      Floats m = load_some(mean + at, left);
      Floats v = load_some(square + at, left);
      m = m + (slope - m) * for_mean;
      v = v * of_square + slope * slope * for_square;
      Floats deviation;
      for (int lane = 0; lane < W; lane++) deviation[lane] = std::sqrt(v[lane]);
      const Floats w = load_some(weight + at, left) * kept - m / (deviation * scale + epsilon) * rate;
      store_some(mean + at, m, left);
      store_some(square + at, v, left);
      store_some(weight + at, w, left);
      store_some(copy + at, w, left);
    }
    return true;
  }
};

template <class T>
struct Squares {
  const T* x;
  int64_t size;
  float* sums;  // one for each part

  bool run(int64_t task) const {
    const int64_t stop = (task + 1) * PART < size ? (task + 1) * PART : size;
    Floats total{};
    for (int64_t at = task * PART; at < stop; at += W) {
      const Floats some = load_some(x + at, stop - at);
      total += some * some;
    }
    sums[task] = sum(total);
    return true;
  }
};

}  // namespace
