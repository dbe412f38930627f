// Tasks of equal right in the threads of torch's own OpenMP, so that a process has no second pool of threads. Each task
// writes to places of its own: results do not depend on the number of threads, nor on who takes which task.
#pragma once

#include <cstdint>

namespace {
constexpr int64_t SMALL = 1 << 15;  // fewer numbers are left to one thread: waking others takes longer
constexpr int64_t CHUNK = 32;  // rows of a task; gradients of vectors are added up chunk by chunk
constexpr int64_t PART = 1 << 14;  // numbers of a task whose arrays have no rows: they fit into a core's cache
}

extern "C" typedef void (*Begin)(void (*work)(void*), void* argument, unsigned threads, unsigned flags);

namespace {

template <class Problem>
struct Shared {
  const Problem* problem;
  int64_t tasks;
  int64_t next;
  int failed;
};

template <class Problem>
void work(void* argument) {
  auto* shared = static_cast<Shared<Problem>*>(argument);
  for (;;) {
    int64_t task = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
    if (task >= shared->tasks) return;
    if (!shared->problem->run(task)) __atomic_store_n(&shared->failed, 1, __ATOMIC_RELAXED);
  }
}

// Run all tasks of a problem that reads so many numbers; 0, or 1 if memory was short. `begin` is GOMP_parallel of torch's
// OpenMP, or null.
template <class Problem>
int run(const Problem& problem, int64_t tasks, int64_t numbers, Begin begin, int threads) {
  Shared<Problem> shared{&problem, tasks, 0, 0};
  if (begin && threads > 1 && tasks > 1 && numbers > SMALL)
    begin(&work<Problem>, &shared, threads < tasks ? threads : unsigned(tasks), 0);
  else
    work<Problem>(&shared);
  return shared.failed;
}

}  // namespace
