#include "cli/plan_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace flopcast::cli {

namespace fs = std::filesystem;

PlanLines::PlanLines(PlanLines&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      held_(std::move(other.held_)),
      places_(std::move(other.places_)) {}

PlanLines::~PlanLines() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Diagnostic PlanLines::complaint(const char* doing) const {
  return {ErrorCode::kBadInput, path_.string(),
          fmt::format("{} failed: {}", doing, std::strerror(errno)),
          "what was complete before is still there; the same command goes on from it"};
}

Result<PlanLines> PlanLines::open(const fs::path& path) {
  PlanLines lines(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lines.descriptor_ < 0) return lines.complaint("opening it");
  // Some network file systems have no locks: then there is none to respect.
  if (::flock(lines.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Diagnostic{ErrorCode::kUsage, path.string(), "another flopcast writes to it",
                      "give every shard a file of its own"};
  }
  if (const auto problem = lines.read_held()) return *problem;
  return lines;
}

std::optional<Diagnostic> PlanLines::read_held() {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return complaint("reading it");
  if (!S_ISREG(facts.st_mode)) return std::nullopt;  // a pipe or device holds nothing yet
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(descriptor_, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return complaint("reading it");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  text.resize(whole);
  Result<std::vector<PlanReport>> reports = read_plan_reports(text, path_.string());
  if (!reports) return reports.error();  // nothing is cut off a file that is not ours
  if (whole < have && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    return complaint("cutting off a torn line");
  }
  if (::lseek(descriptor_, 0, SEEK_END) < 0) return complaint("reading it");
  held_ = std::move(*reports);
  for (std::size_t i = 0; i < held_.size(); ++i) places_.emplace(question_key(held_[i]), i);
  return std::nullopt;
}

const PlanReport* PlanLines::find(const PlanReport& question, unsigned shard,
                                  unsigned shards) const {
  const auto [first, last] = places_.equal_range(question_key(question));
  const auto found = std::find_if(first, last, [&](const auto& place) {
    const PlanReport& held = held_[place.second];
    return held.shard == shard && held.shards == shards;
  });
  return found == last ? nullptr : &held_[found->second];
}

std::optional<Diagnostic> PlanLines::append(const PlanReport& report) {
  const std::string line = plan_json_line(report);
  const off_t before = ::lseek(descriptor_, 0, SEEK_CUR);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::write(descriptor_, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const Diagnostic error = complaint("writing to it");
      // Where this fails too, the torn line is cut off when the file is opened again.
      if (before >= 0 && ::ftruncate(descriptor_, before) != 0) return error;
      return error;
    }
    done += static_cast<std::size_t>(put);
  }
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) {
    return complaint("writing to it");
  }
  return std::nullopt;
}

}  // namespace flopcast::cli
