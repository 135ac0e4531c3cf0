// What long work has done, on stderr: on a terminal one line, renewed at most ten times a second; else a line every ten
// seconds. Work of less than a second shows nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "cli/terminal/io.h"

namespace flopcast::cli {

class Progress {
 public:
  /// What is done and counted: "reading" bytes, "searching" plans, "mapping" points,
  /// "asking" questions.
  enum class Of : std::uint8_t { kBytes, kPlans, kPoints, kQuestions };
  /// When something is shown.
  struct Pace {
    std::chrono::milliseconds first{1000}, renewed{100};  ///< on a terminal
    std::chrono::milliseconds lines{10'000};              ///< elsewhere, from one to the next
  };
  explicit Progress(Io& io, Of what = Of::kBytes);
  Progress(Io& io, Of what, const Pace& pace);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// For ReadOptions::progress. May be called from any thread.
  std::function<void(std::uint64_t, std::uint64_t)> callback();
  /// Shows this, where it is time to. For work whose end nobody knows.
  void tell(const std::function<std::string()>& words);

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::uint64_t done, std::uint64_t total);
  bool due(Clock::time_point now) const;

  Io& io_;
  Of what_;
  Pace pace_;
  std::mutex mutex_;
  Clock::time_point shown_at_;  ///< or begun
  bool shown_ = false;
};

}  // namespace flopcast::cli
