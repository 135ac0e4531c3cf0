#include "whatif/durations/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/numeric/clock.h"
#include "flopcast/cost/operators.h"
#include "whatif/change/stretch.h"
#include "whatif/change/task_operators.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Flags and counters that libraries clear are part of no chip's speed.
constexpr std::int64_t kSmallSet = 4096;
/// More of the GPU's time than this in kernels of which nothing tells what they do: no forecast.
constexpr double kMostUnknown = 0.2;

/// Another machine's host, against the recorded one: where the GPU waited for it, the host beside an
/// MI300X took 0.91, 0.91, 0.94 and 1.23 of the time of the one beside an H100, for four programs.
constexpr double kOtherHost = 1.25;

/// Letters of the shortest name that a profiler gives a GPU: "NVIDIA L4".
constexpr std::size_t kShortestDevice = 9;

/// What became of one class of kernels.
struct ClassOfRun {
  std::uint64_t tasks = 0;
  Time before, after;
  Basis basis = Basis::kFitted;
  std::string source;
};

/// Copies between host and chip go by the host's links.
bool crosses_to_host(std::string_view name) {
  for (const std::string_view way : {"HtoD", "DtoH", "HtoH", "PtoP", "DtoP", "PtoD"}) {
    if (name.find(way) != std::string_view::npos) return true;
  }
  return false;
}

class Move {
 public:
  Move(ChangedRun& run, const Change& change, const Chip& to)
      : run_(run), change_(change), to_(to) {}

  std::optional<Diagnostic> make() {
    for (std::uint32_t r = 0; r < run_.recording->ranks.size() && run_.refused.empty(); ++r) {
      const std::optional<Chip> from = chip_of_rank(run_.recording->ranks[r]);
      if (!from) return std::nullopt;
      if (from->name == to_.name) continue;
      Result<ChipRatios> ratios = ChipRatios::make(*from, to_, Catalog::builtin());
      if (!ratios) return ratios.error();
      move(r, *ratios);
      from_ = from->name;
    }
    if (from_.empty()) {
      run_.notes.push_back(
          {fmt::format("the recording is of {} already", to_.name), "copied", 0, 0});
      return std::nullopt;
    }
    if (run_.refused.empty() && !too_much_unknown()) finish();
    return std::nullopt;
  }

 private:
  /// The chip a rank ran on; refuses where the recording does not tell.
  std::optional<Chip> chip_of_rank(const RankModel& rank) {
    std::set<std::string> names;
    for (const Device& device : rank.trace->devices) {
      if (auto chip = chip_of_device(device.name, Catalog::builtin())) return chip;
      names.insert(device.name);
    }
    run_.refused.push_back(refusal(
        change_, names.empty()
                     ? "the recording does not name its GPU (deviceProperties), so that nothing "
                       "says what its kernels are scaled from"
                     : fmt::format("no chip of the catalogue is called as the recording's GPU is: "
                                   "{}; flopcast hw list chips names them",
                                   fmt::join(names, ", "))));
    return std::nullopt;
  }

  bool keeps(const RankModel& rank, std::uint32_t t) const {
    const GpuTask& task = rank.gpu[t];
    if (task.communication || task.collective != kNoIndex) return true;
    const Trace& trace = *rank.trace;
    if (trace.events.category[task.row] == Category::kKernel) return false;
    const std::uint32_t detail = trace.events.detail[task.row];
    const bool small = trace.events.category[task.row] == Category::kMemset &&
                       detail != kNoDetail && trace.copies[detail].bytes <= kSmallSet;
    return small || crosses_to_host(run_.set->strings[trace.events.name[task.row]]);
  }

  void move(std::uint32_t r, const ChipRatios& ratios) {
    const RankModel& rank = run_.recording->ranks[r];
    const TaskOperators operators(*run_.set, rank);
    kinds_.clear();
    Durations::Rank& durations = run_.durations.ranks[r];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      const Time before = gpu_time(durations, t);
      total_ += before;
      if (keeps(rank, t)) {
        kept_ += before;
        ++kept_tasks_;
        continue;
      }
      const RecordedKernel kernel = operators.kernel(t);
      const MovedTime moved =
          ratios.time(kind_of(kernel, ratios), kernel, Seconds{before.seconds()});
      ClassOfRun& known = classes_[std::string(moved.kind)];
      ++known.tasks;
      known.before += before;
      known.basis = std::max(known.basis, moved.basis);
      if (known.source.empty()) known.source = moved.source;
      if (moved.kind == "unknown") unknown_[std::string(kernel.name)] += before;
      const Time after = on_clock(moved.time);
      known.after += after;
      set_gpu_time(durations, rank.gpu[t], t, after);
      ends_.push_back({r, t, &known, on_clock(moved.low), on_clock(moved.high)});
    }
  }

  /// Kernels come thousands of times: each name with each operator's inputs is looked at once. Views
  /// of the recording's strings, and of inputs that are kept as long as a rank is moved.
  std::size_t kind_of(const RecordedKernel& kernel, const ChipRatios& ratios) {
    const auto key = std::tuple(kernel.name.data(), kernel.operation.data(), kernel.inputs.data());
    const auto [known, fresh] = kinds_.try_emplace(key, 0);
    if (fresh) known->second = ratios.class_of(kernel);
    return known->second;
  }

  bool too_much_unknown() {
    Time unknown;
    std::pair<Time, std::string> most;
    for (const auto& [name, time] : unknown_) {
      unknown += time;
      most = std::max(most, std::pair(time, name));
    }
    const double share = total_ == kept_ ? 0 : unknown.seconds() / (total_ - kept_).seconds();
    if (share <= kMostUnknown) return false;
    run_.refused.push_back(refusal(
        change_,
        fmt::format("{:.0f} % of the kernels' time is in kernels of which neither the name nor the "
                    "operator tells what they do ({}); operators with shapes (record_shapes=True) "
                    "would",
                    100 * share, most.second)));
    return true;
  }

  void finish() {
    Time after_all = kept_;
    for (const auto& [name, known] : classes_) after_all += known.after;
    note_host();
    if (kept_tasks_ > 0) {
      run_.notes.push_back({"communication, copies to and from the host, small sets: as recorded",
                            "copied", kept_tasks_,
                            after_all == Time{} ? 0 : kept_.seconds() / after_all.seconds()});
    }
    note_classes(after_all);
    for (auto& [name, known] : classes_) add_doubt(name, known);
    doubt_host();
  }

  /// What takes longest first.
  void note_classes(Time after_all) {
    std::vector<std::pair<Time, std::string>> order;
    for (const auto& [name, known] : classes_) order.emplace_back(-known.after, name);
    std::sort(order.begin(), order.end());
    for (const auto& [time, name] : order) {
      const ClassOfRun& known = classes_[name];
      run_.notes.push_back(
          {fmt::format("{} kernels x {:.2f}, {} ({})", name,
                       known.before == Time{} ? 1 : known.after.seconds() / known.before.seconds(),
                       flopcast::name(known.basis), known.source),
           known.basis == Basis::kAssumed ? "assumed" : "modelled", known.tasks,
           after_all == Time{} ? 0 : known.after.seconds() / after_all.seconds()});
    }
  }

  void doubt_host() {
    Doubt doubt{"the host of another machine", run_.durations, run_.durations};
    for (std::uint32_t r = 0; r < run_.recording->ranks.size(); ++r) {
      stretch_host(*run_.recording, r, 1 / kOtherHost, doubt.low);
      stretch_host(*run_.recording, r, kOtherHost, doubt.high);
    }
    run_.doubts.push_back(std::move(doubt));
  }

  /// The class as a whole at either end: what is wrong about a class is wrong of all its kernels.
  void add_doubt(const std::string& name, const ClassOfRun& known) {
    Doubt doubt{fmt::format("{} kernels on {}", name, to_.name), run_.durations, run_.durations};
    for (const End& end : ends_) {
      if (end.of != &known) continue;
      const GpuTask& task = run_.recording->ranks[end.rank].gpu[end.task];
      set_gpu_time(doubt.low.ranks[end.rank], task, end.task, end.low);
      set_gpu_time(doubt.high.ranks[end.rank], task, end.task, end.high);
    }
    run_.doubts.push_back(std::move(doubt));
  }

  /// The share of the window in which the GPU had nothing to do: no chip shortens that.
  void note_host() {
    double idle = 0, window = 0;
    for (const RankModel& rank : run_.recording->ranks) {
      Time busy_until = Time::min(), first = Time::max();
      for (const GpuTask& task : rank.gpu) {  // by start
        if (first == Time::max()) first = busy_until = task.start;
        idle += std::max(task.start - busy_until, Time{}).seconds();
        busy_until = std::max(busy_until, task.end);
      }
      if (first != Time::max()) window += (busy_until - first).seconds();
    }
    run_.notes.push_back(
        {fmt::format("the host, as recorded on {}: that of another machine is not known; the GPU "
                     "waits for it or for others {:.0f} % of the time",
                     from_, window > 0 ? 100 * idle / window : 0),
         "assumed", 0, 0});
  }

  struct End {
    std::uint32_t rank, task;
    const ClassOfRun* of;
    Time low, high;
  };
  ChangedRun& run_;
  const Change& change_;
  const Chip& to_;
  std::string from_;
  std::map<std::string, ClassOfRun> classes_;
  std::map<std::string, Time> unknown_;
  std::map<std::tuple<const char*, const char*, const OperatorInput*>, std::size_t> kinds_;
  std::vector<End> ends_;
  Time total_, kept_;
  std::uint64_t kept_tasks_ = 0;
};

}  // namespace

std::optional<Chip> chip_of_device(std::string_view device, const Catalog& catalog) {
  if (const Result<Chip> chip = catalog.chip(device)) return *chip;
  const Chip* best = nullptr;
  std::size_t longest = 0;
  for (const Chip& chip : catalog.chips()) {
    for (const std::string& alias : chip.aliases) {
      // "h100" is no profiler's word, and begins too many of them.
      if (alias.size() < kShortestDevice || alias.size() <= longest) continue;
      if (!device.starts_with(alias)) continue;
      // An A4000 is no A40.
      const char next = device[alias.size()];  // longer than the alias: else it was found above
      if (std::isalnum(static_cast<unsigned char>(next)) != 0) continue;
      best = &chip;
      longest = alias.size();
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::optional<Diagnostic> move_to_chip(ChangedRun& run, const Change& change, const OnChip& on) {
  return Move(run, change, on.chip).make();
}

}  // namespace flopcast::whatif
