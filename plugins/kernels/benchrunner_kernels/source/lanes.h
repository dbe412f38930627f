// Vectors of W floats, in GNU's vector extensions: the compiler keeps them in registers of the level that it compiles
// for. Also what is computed in them: bf16, the exponential function, sums, and the dropout masks.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX2__)
#define BYTES 32
#else
#define BYTES 16
#endif

namespace {

constexpr int W = BYTES / 4;
typedef float Floats __attribute__((vector_size(BYTES)));
typedef int32_t Ints __attribute__((vector_size(BYTES)));
typedef uint32_t Words __attribute__((vector_size(BYTES)));
typedef uint16_t Halves __attribute__((vector_size(BYTES / 2)));

#define INLINE static inline __attribute__((always_inline))

INLINE Floats all(float x) { return x - Floats{}; }  // compilers leave out - 0, but not + 0, which changes -0
INLINE Words all_words(uint32_t x) { return x - Words{}; }
INLINE Floats pick(Ints condition, Floats yes, Floats no) { return condition ? yes : no; }

INLINE Ints numbers() {
  Ints result;
  for (int lane = 0; lane < W; lane++) result[lane] = lane;
  return result;
}

template <class To, class From>
INLINE To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits are kept");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// A brain float: the upper half of a float.
struct Brain {
  uint16_t half;
};

INLINE float value(float x) { return x; }
INLINE float value(Brain x) { return bits<float>(uint32_t(x.half) << 16); }

// Round to the nearest brain float, to an even one of two; every NaN becomes the same NaN, as in torch.
INLINE uint16_t rounded(float x) {
  uint32_t word = bits<uint32_t>(x);
  return x != x ? 0x7fc0 : uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

INLINE void set(float* to, float x) { *to = x; }
INLINE void set(Brain* to, float x) { to->half = rounded(x); }

INLINE Floats load(const float* from) {
  Floats x;
  memcpy(&x, from, sizeof x);
  return x;
}

INLINE Floats load(const Brain* from) {
  Halves halves;
  memcpy(&halves, from, sizeof halves);
  return bits<Floats>(__builtin_convertvector(halves, Words) << 16);
}

INLINE void store(float* to, Floats x) { memcpy(to, &x, sizeof x); }

INLINE void store(Brain* to, Floats x) {
  Words word = bits<Words>(x);
  Words nearest = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
  Words result = x != x ? all_words(0x7fc0) : nearest;
  Halves halves = __builtin_convertvector(result, Halves);
  memcpy(to, &halves, sizeof halves);
}

// Load or store the first `count` lanes, at most W; the others are 0.
template <class T>
INLINE Floats load_some(const T* from, int64_t count) {
  if (count >= W) return load(from);
  Floats x{};
  for (int64_t lane = 0; lane < count; lane++) x[lane] = value(from[lane]);
  return x;
}

template <class T>
INLINE void store_some(T* to, Floats x, int64_t count) {
  if (count >= W) return store(to, x);
  for (int64_t lane = 0; lane < count; lane++) set(to + lane, x[lane]);
}

INLINE float sum(Floats x) {
  float total = 0;
  for (int lane = 0; lane < W; lane++) total += x[lane];
  return total;
}

INLINE float largest(Floats x) {
  float most = x[0];
  for (int lane = 1; lane < W; lane++) most = x[lane] > most ? x[lane] : most;
  return most;
}

// e^x for x up to 88, within two units in the last place; 0 below -87, where results would be denormal. NaN stays NaN.
// Cephes' method: 2^n times a polynomial on [-log(2) / 2, log(2) / 2].
INLINE Floats exponential(Floats x) {
  const Floats magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  Ints vanishes = x < all(-87.0f);
  Floats inside = pick(vanishes, all(-87.0f), x);
  Floats shifted = inside * 1.44269504f + magic;
  Floats n = shifted - magic;
  Floats r = inside - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Floats p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  Ints power = (bits<Ints>(shifted) - bits<Ints>(magic)) << 23;
  return pick(vanishes, all(0.0f), bits<Floats>(bits<Ints>(p) + power));
}

// The key of a row of random numbers: two words made of a seed and the number of the row by SplitMix64 (Steele et al.
// 2014).
struct Key {
  uint32_t first, second;
};

INLINE Key row_key(uint64_t seed, uint64_t row) {
  uint64_t x = seed + (row + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x = x ^ (x >> 31);
  return {uint32_t(x), uint32_t(x >> 32)};
}

// Which of the elements column .. column + W - 1 of a row are kept: a hash of key and column is compared with the share
// to drop, in units of 2^-31. The hash is lowbias32 by Wellons, with the second word of the key between its rounds.
INLINE Ints kept(Key key, int64_t column, int32_t dropped) {
  Words x = bits<Words>(numbers() + int32_t(column)) * 0x9e3779b9u + key.first;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x += key.second;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return bits<Ints>(x >> 1) >= dropped;
}

// Memory of a thread for the arrays of one task. It grows to the largest task, and stays with the thread.
struct Scratch {
  char* memory = nullptr;
  size_t size = 0;
  ~Scratch() { __builtin_free(memory); }
  bool reserve(size_t floats) {
    size_t wanted = floats * sizeof(float) + 64;
    if (wanted <= size) return true;
    __builtin_free(memory);
    memory = static_cast<char*>(__builtin_malloc(wanted));
    size = memory ? wanted : 0;
    return memory != nullptr;
  }
  float* begin() const { return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory) + 63) & ~uintptr_t(63)); }
};

INLINE int64_t up(int64_t count) { return (count + W - 1) / W * W; }

}  // namespace
