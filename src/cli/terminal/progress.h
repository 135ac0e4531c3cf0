// A progress line on stderr during long work; only on a terminal, at most ten times a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "cli/terminal/io.h"

namespace flopcast::cli {

class Progress {
 public:
  /// What is done and counted: "reading" bytes, "searching" plans, "mapping" points,
  /// "asking" questions.
  enum class Of : std::uint8_t { kBytes, kPlans, kPoints, kQuestions };
  explicit Progress(Io& io, Of what = Of::kBytes) : io_(io), what_(what) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// For ReadOptions::progress; empty where nobody watches. May be called from any thread.
  std::function<void(std::uint64_t, std::uint64_t)> callback();

 private:
  void show(std::uint64_t done, std::uint64_t total);

  Io& io_;
  Of what_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point shown_at_;
  bool shown_ = false;
};

}  // namespace flopcast::cli
