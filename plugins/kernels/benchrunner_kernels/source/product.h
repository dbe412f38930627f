// Products of small matrices of floats: C = A B or C += A B, with tiles of C in registers.
#pragma once

#include "lanes.h"

namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 8;
#else
constexpr int ROWS = 6;  // 12 sums, two vectors of B and a number of A are 15 of 16 registers
#endif

// R rows and N vectors of C. A has its element (row, k) at a[row * lda + k], or at a[k * lda + row] if TURNED.
template <int R, int N, bool TURNED, bool ADD>
INLINE void tile(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t depth) {
  Floats sums[R][N];
  for (int r = 0; r < R; r++)
    for (int n = 0; n < N; n++) sums[r][n] = ADD ? load(c + r * ldc + n * W) : Floats{};
  for (int64_t k = 0; k < depth; k++) {
    Floats row[N];
    for (int n = 0; n < N; n++) row[n] = load(b + k * ldb + n * W);
    for (int r = 0; r < R; r++) {
      Floats x = all(TURNED ? a[k * lda + r] : a[r * lda + k]);
      for (int n = 0; n < N; n++) sums[r][n] += x * row[n];
    }
  }
  for (int r = 0; r < R; r++)
    for (int n = 0; n < N; n++) store(c + r * ldc + n * W, sums[r][n]);
}

template <int R, int N, bool TURNED, bool ADD>
INLINE void last_rows(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t depth,
                      int64_t rows) {
  if constexpr (R > 0) {
    if (rows == R)
      tile<R, N, TURNED, ADD>(a, lda, b, ldb, c, ldc, depth);
    else
      last_rows<R - 1, N, TURNED, ADD>(a, lda, b, ldb, c, ldc, depth, rows);
  }
}

template <int N, bool TURNED, bool ADD>
INLINE void panel(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t rows,
                  int64_t depth) {
  int64_t row = 0;
  for (; row + ROWS <= rows; row += ROWS)
    tile<ROWS, N, TURNED, ADD>(a + (TURNED ? row : row * lda), lda, b, ldb, c + row * ldc, ldc, depth);
  last_rows<ROWS - 1, N, TURNED, ADD>(a + (TURNED ? row : row * lda), lda, b, ldb, c + row * ldc, ldc, depth,
                                      rows - row);
}

// C (rows, columns) = or += A (rows, depth) B (depth, columns); columns is a multiple of W.
template <bool TURNED, bool ADD>
__attribute__((noinline)) void product(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc,
                                       int64_t rows, int64_t columns, int64_t depth) {
  int64_t column = 0;
  for (; column + 2 * W <= columns; column += 2 * W)
    panel<2, TURNED, ADD>(a, lda, b + column, ldb, c + column, ldc, rows, depth);
  if (column < columns) panel<1, TURNED, ADD>(a, lda, b + column, ldb, c + column, ldc, rows, depth);
}

}  // namespace
