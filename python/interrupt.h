// Long work: on a thread of its own with the interpreter released, so that other Python threads go on
// and Ctrl-C ends the wait.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace flopcast {

/// Set by Ctrl-C: work that can stop early looks at it.
using Stop = std::atomic<bool>;

/// Counts a piece of work that goes on in the background, from any thread.
class Background {
 public:
  Background();
  Background(Background&& other) noexcept : counted_(std::exchange(other.counted_, false)) {}
  Background& operator=(Background&&) = delete;
  ~Background();

 private:
  bool counted_ = true;
};

/// Waits until `ready` says so after a slice of time; without the interpreter but for `each_slice`,
/// which is called now and then and may raise. Ctrl-C, or any exception: sets `stop`, waits a moment
/// for the work to end, and raises. @pre the caller holds the interpreter
void await(const std::function<bool(std::chrono::milliseconds)>& ready, Stop& stop,
           const std::function<void()>& each_slice = {});

/// The answer of `work(stop)`. Where Ctrl-C ends the wait, the work may go on in the background: it
/// must own all that it reads (values, shared pointers), and nothing of Python's.
template <typename Work>
auto interruptible(Work work, const std::function<void()>& each_slice = {}) {
  const auto stop = std::make_shared<Stop>(false);
  std::packaged_task task([work = std::move(work), stop]() mutable { return work(*stop); });
  auto answer = task.get_future();
  std::thread([counted = Background(), task = std::move(task)]() mutable { task(); }).detach();
  await([&](auto slice) { return answer.wait_for(slice) == std::future_status::ready; }, *stop,
        each_slice);
  return answer.get();
}

}  // namespace flopcast
