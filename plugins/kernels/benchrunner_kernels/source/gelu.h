// GELU, x * Phi(x) with the exact distribution function of the normal distribution (Hendrycks and Gimpel 2016).
#pragma once

#include "lanes.h"
#include "parallel.h"

namespace {

// y = x Phi(x), and the slope Phi(x) + x phi(x), from one exponential function. For x < 0, Phi(x) is e^(-x^2 / 2) times
// t P(t) with t = 1 / (1 + c |x|), the form of Hastings (1955); P was fitted for a relative error of 2e-8.
template <bool LEARNING>
INLINE Floats gelu(Floats x, Floats& slope) {
  const Floats power = exponential(x * x * -0.5f);
  const Floats t = all(1.0f) / ((x < 0 ? -x : x) * 0.261629509f + 1.0f);
  Floats p = all(0.0306227691f);
  p = p * t - 0.149990439f;
  p = p * t + 0.240017995f;
  p = p * t - 0.138755009f;
  p = p * t + 0.152694792f;
  p = p * t + 0.0544211231f;
  p = p * t + 0.102826819f;
  p = p * t + 0.103757627f;
  p = p * t + 0.104404315f;
  const Floats tail = power * t * p;
  const Floats share = x < 0 ? tail : 1.0f - tail;
  if (LEARNING) slope = share + x * power * 0.398942280f;
  return x * share;
}

struct Gelu {
  const float* x;
  float* y;
  float* slope;  // may be null
  int64_t size;

  bool run(int64_t task) const {
    if (slope)
      fill<true>(*this, task * PART);
    else
      fill<false>(*this, task * PART);
    return true;
  }

  template <bool LEARNING>
  INLINE void fill(const Gelu& self, int64_t begin) {
    const int64_t stop = begin + PART < self.size ? begin + PART : self.size;
    for (int64_t at = begin; at < stop; at += W) {
      Floats steep{};
      store_some(self.y + at, gelu<LEARNING>(load_some(self.x + at, stop - at), steep), stop - at);
      if (LEARNING) store_some(self.slope + at, steep, stop - at);
    }
  }
};

}  // namespace
