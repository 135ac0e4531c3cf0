#include "report/replay/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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
  Time window, compute, transfer, for_rank, for_host, for_stage, idle;
  for (const RankSummary& rank : ranks) {
    const Breakdown& parts = rank.parts.measured;
    window += rank.window.measured;
    compute += parts.exposed_compute + parts.overlapped;
    transfer += parts.transfer();
    for_rank += parts.waiting_for_rank();
    for_host += parts.waiting_for_host;
    for_stage += parts.waiting_for_stage;
    idle += parts.idle;
  }
  if (window <= Time{}) return {};
  const auto of = [&](Time part) { return percent(share(part, window)); };
  std::string words = fmt::format("of the GPUs' time {} computes", of(compute));
  const Time waiting = for_rank + for_host + for_stage;
  if (transfer > Time{})
    words += fmt::format(", {} transfers with no compute beside it", of(transfer));
  if (waiting > Time{}) {
    words += fmt::format(", {} waits for another rank ({} for its GPU, {} for its host",
                         of(waiting), of(for_rank), of(for_host));
    if (for_stage > Time{}) words += fmt::format(", {} for another stage", of(for_stage));
    words += ')';
  }
  return fmt::format("{}, {} is idle", words, of(idle));
}

/// What became of the step with a rank like its equals, and why no more than that.
std::string like_equals_words(const RankLikeEquals& like, const SensitivityTable& table) {
  if (!like.gpu_step)
    return "no other rank does the same work, so that none tells how quick it could be";
  std::string words = fmt::format("made like its equals the GPU step changes by {}",
                                  signed_percent(table.change(like.gpu_step)));
  if (like.next && *like.next != like.rank)
    words += fmt::format(": rank {} is then last, and waited for {}", *like.next,
                         short_time(like.next_waited));
  return words;
}

std::string straggler_words(const SetResult& set, const Straggler& s) {
  std::string words = fmt::format(
      "rank {} is last: to {} of {} collectives, where others wait {}, {} of all waiting, {} of it "
      "for its host",
      s.rank, grouped(s.last), grouped(s.collectives), short_time(s.waited),
      percent(s.share_of_waiting), percent(share(s.for_host, s.waited)));
  const std::optional<SensitivityTable>& table = set.sensitivity;
  if (!table) return words;
  for (const std::optional<RankLikeEquals>& like : {table->straggler, table->late}) {
    if (like && like->rank == s.rank) return words + "; " + like_equals_words(*like, *table);
  }
  return words;
}

/// What to do about a part of the work. Operations of their own are part of the network.
struct Remedy {
  std::string_view part, words;
};
constexpr std::array kRemedies = {
    Remedy{
        "host",
        "fewer and larger launches: CUDA graphs, torch.compile, larger batches, no synchronisation "
        "within the step"},
    Remedy{"gemm", "lower precision, shapes that fill the GPU, or a quicker GPU"},
    Remedy{"attention", "a fused attention kernel, or a shorter sequence"},
    Remedy{"other_kernels", "fused kernels (torch.compile), less to read and write"},
    Remedy{"copies", "pinned memory, copies beside kernels, data that stays on the GPU"},
    Remedy{"network", "more overlap, fewer bytes, larger buckets, or a faster network"},
};

/// A change, and what it shortens the step by.
struct Worth {
  double gain = 0;
  std::string words;
};

std::vector<Worth> worths_of(const SensitivityTable& table) {
  std::vector<Worth> worths;
  const auto gain = [&](const std::optional<Time>& step) {
    return -table.change(step).value_or(0);
  };
  for (const WorkSensitivity& part : table.parts) {
    const auto remedy = std::ranges::find(kRemedies, part.part, &Remedy::part);
    if (remedy == kRemedies.end()) continue;
    worths.push_back(
        {gain(part.gpu_step),
         fmt::format("{}, {} with a tenth less of it, {} with none: {}", work_part_title(part.part),
                     signed_percent(table.change(part.gpu_step)),
                     signed_percent(table.change(part.limit)), remedy->words)});
  }
  if (const std::optional<RankLikeEquals>& s = table.straggler) {
    worths.push_back(
        {gain(s->gpu_step),
         fmt::format("rank {}, {} if it were like its equals: see what its machine or its "
                     "share of the work has that theirs have not",
                     s->rank, signed_percent(table.change(s->gpu_step)))});
  }
  std::erase_if(worths, [](const Worth& worth) { return worth.gain <= kWorthTelling; });
  std::ranges::stable_sort(worths, std::greater<>(), &Worth::gain);
  if (worths.size() > kMostWorth) worths.resize(kMostWorth);
  return worths;
}

void add_worth(const SensitivityTable& table, std::vector<std::string>& verdict) {
  const std::vector<Worth> worths = worths_of(table);
  if (worths.empty()) {
    verdict.push_back(
        fmt::format("nothing alone shortens the GPU step of {} by {} %: no part of the work with a "
                    "tenth less of it, no rank "
                    "made like its equals",
                    short_time(table.gpu_step), kWorthTelling * 100));
    return;
  }
  for (std::size_t i = 0; i < worths.size(); ++i) {
    verdict.push_back(i == 0 ? fmt::format("worth most of the GPU step of {}: {}",
                                           short_time(table.gpu_step), worths[i].words)
                             : fmt::format("then: {}", worths[i].words));
  }
}

}  // namespace

std::vector<std::string> verdict_of(const SetResult& set) {
  std::vector<std::string> verdict;
  if (set.summary.path.pieces > 0) verdict.push_back(bound_words(set.summary.path));
  if (std::string time = time_words(set.summary.ranks); !time.empty())
    verdict.push_back(std::move(time));
  if (set.summary.straggler) verdict.push_back(straggler_words(set, *set.summary.straggler));
  if (set.sensitivity && !set.sensitivity->parts.empty()) add_worth(*set.sensitivity, verdict);
  if (!set.no_sensitivity.empty())
    verdict.push_back("what each part of the work is worth is not told: " + set.no_sensitivity);
  return verdict;
}

}  // namespace flopcast::report
