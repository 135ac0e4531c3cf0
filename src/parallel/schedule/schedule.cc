// The published pipeline schedules, written out as lists of actions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "base/text/names.h"
#include "flopcast/parallel/schedule.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"gpipe", "1f1b", "interleaved",
                                                    "zb-h1", "zb-v", "dualpipev"};

using Actions = std::vector<PipelineAction>;

/// Writes one chip's list; counts which microbatch of each chunk comes next.
class Writer {
 public:
  Writer(Actions& actions, std::int64_t microbatches) : out_(actions), m_(microbatches) {}

  std::int64_t forwards(unsigned chunk) const { return next_[0][chunk]; }
  std::int64_t backwards(unsigned chunk) const { return next_[1][chunk]; }

  void forward(unsigned chunk, bool with_next = false) {
    put(PipelineOp::kForward, chunk, next_[0][chunk]++, with_next);
  }
  void backward(unsigned chunk) { put(PipelineOp::kBackward, chunk, next_[1][chunk]++, false); }
  /// The input gradient now, the weight gradient when weight() gets to it.
  void backward_input(unsigned chunk) {
    waiting_.push_back({chunk, next_[1][chunk]});
    put(PipelineOp::kBackwardInput, chunk, next_[1][chunk]++, false);
  }
  void weight() {
    if (waiting_.empty()) return;
    put(PipelineOp::kBackwardWeight, waiting_.front().first, waiting_.front().second, false);
    waiting_.pop_front();
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // Patterns made for many microbatches skip those that do not exist.
  void put(PipelineOp op, unsigned chunk, std::int64_t microbatch, bool with_next) {
    if (microbatch >= m_) return;
    out_.push_back(
        {op, with_next, static_cast<std::uint16_t>(chunk), static_cast<std::uint32_t>(microbatch)});
  }

  Actions& out_;
  std::int64_t m_;
  std::array<std::array<std::int64_t, 2>, 2> next_{};
  std::deque<std::pair<unsigned, std::int64_t>> waiting_;
};

void write_gpipe(Actions& actions, std::int64_t m) {
  Writer writer(actions, m);
  for (std::int64_t i = 0; i < m; ++i) writer.forward(0);
  for (std::int64_t i = 0; i < m; ++i) writer.backward(0);
}

void write_one_f_one_b(Actions& actions, unsigned p, unsigned chip, std::int64_t m) {
  Writer writer(actions, m);
  const std::int64_t warm_up = std::min<std::int64_t>(p - chip - 1, m);
  for (std::int64_t i = 0; i < warm_up; ++i) writer.forward(0);
  for (std::int64_t i = warm_up; i < m; ++i) {
    writer.forward(0);
    writer.backward(0);
  }
  for (std::int64_t i = 0; i < warm_up; ++i) writer.backward(0);
}

void write_interleaved(Actions& actions, unsigned p, unsigned chip, unsigned v, std::int64_t m) {
  const std::int64_t all = m * v;
  const std::int64_t group = static_cast<std::int64_t>(p) * v;
  // The k-th pass: p microbatches through one chunk, then the next chunk; p more microbatches.
  const auto put = [&](PipelineOp op, std::int64_t k) {
    const std::int64_t within = k % group / p;
    const std::int64_t chunk = op == PipelineOp::kForward ? within : v - 1 - within;
    actions.push_back({op, false, static_cast<std::uint16_t>(chunk),
                       static_cast<std::uint32_t>(k / group * p + k % p)});
  };
  const std::int64_t ahead =
      static_cast<std::int64_t>(p - chip - 1) * 2 + static_cast<std::int64_t>(v - 1) * p;
  const std::int64_t warm_up = std::min(ahead, all);
  for (std::int64_t k = 0; k < warm_up; ++k) put(PipelineOp::kForward, k);
  for (std::int64_t k = warm_up; k < all; ++k) {
    put(PipelineOp::kForward, k);
    put(PipelineOp::kBackward, k - warm_up);
  }
  for (std::int64_t k = all - warm_up; k < all; ++k) put(PipelineOp::kBackward, k);
}

/// 1F1B whose weight gradients lag behind by as many microbatches as the chip has idle places at
/// the end: chip i holds p microbatches like chip 0.
void write_zero_bubble_h1(Actions& actions, unsigned p, unsigned chip, std::int64_t m) {
  Writer writer(actions, m);
  const std::int64_t warm_up = std::min<std::int64_t>(p - chip - 1, m);
  for (std::int64_t i = 0; i < warm_up; ++i) writer.forward(0);
  for (std::int64_t i = 0; i < m; ++i) {
    if (warm_up + i < m) writer.forward(0);
    writer.backward_input(0);
    // While the last backwards trickle in, weight gradients fill the gaps between them.
    if (writer.waiting() > chip || warm_up + i >= m) writer.weight();
  }
  while (writer.waiting() > 0) writer.weight();
}

void write_zero_bubble_v(Actions& actions, unsigned p, unsigned chip, std::int64_t m) {
  Writer writer(actions, m);
  const std::int64_t full = std::max<std::int64_t>(m, 2 * static_cast<std::int64_t>(p) - 1);
  const auto forward_backward = [&](unsigned chunk) {
    writer.backward_input(chunk);
    writer.weight();
  };
  for (unsigned i = 0; i < 2 * (p - chip) - 1; ++i) writer.forward(0);
  for (unsigned i = 0; i < chip; ++i) {
    writer.forward(1);
    writer.forward(0);
  }
  for (unsigned i = 0; i < p - chip; ++i) {
    writer.forward(1);
    forward_backward(1);
  }
  while (writer.forwards(1) < writer.forwards(0) || writer.forwards(0) < full) {
    if (writer.forwards(0) < full) writer.forward(0);
    forward_backward(0);
    writer.forward(1);
    forward_backward(1);
  }
  for (unsigned i = 0; i < chip; ++i) {
    writer.backward_input(0);
    writer.backward_input(1);
  }
  for (unsigned i = 0; i < p - chip; ++i) {
    writer.backward_input(0);
    writer.weight();
  }
  while (writer.waiting() > 0) writer.weight();
}

/// Of each chunk, in the steady state of a chip of DualPipeV.
std::int64_t steady_pairs(unsigned p, unsigned chip, std::int64_t m) {
  return m - 2 * static_cast<std::int64_t>(p) + chip + 1;
}

void write_dualpipe_v(Actions& actions, unsigned p, unsigned chip, std::int64_t m) {
  Writer writer(actions, m);
  const unsigned after = p - chip - 1;  // chips behind this one
  const auto pair = [&](unsigned chunk) {
    writer.forward(chunk, true);
    writer.backward(1 - chunk);
  };
  for (unsigned i = 0; i < 2 * after; ++i) writer.forward(0);
  for (unsigned i = 0; i < chip + 1; ++i) {
    writer.forward(0);
    writer.forward(1);
  }
  for (unsigned i = 0; i < after; ++i) {
    writer.backward_input(1);
    writer.weight();
    writer.forward(1);
  }
  for (std::int64_t i = 0; i < steady_pairs(p, chip, m); ++i) {
    if (i == 0 && after == 0) {
      // The last chip's forward feeds this very backward's chunk: they cannot run together.
      writer.forward(0);
      writer.backward(1);
    } else {
      pair(0);
    }
    pair(1);
  }
  for (unsigned i = 0; i < after; ++i) {
    writer.backward(1);
    pair(1);
  }
  // The second half leaves its weight gradients for the gaps that follow.
  const unsigned rest = chip + 1;
  const unsigned first_split = 2 * (rest / 2) + (chip % 2 == 0 ? 1 : 0);
  for (unsigned i = 0; i < 2 * rest; ++i) {
    const unsigned chunk = i % 2 == 0 ? 1 : 0;
    i < first_split ? writer.backward(chunk) : writer.backward_input(chunk);
  }
  for (unsigned i = 0; i < after; ++i) {
    writer.weight();
    writer.backward_input(0);
  }
  while (writer.waiting() > 0) writer.weight();
}

std::optional<Diagnostic> unsuitable(ScheduleKind kind, unsigned chips, std::int64_t m,
                                     unsigned chunks) {
  const auto refuse = [&](std::string what, std::string hint) {
    return Diagnostic{ErrorCode::kUsage, std::string(name(kind)), std::move(what), std::move(hint)};
  };
  if (chips < 1 || chunks < 1 || m < 1) {
    return refuse(fmt::format("{} chips, {} chunks and {} microbatches", chips, chunks, m),
                  "each must be at least 1");
  }
  const bool folded = kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipeV;
  if (folded && chunks != 2) {
    return refuse(fmt::format("needs 2 chunks per chip, not {}", chunks), "use 2 virtual stages");
  }
  if (!folded && kind != ScheduleKind::kInterleaved && chunks != 1) {
    return refuse(fmt::format("takes 1 chunk per chip, not {}", chunks),
                  "use the interleaved schedule");
  }
  if (kind == ScheduleKind::kInterleaved && m % chips != 0) {
    return refuse(fmt::format("{} microbatches are not a multiple of {} stages", m, chips),
                  "change the global batch or the number of stages");
  }
  if (kind == ScheduleKind::kDualPipeV && m < 2 * static_cast<std::int64_t>(chips)) {
    return refuse(fmt::format("{} microbatches are fewer than 2 x {} stages", m, chips),
                  "use more microbatches");
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(ScheduleKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ScheduleKind> parse_schedule_kind(std::string_view text) {
  constexpr std::pair<std::string_view, ScheduleKind> kOthers[] = {
      {"interleaved1f1b", ScheduleKind::kInterleaved}, {"zbh1", ScheduleKind::kZeroBubbleH1},
      {"zbvzerobubble", ScheduleKind::kZeroBubbleV},   {"zbv", ScheduleKind::kZeroBubbleV},
      {"dualpipev", ScheduleKind::kDualPipeV},
  };
  const std::string key = name_key(text);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (key == name_key(kNames[i])) return static_cast<ScheduleKind>(i);
  }
  for (const auto& [other, kind] : kOthers) {
    if (key == other) return kind;
  }
  return std::nullopt;
}

bool Schedule::v_shaped() const {
  return kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipeV;
}

unsigned Schedule::stage_of(unsigned chip, unsigned chunk) const {
  return v_shaped() && chunk % 2 == 1 ? (chunk + 1) * chips - 1 - chip : chunk * chips + chip;
}

unsigned Schedule::chunk_of(unsigned stage) const { return stage / chips; }

unsigned Schedule::chip_of(unsigned stage) const {
  const unsigned within = stage % chips;
  return v_shaped() && chunk_of(stage) % 2 == 1 ? chips - 1 - within : within;
}

std::array<std::int64_t, 2> dualpipe_pairs(unsigned chips, unsigned chip,
                                           std::int64_t microbatches) {
  const unsigned after = chips - chip - 1;
  const std::int64_t steady = steady_pairs(chips, chip, microbatches);
  return {after == 0 ? steady - 1 : steady, steady + after};
}

namespace {

/// Of all chips: 1.6 GB of passes.
std::optional<Diagnostic> too_long(unsigned chips, std::int64_t microbatches, unsigned chunks) {
  constexpr double kMostPasses = 2e8;
  const double passes = 3.0 * chips * chunks * static_cast<double>(microbatches);
  if (passes <= kMostPasses) return std::nullopt;
  return Diagnostic{
      ErrorCode::kTooLarge, "schedule",
      fmt::format(
          "{} chips, {} chunks and {} microbatches are {:.3g} passes, too many to be listed", chips,
          chunks, microbatches, passes),
      "use a larger micro batch, or fewer stages"};
}

}  // namespace

Result<Schedule> make_schedule(ScheduleKind kind, unsigned chips, std::int64_t microbatches,
                               unsigned chunks) {
  if (auto problem = unsuitable(kind, chips, microbatches, chunks)) return *problem;
  if (auto problem = too_long(chips, microbatches, chunks)) return *problem;
  Schedule schedule{kind, chips, chunks, microbatches, {}};
  schedule.actions.resize(chips);
  for (unsigned chip = 0; chip < chips; ++chip) {
    Actions& actions = schedule.actions[chip];
    actions.reserve(static_cast<std::size_t>(3 * microbatches * chunks));
    switch (kind) {
      case ScheduleKind::kGpipe:
        write_gpipe(actions, microbatches);
        break;
      case ScheduleKind::kOneFOneB:
        write_one_f_one_b(actions, chips, chip, microbatches);
        break;
      case ScheduleKind::kInterleaved:
        write_interleaved(actions, chips, chip, chunks, microbatches);
        break;
      case ScheduleKind::kZeroBubbleH1:
        write_zero_bubble_h1(actions, chips, chip, microbatches);
        break;
      case ScheduleKind::kZeroBubbleV:
        write_zero_bubble_v(actions, chips, chip, microbatches);
        break;
      case ScheduleKind::kDualPipeV:
        write_dualpipe_v(actions, chips, chip, microbatches);
        break;
    }
  }
  return schedule;
}

}  // namespace flopcast
