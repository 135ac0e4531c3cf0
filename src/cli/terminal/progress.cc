#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/format.h"

namespace flopcast::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr const char* kEraseLine = "\r\033[K";

const char* doing(Progress::Of what) {
  static constexpr std::array<const char*, 4> kWords = {"reading", "searching", "mapping",
                                                        "asking"};
  return kWords[static_cast<std::size_t>(what)];
}

/// What is counted; bytes are not.
const char* noun_of(Progress::Of what) {
  static constexpr std::array<const char*, 4> kNouns = {"byte", "plan", "point", "question"};
  return kNouns[static_cast<std::size_t>(what)];
}

}  // namespace

Progress::Progress(Io& io, Of what) : Progress(io, what, {}) {}

Progress::Progress(Io& io, Of what, const Pace& pace)
    : io_(io), what_(what), pace_(pace), shown_at_(Clock::now()) {}

std::function<void(std::uint64_t, std::uint64_t)> Progress::callback() {
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

bool Progress::due(Clock::time_point now) const {
  if (!io_.terminal) return now - shown_at_ >= pace_.lines;
  return now - shown_at_ >= (shown_ ? pace_.renewed : pace_.first);
}

void Progress::tell(const std::function<std::string()>& words) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (!due(now)) return;
  shown_at_ = now;
  shown_ = true;
  io_.err << (io_.terminal ? kEraseLine : "") << words() << (io_.terminal ? "" : "\n")
          << std::flush;
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  if (total == 0) return;
  tell([&] {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto full = static_cast<std::size_t>(part * kBarWidth);
    const std::string whole = what_ == Of::kBytes ? short_bytes(static_cast<std::int64_t>(total))
                                                  : counted(total, noun_of(what_));
    return fmt::format("{} [{:<{}}] {:3.0f} % of {}", doing(what_), std::string(full, '#'),
                       kBarWidth, part * 100, whole);
  });
}

Progress::~Progress() {
  if (shown_ && io_.terminal) io_.err << kEraseLine << std::flush;
}

}  // namespace flopcast::cli
