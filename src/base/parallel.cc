#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "flopcast/base.h"

namespace flopcast {
namespace {

// Hands out indices until there are none left or a body has thrown; keeps the first exception,
// which must not leave a thread.
class Shares {
 public:
  Shares(std::size_t n, const std::function<void(std::size_t)>& body) : n_(n), body_(body) {}

  void work() {
    try {
      for (std::size_t i = next_++; i < n_; i = next_++) body_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = n_;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::size_t n_;
  const std::function<void(std::size_t)>& body_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void parallel_for(std::size_t n, unsigned threads, const std::function<void(std::size_t)>& body) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t helpers = std::min<std::size_t>(threads, n);
  if (helpers <= 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  Shares shares(n, body);
  {
    std::vector<std::jthread> pool;
    pool.reserve(helpers - 1);
    for (std::size_t t = 1; t < helpers; ++t) pool.emplace_back([&shares] { shares.work(); });
    shares.work();
  }
  shares.rethrow();
}

}  // namespace flopcast
