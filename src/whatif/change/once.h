// What is found of a recording once, and shared by all questions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace flopcast::whatif {

/// Made when first asked for; any thread may ask. T may be incomplete where nobody does.
template <typename T>
class Once {
 public:
  /// @param make the same each time
  template <typename Make>
  const T& of(Make&& make) {
    std::call_once(once_, [&] {
      ++times_;
      made_ = std::make_shared<const T>(make());
    });
    return *made_;
  }
  int times() const { return times_; }  ///< how often it was made: once, or never

 private:
  std::once_flag once_;
  std::shared_ptr<const T> made_;
  std::atomic<int> times_ = 0;
};

}  // namespace flopcast::whatif
