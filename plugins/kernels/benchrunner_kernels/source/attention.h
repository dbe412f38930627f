// Attention over the sequences of a flat batch, with dropout of the probabilities. The probabilities are not kept: the
// backward pass computes them again from the logarithm of their sums (Dao et al. 2022), and the masks from their keys.
#pragma once

#include <cmath>

#include "lanes.h"
#include "parallel.h"
#include "product.h"

namespace {

constexpr int64_t QUERIES = 48;  // rows of scores that are computed together: a multiple of ROWS
constexpr float HIDDEN = -1e30f;

thread_local Scratch scratch;

// What scores say about distances (He et al. 2021): that of query i and key j is q k + q of_keys[d] + of_queries[d] k,
// with d = j - i + longest - 1. Each table is (2 longest - 1, heads, size), or null.
struct Distances {
  const float *of_keys, *of_queries;
  int64_t longest;
};

// What both passes read. Sequence n is tokens starts[n] to starts[n + 1]; qkv is (tokens, 3, heads, size).
template <class T>
struct Attention {
  const T* qkv;
  const int32_t* starts;
  int64_t sequences, heads, size, before, after;
  double score_scale, rate;
  uint64_t seed;
  Distances distances;

  int64_t stride() const { return 3 * heads * size; }
  float scale() const { return float(score_scale); }
  float kept_scale() const { return float(1 / (1 - rate)); }
  int32_t dropped() const { return int32_t(rate * 2147483648.0); }
  Key key(int64_t token, int64_t head) const { return row_key(seed, uint64_t(token * heads + head)); }

  // The keys of a sequence of `length` tokens that its query sees: from `first` to `end` - 1.
  int64_t first(int64_t query) const { return before < 0 || query < before ? 0 : query - before; }
  int64_t end(int64_t query, int64_t length) const {
    return after < 0 || query + after >= length ? length : query + after + 1;
  }
};

// Copy the column of a head of `count` tokens to rows of floats, scaled; the ends of the rows are 0.
template <class T>
INLINE void copy_rows(const T* from, int64_t stride, int64_t count, int64_t size, float* to, int64_t width,
                      float scale) {
  for (int64_t row = 0; row < count; row++)
    for (int64_t at = 0; at < width; at += W)
      store(to + row * width + at, load_some(from + row * stride + at, size - at) * scale);
}

// Turn rows (count, width) to columns (size, columns), with zeros behind the last.
INLINE void turn(const float* from, int64_t width, int64_t count, int64_t size, float* to, int64_t columns) {
  for (int64_t at = 0; at < size; at++) {
    for (int64_t row = 0; row < count; row++) to[at * columns + row] = from[row * width + at];
    for (int64_t row = count; row < columns; row++) to[at * columns + row] = 0;
  }
}

// Write rows of floats to the column of a head, scaled.
template <class T>
INLINE void write_rows(const float* from, int64_t width, int64_t count, int64_t size, T* to, int64_t stride,
                       float scale) {
  for (int64_t row = 0; row < count; row++)
    for (int64_t at = 0; at < size; at += W)
      store_some(to + row * stride + at, load(from + row * width + at) * scale, size - at);
}

// Which of the keys column .. column + W - 1 are from `first` to `end` - 1.
INLINE Ints seen(int64_t column, int64_t first, int64_t end) {
  Ints number = numbers() + int32_t(column);
  return (number >= int32_t(first)) & (number < int32_t(end));
}

// The terms of distances for a head and a sequence, where distance c is j - i + length - 1. A matrix (row, distance) is
// kept for the distances that a block of rows has: to turn it to (query, key), rows are shifted against each other.
struct Terms {
  Distances distances;
  int64_t heads, size, length, head;
  float scale;
  int64_t width, count, stride;
  float *key_rows{}, *query_rows{};        // (count, width): the tables; that of queries is scaled
  float *key_columns{}, *query_columns{};  // (size, count)
  float* of_block{};                       // (QUERIES, stride): products of a block of queries with the tables of keys
  float* of_all{};                         // (length, stride): products of all keys with the table of queries
  float *of_key_rows{}, *of_query_rows{}, *through_all{};  // gradients

  Terms(const Distances& distances, int64_t heads, int64_t size, int64_t length, int64_t head, float scale)
      : distances(distances), heads(heads), size(size), length(length), head(head), scale(scale), width(up(size)),
        count(up(2 * length + W)), stride(up(length + QUERIES)) {}

  bool any() const { return distances.of_keys || distances.of_queries; }

  int64_t floats(bool learning) const {
    if (!any()) return 0;
    const int64_t forward = 2 * count * (width + size) + (QUERIES + length) * stride;
    return learning ? forward + 2 * count * width + length * stride : forward;
  }

  // Take memory for `floats` numbers, and copy the tables.
  void prepare(float* memory, bool learning) {
    if (!any()) return;
    key_rows = memory;
    query_rows = key_rows + count * width;
    key_columns = query_rows + count * width;
    query_columns = key_columns + size * count;
    of_block = query_columns + size * count;
    of_all = of_block + QUERIES * stride;
    of_key_rows = of_all + length * stride;
    of_query_rows = of_key_rows + count * width;
    through_all = of_query_rows + count * width;
    if (learning) memset(of_key_rows, 0, (2 * count * width + length * stride) * sizeof(float));
    const int64_t step = heads * size, used = 2 * length - 1;
    if (distances.of_keys) {
      copy_rows(distances.of_keys + first_place(), step, used, size, key_rows, width, 1.0f);
      turn(key_rows, width, used, size, key_columns, count);
    }
    if (distances.of_queries) {
      copy_rows(distances.of_queries + first_place(), step, used, size, query_rows, width, scale);
      turn(query_rows, width, used, size, query_columns, count);
    }
  }

  // Multiply keys (length, width) with the table of queries.
  void see_keys(const float* keys) {
    if (!distances.of_queries) return;
    for (int64_t key = 0; key < length; key += QUERIES) {
      const int64_t rows = length - key < QUERIES ? length - key : QUERIES;
      product<false, false>(keys + key * width, width, query_columns + key, count, of_all + key * stride, stride, rows,
                            up(length + rows - 1), size);
    }
  }

  // Add the terms to the scores of `rows` queries from `row` on.
  void add(const float* queries, int64_t row, int64_t rows, float* scores, int64_t columns) const {
    if (distances.of_keys) {
      product<false, false>(queries, width, key_columns + length - row - rows, count, of_block, stride, rows,
                            up(length + rows - 1), size);
      for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < length; at++) scores[r * columns + at] += of_block[r * stride + rows - 1 - r + at];
    }
    if (distances.of_queries)
      for (int64_t r = 0; r < rows; r++)
        for (int64_t key = 0; key < length; key++) scores[r * columns + key] += of_all[place(row + r, key)];
  }

  // Where the distance of a query and a key is in a matrix (length, stride).
  int64_t place(int64_t query, int64_t key) const { return key * stride + key % QUERIES + length - 1 - query; }

  // Add the gradients of `rows` queries from `row` on, and of the table of keys; `through` is that of their scores.
  void differentiate(const float* queries, int64_t row, int64_t rows, const float* through, int64_t columns,
                     float* of_queries) {
    if (distances.of_keys) {
      const int64_t first = length - row - rows, used = length + rows - 1;
      memset(of_block, 0, rows * stride * sizeof(float));
      for (int64_t r = 0; r < rows; r++)
        memcpy(of_block + r * stride + rows - 1 - r, through + r * columns, length * sizeof(float));
      product<false, true>(of_block, stride, key_rows + first * width, width, of_queries, width, rows, width, used);
      product<true, true>(of_block, stride, queries, width, of_key_rows + first * width, width, used, width, rows);
    }
    if (distances.of_queries)
      for (int64_t r = 0; r < rows; r++)
        for (int64_t key = 0; key < length; key++) through_all[place(row + r, key)] = through[r * columns + key];
  }

  // Add the gradients of keys (length, width), and of the tables to those of all sequences.
  void finish(const float* keys, float* of_keys, float* of_key_table, float* of_query_table) {
    if (distances.of_keys) add_table(of_key_rows, 1.0f, of_key_table);
    if (!distances.of_queries) return;
    for (int64_t key = 0; key < length; key += QUERIES) {
      const int64_t rows = length - key < QUERIES ? length - key : QUERIES, used = length + rows - 1;
      const float* through = through_all + key * stride;
      product<false, true>(through, stride, query_rows + key * width, width, of_keys + key * width, width, rows, width,
                           used);
      product<true, true>(through, stride, keys + key * width, width, of_query_rows + key * width, width, used, width,
                          rows);
    }
    add_table(of_query_rows, scale, of_query_table);
  }

  void add_table(const float* rows, float factor, float* table) const {
    for (int64_t row = 0; row < 2 * length - 1; row++) {
      float* to = table + first_place() + row * heads * size;
      for (int64_t at = 0; at < size; at++) to[at] += rows[row * width + at] * factor;
    }
  }

  // Where the row of the first distance is in a table.
  int64_t first_place() const { return ((distances.longest - length) * heads + head) * size; }
};

template <class T>
struct Forward : Attention<T> {
  T* output;        // (tokens, heads, size)
  float* log_sums;  // (tokens, heads)

  bool run(int64_t task) const {
    const int64_t sequence = this->sequences - 1 - task / this->heads, head = task % this->heads;
    const int64_t start = this->starts[sequence], length = this->starts[sequence + 1] - start;
    const int64_t size = this->size, width = up(size), columns = up(length), stride = this->stride();
    Terms terms(this->distances, this->heads, size, length, head, this->scale());
    const int64_t own = size * columns + length * width + QUERIES * (2 * width + columns);
    if (!scratch.reserve(own + terms.floats(false))) return false;
    terms.prepare(scratch.begin() + own, false);
    float* keys = scratch.begin();  // (size, columns)
    float* values = keys + size * columns;  // (length, width)
    float* queries = values + length * width;  // (QUERIES, width)
    float* scores = queries + QUERIES * width;  // (QUERIES, columns)
    float* outputs = scores + QUERIES * columns;  // (QUERIES, width)
    const T* query = this->qkv + start * stride + head * size;
    copy_rows(query + this->heads * size, stride, length, size, values, width, 1.0f);
    turn(values, width, length, size, keys, columns);
    terms.see_keys(values);
    copy_rows(query + 2 * this->heads * size, stride, length, size, values, width, 1.0f);
    for (int64_t row = 0; row < length; row += QUERIES) {
      const int64_t rows = length - row < QUERIES ? length - row : QUERIES;
      const int64_t first = this->first(row) / W * W, end = this->end(row + rows - 1, length);
      copy_rows(query + row * stride, stride, rows, size, queries, width, this->scale());
      product<false, false>(queries, width, keys + first, columns, scores + first, columns, rows, up(end - first),
                            size);
      terms.add(queries, row, rows, scores, columns);
      for (int64_t r = 0; r < rows; r++) softmax(scores + r * columns, start, row + r, length, head, first, end);
      product<false, false>(scores + first, columns, values + first * width, width, outputs, width, rows, width,
                            end - first);
      write_rows(outputs, width, rows, size, output + (start + row) * this->heads * size + head * size,
                 this->heads * size, 1.0f);
    }
    return true;
  }

  // Turn the scores from `begin` to `stop` of one query into probabilities, dropped and scaled.
  INLINE void softmax_body(const Forward& self, float* scores, int64_t start, int64_t query, int64_t length,
                           int64_t head, int64_t begin, int64_t stop) {
    const int64_t first = self.first(query), end = self.end(query, length);
    Floats most = all(HIDDEN);
    for (int64_t at = begin; at < stop; at += W) {
      Floats score = pick(seen(at, first, end), load(scores + at), all(HIDDEN));
      most = score > most ? score : most;
      store(scores + at, score);
    }
    const float top = largest(most);
    Floats total{};
    for (int64_t at = begin; at < stop; at += W) {
      Floats power = exponential(load(scores + at) - top);
      total += power;
      store(scores + at, power);
    }
    const float all_powers = sum(total);
    const int64_t token = start + query;
    self.log_sums[token * self.heads + head] = top + std::log(all_powers);
    const bool dropping = self.rate > 0;
    const Floats factor = all((dropping ? self.kept_scale() : 1.0f) / all_powers);
    const Key key = self.key(token, head);
    const int32_t dropped = self.dropped();
    for (int64_t at = begin; at < stop; at += W) {
      Floats probability = load(scores + at) * factor;
      if (dropping) probability = pick(kept(key, at, dropped), probability, all(0.0f));
      store(scores + at, probability);
    }
  }

  void softmax(float* scores, int64_t start, int64_t query, int64_t length, int64_t head, int64_t begin,
               int64_t stop) const {
    softmax_body(*this, scores, start, query, length, head, begin, stop);
  }
};

template <class T>
struct Backward : Attention<T> {
  const T* output;          // (tokens, heads, size)
  const T* gradient;        // of the output
  const float* log_sums;    // (tokens, heads)
  T* result;                // the gradient of qkv
  float* of_tables[2];      // those of the tables of `distances`, to which each task adds; null without the table

  // The sequences of a head add to the same gradients of tables: they are one task.
  bool run(int64_t task) const {
    if (!of_tables[0] && !of_tables[1]) return run(this->sequences - 1 - task / this->heads, task % this->heads);
    for (int64_t sequence = 0; sequence < this->sequences; sequence++)
      if (!run(sequence, task)) return false;
    return true;
  }

  bool run(int64_t sequence, int64_t head) const {
    const int64_t start = this->starts[sequence], length = this->starts[sequence + 1] - start;
    const int64_t size = this->size, width = up(size), columns = up(length), stride = this->stride();
    Terms terms(this->distances, this->heads, size, length, head, this->scale());
    const int64_t own = 2 * size * columns + 3 * length * width + QUERIES * (3 * width + 2 * columns);
    if (!scratch.reserve(own + terms.floats(true))) return false;
    terms.prepare(scratch.begin() + own, true);
    float* keys = scratch.begin();  // (size, columns)
    float* values = keys + size * columns;  // (size, columns)
    float* key_rows = values + size * columns;  // (length, width)
    float* of_keys = key_rows + length * width;  // (length, width)
    float* of_values = of_keys + length * width;  // (length, width)
    float* queries = of_values + length * width;  // (QUERIES, width)
    float* outer = queries + QUERIES * width;  // (QUERIES, width)
    float* of_queries = outer + QUERIES * width;  // (QUERIES, width)
    float* scores = of_queries + QUERIES * width;  // (QUERIES, columns)
    float* through = scores + QUERIES * columns;  // (QUERIES, columns)
    const int64_t model = this->heads * size;
    const T* query = this->qkv + start * stride + head * size;
    copy_rows(query + 2 * model, stride, length, size, key_rows, width, 1.0f);
    turn(key_rows, width, length, size, values, columns);
    copy_rows(query + model, stride, length, size, key_rows, width, 1.0f);
    turn(key_rows, width, length, size, keys, columns);
    terms.see_keys(key_rows);
    memset(of_keys, 0, 2 * length * width * sizeof(float));
    for (int64_t row = 0; row < length; row += QUERIES) {
      const int64_t rows = length - row < QUERIES ? length - row : QUERIES;
      const int64_t first = this->first(row) / W * W, end = this->end(row + rows - 1, length), seen = end - first;
      const int64_t place = (start + row) * model + head * size;
      copy_rows(query + row * stride, stride, rows, size, queries, width, this->scale());
      copy_rows(gradient + place, model, rows, size, outer, width, 1.0f);
      product<false, false>(queries, width, keys + first, columns, scores + first, columns, rows, up(seen), size);
      terms.add(queries, row, rows, scores, columns);
      product<false, false>(outer, width, values + first, columns, through + first, columns, rows, up(seen), size);
      for (int64_t r = 0; r < rows; r++) {
        Floats total{};
        for (int64_t at = 0; at < size; at += W)
          total += load(outer + r * width + at) * load_some(output + place + r * model + at, size - at);
        differentiate(*this, scores + r * columns, through + r * columns, sum(total), start, row + r, length, head,
                      first, end);
      }
      product<true, true>(scores + first, columns, outer, width, of_values + first * width, width, seen, width, rows);
      product<true, true>(through + first, columns, queries, width, of_keys + first * width, width, seen, width, rows);
      product<false, false>(through + first, columns, key_rows + first * width, width, of_queries, width, rows, width,
                            seen);
      terms.differentiate(queries, row, rows, through, columns, of_queries);
      write_rows(of_queries, width, rows, size, result + (start + row) * stride + head * size, stride, this->scale());
    }
    terms.finish(key_rows, of_keys, of_tables[0], of_tables[1]);
    T* of_key = result + start * stride + model + head * size;
    write_rows(of_keys, width, length, size, of_key, stride, 1.0f);
    write_rows(of_values, width, length, size, of_key + model, stride, 1.0f);
    return true;
  }

  // Turn the scores of one query into probabilities, dropped and scaled, and `through`, the gradient of these, into
  // that of the scores. `total` is the sum of the query's output times its gradient.
  INLINE void differentiate(const Backward& self, float* scores, float* through, float total, int64_t start,
                            int64_t query, int64_t length, int64_t head, int64_t begin, int64_t stop) {
    const int64_t first = self.first(query), end = self.end(query, length), token = start + query;
    const float log_sum = self.log_sums[token * self.heads + head];
    const bool dropping = self.rate > 0;
    const Floats scale = all(dropping ? self.kept_scale() : 1.0f);
    const Key key = self.key(token, head);
    const int32_t dropped = self.dropped();
    for (int64_t at = begin; at < stop; at += W) {
      Floats probability = exponential(load(scores + at) - log_sum);
      probability = pick(seen(at, first, end), probability, all(0.0f));
      Floats factor = dropping ? pick(kept(key, at, dropped), scale, all(0.0f)) : scale;
      store(scores + at, probability * factor);
      store(through + at, probability * (load(through + at) * factor - total));
    }
  }
};

}  // namespace
