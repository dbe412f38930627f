// The kernels as C functions over pointers. This file is compiled once for each level of vector units. The level and the
// type end the names of its functions, such as gelu_avx2_float. All functions return 0, or 1 if memory was short.
#include "adam.h"
#include "attention.h"
#include "gelu.h"
#include "norm.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define JOINED(name, level, type) name##_##level##_##type
#define NAMED(name, level, type) JOINED(name, level, type)

#define KERNELS(T, TYPE)                                                                                             \
  EXPORTED int NAMED(attention, LEVEL, TYPE)(                                                                        \
      const T* qkv, const int32_t* starts, int64_t sequences, int64_t heads, int64_t size, int64_t before,           \
      int64_t after, double scale, double rate, uint64_t seed, const float* of_keys, const float* of_queries,        \
      int64_t longest, T* output, float* log_sums, Begin begin, int threads) {                                       \
    Forward<T> problem{{qkv, starts, sequences, heads, size, before, after, scale, rate, seed,                       \
                        {of_keys, of_queries, longest}}, output, log_sums};                                          \
    return run(problem, sequences * heads, starts[sequences] * heads * size, begin, threads);                        \
  }                                                                                                                  \
  EXPORTED int NAMED(attention_backward, LEVEL, TYPE)(                                                               \
      const T* qkv, const int32_t* starts, int64_t sequences, int64_t heads, int64_t size, int64_t before,           \
      int64_t after, double scale, double rate, uint64_t seed, const float* of_keys, const float* of_queries,        \
      int64_t longest, const T* output, const T* gradient, const float* log_sums, T* result, float* of_key_table,    \
      float* of_query_table, Begin begin, int threads) {                                                             \
    Backward<T> problem{{qkv, starts, sequences, heads, size, before, after, scale, rate, seed,                      \
                         {of_keys, of_queries, longest}}, output, gradient, log_sums, result,                        \
                        {of_key_table, of_query_table}};                                                             \
    return run(problem, of_keys || of_queries ? heads : sequences * heads, starts[sequences] * heads * size, begin,  \
               threads);                                                                                             \
  }                                                                                                                  \
  EXPORTED int NAMED(add_and_norm, LEVEL, TYPE)(                                                                     \
      const T* x, const float* residual, const float* weight, const float* bias, float* sums, float* statistics,     \
      float* y, int64_t rows, int64_t width, double rate, double epsilon, uint64_t seed, Begin begin, int threads) { \
    AddAndNorm<T> problem{x, residual, weight, bias, sums, statistics, y, rows, width, rate, epsilon, seed};         \
    return run(problem, (rows + CHUNK - 1) / CHUNK, rows * width, begin, threads);                                   \
  }                                                                                                                  \
  EXPORTED int NAMED(add_and_norm_backward, LEVEL, TYPE)(                                                            \
      const float* gradient, const float* sums, const float* statistics, const float* weight, float* of_residual,    \
      T* of_x, float* parts, int64_t rows, int64_t width, double rate, uint64_t seed, Begin begin, int threads) {    \
    AddAndNormBackward<T> problem{gradient, sums, statistics, weight, of_residual, of_x, parts, rows, width, rate,   \
                                  seed};                                                                             \
    return run(problem, (rows + CHUNK - 1) / CHUNK, rows * width, begin, threads);                                   \
  }                                                                                                                  \
  EXPORTED int NAMED(adamw, LEVEL, TYPE)(                                                                            \
      const T* gradient, float* weight, float* mean, float* square, Brain* copy, int64_t size, double divisor,       \
      double kept, double beta1, double beta2, double rate, double root, double epsilon, Begin begin, int threads) { \
    AdamW<T> problem{gradient, weight, mean, square, copy, size, float(divisor), float(kept), float(1 - beta1),      \
                     float(beta2), float(1 - beta2), float(rate), float(root), float(epsilon)};                      \
    return run(problem, (size + PART - 1) / PART, size, begin, threads);                                             \
  }                                                                                                                  \
  EXPORTED int NAMED(squares, LEVEL, TYPE)(const T* x, int64_t size, float* sums, Begin begin, int threads) {        \
    Squares<T> problem{x, size, sums};                                                                               \
    return run(problem, (size + PART - 1) / PART, size, begin, threads);                                             \
  }

KERNELS(float, float)
KERNELS(Brain, brain)

EXPORTED int NAMED(gelu, LEVEL, float)(const float* x, float* y, float* slope, int64_t size, Begin begin, int threads) {
  Gelu problem{x, y, slope, size};
  return run(problem, (size + PART - 1) / PART, size, begin, threads);
}
