#include "report/replay/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text/format.h"
#include "report/render/table.h"
#include "report/replay/summary.h"

namespace flopcast::report {
namespace {

/// Changes below this share of the step are not worth a line.
constexpr double kWorthTelling = 5e-4;
constexpr std::size_t kMostWorth = 3;

/// What classes of the critical path have in common.
enum class Bound : std::uint8_t { kHost, kCompute, kCopies, kCommunication, kRecorded };
constexpr std::array<std::string_view, 5> kBounds = {"the host", "computation on the GPU", "copies",
                                                     "communication",
                                                     "what nothing in the recording explains"};

Bound bound_of(std::string_view path_class) {
  if (path_class == "compute") return Bound::kCompute;
  if (path_class == "copy") return Bound::kCopies;
  if (path_class == "communication") return Bound::kCommunication;
  if (path_class == "pinned" || path_class == "lag") return Bound::kRecorded;
  return Bound::kHost;
}

/// What most of the critical path is made of.
struct Holder {
  std::string_view name;
  double share = 0;  ///< of the path
};
Holder holder_of(const PathSummary& path) {
  std::array<Time, kBounds.size()> times{};
  for (const PathShare& part : path.classes) {
    times[static_cast<std::size_t>(bound_of(part.name))] += part.time;
  }
  const auto most = std::max_element(times.begin(), times.end());
  return {kBounds[static_cast<std::size_t>(most - times.begin())], share(*most, path.length)};
}

std::string bound_words(const PathSummary& path) {
  const Holder holder = holder_of(path);
  const auto rank = std::max_element(path.ranks.begin(), path.ranks.end(),
                                     [](const auto& a, const auto& b) { return a.time < b.time; });
  std::string words =
      fmt::format("bound by {}: {} of the critical path", holder.name, percent(holder.share));
  if (path.ranks.size() == 1) return fmt::format("{}, all of it on rank {}", words, rank->name);
  return fmt::format("{}, {} of which runs on rank {}", words,
                     percent(share(rank->time, path.length)), rank->name);
}

/// Shares of the GPUs' recorded time, over all ranks.
std::string time_words(const std::vector<RankSummary>& ranks) {
  Time window, compute, transfer, waiting, idle;
  for (const RankSummary& rank : ranks) {
    const Breakdown& parts = rank.parts.measured;
    window += rank.window.measured;
    compute += parts.exposed_compute + parts.overlapped;
    transfer += parts.exposed_communication - parts.waiting;
    waiting += parts.waiting;
    idle += parts.idle;
  }
  if (window <= Time{}) return {};
  const auto of = [&](Time part) { return percent(share(part, window)); };
  return fmt::format(
      "of the GPUs' time {} computes, {} transfers with no compute beside it, {} waits for another "
      "rank, {} is idle",
      of(compute), of(transfer), of(waiting), of(idle));
}

std::string straggler_words(const Straggler& s, const Holder& holder) {
  constexpr double kMostly = 0.5;  // with as much of the path on the straggler: what holds it up
  return fmt::format(
      "rank {} is last: to {} of {} collectives, where others wait {}, {} of all waiting{}", s.rank,
      grouped(s.last), grouped(s.collectives), short_time(s.waited), percent(s.share_of_waiting),
      holder.share > kMostly ? fmt::format("; it is held up by {}", holder.name) : "");
}

std::string worth_words(const SensitivityTable& table) {
  std::vector<std::pair<double, std::string>> gains;
  for (const WorkSensitivity& part : table.parts) {
    const double gain =
        part.gpu_step ? -relative_error(table.gpu_step, *part.gpu_step).value_or(0) : 0;
    if (gain > kWorthTelling) gains.emplace_back(gain, part.part);
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (gains.empty()) {
    return fmt::format(
        "no part of the work, if it took a tenth less time, shortens the GPU step of {} by {} %",
        short_time(table.gpu_step), kWorthTelling * 100);
  }
  gains.resize(std::min(gains.size(), kMostWorth));
  std::vector<std::string> words;
  for (const auto& [gain, part] : gains)
    words.push_back(fmt::format("{} -{:.2f} %", part, gain * 100));
  return fmt::format("worth most of the GPU step, {}, if it takes a tenth less time: {}",
                     short_time(table.gpu_step), fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string> verdict_of(const SetResult& set) {
  std::vector<std::string> verdict;
  if (set.summary.path.pieces > 0) verdict.push_back(bound_words(set.summary.path));
  if (std::string time = time_words(set.summary.ranks); !time.empty())
    verdict.push_back(std::move(time));
  if (set.summary.straggler)
    verdict.push_back(straggler_words(*set.summary.straggler, holder_of(set.summary.path)));
  if (set.sensitivity && !set.sensitivity->parts.empty())
    verdict.push_back(worth_words(*set.sensitivity));
  return verdict;
}

}  // namespace flopcast::report
