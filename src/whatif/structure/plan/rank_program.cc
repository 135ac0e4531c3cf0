#include "whatif/structure/plan/rank_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "whatif/structure/recorded/recorded_passes.h"

namespace flopcast::whatif::structure {
namespace {

/// An activation or a gradient on its way from one virtual stage to the next or the one before.
struct Message {
  bool gradient = false;
  std::uint32_t from = 0, to = 0;  // virtual stages
  std::uint32_t microbatch = 0;
};

/// What lies between two passes of a chip: at most one message out and one in.
struct Slot {
  std::optional<Message> out, in;
};

class ProgramMaker {
 public:
  ProgramMaker(const TraceModel& model, const Library& library, const NewPlan& plan,
               double layer_parameters)
      : library_(library),
        plan_(plan),
        passes_(model, library),
        layer_parameters_(layer_parameters),
        trains_(std::any_of(library.stretches.begin(), library.stretches.end(),
                            [](const Stretch& s) { return s.key.pass == Pass::kBackward; })) {}

  Result<std::vector<std::vector<ProgramItem>>> run() {
    if (auto problem = check_messages()) return *problem;
    if (auto problem = check_replicas()) return *problem;
    find_slots();
    for (chip_ = 0; chip_ < plan_.schedule.chips; ++chip_) {
      items_.clear();
      add_all(passes_.prelude(chip_, plan_.schedule.chips));
      const auto& actions = plan_.schedule.actions[chip_];
      for (std::size_t i = 0; i < actions.size(); ++i) {
        add_slot(slots_[chip_][i]);
        if (auto problem = add_pass(actions[i])) return *problem;
      }
      add_slot(slots_[chip_].back());
      add_postlude();
      out_.push_back(items_);
    }
    return std::move(out_);
  }

 private:
  std::optional<Diagnostic> check_messages() const {
    if (plan_.schedule.chips == 1 || passes_.message(MessageWay::kBoth)) return std::nullopt;
    return Diagnostic{ErrorCode::kNoAnswer, "structure",
                      "no message between stages was recorded: what sending one costs the host "
                      "and the streams is not known",
                      "record a run with two or more pipeline stages"};
  }

  std::optional<Diagnostic> check_replicas() const {
    const bool first = plan_.before.degree(Dimension::kData) == 1;
    if (!first || plan_.grid.degree(Dimension::kData) == 1 || library_.made_bucket) {
      return std::nullopt;
    }
    return Diagnostic{ErrorCode::kNoAnswer, "structure",
                      "no reduction of gradients was recorded: when one is launched, of how many "
                      "bytes, and what that costs the host is not known",
                      "record a run with dp 2 or more"};
  }

  void add(std::uint32_t stretch) {
    items_.push_back({stretch, library_.stretches[stretch].thread});
  }
  void add_all(const std::vector<std::uint32_t>& stretches) {
    for (const std::uint32_t s : stretches) add(s);
  }

  /// The optimizer works on the parameters of the layers that the stage has now.
  void add_postlude() {
    std::uint32_t layers = 0;
    for (unsigned chunk = 0; chunk < plan_.schedule.chunks; ++chunk) {
      layers += plan_.layers_of[plan_.schedule.stage_of(chip_, chunk)];
    }
    const double work = passes_.parameters(chip_, plan_.schedule.chips, layers) * layer_parameters_;
    for (const std::uint32_t s : passes_.postlude(chip_, plan_.schedule.chips)) {
      add(s);
      items_.back().work = work;
    }
  }

  // ---- messages ---------------------------------------------------------------------------------

  static bool sends(PipelineOp op) { return op != PipelineOp::kBackwardWeight; }

  std::optional<Message> message(unsigned chip, const PipelineAction& action, bool incoming) const {
    if (!sends(action.op)) return std::nullopt;
    const bool forward = action.op == PipelineOp::kForward;
    const auto part = static_cast<std::int64_t>(plan_.schedule.stage_of(chip, action.chunk));
    const std::int64_t other = part + (forward == incoming ? -1 : 1);
    if (other < 0 || other >= static_cast<std::int64_t>(plan_.parts())) return std::nullopt;
    const auto from = static_cast<std::uint32_t>(incoming ? other : part);
    const auto to = static_cast<std::uint32_t>(incoming ? part : other);
    if (plan_.schedule.chip_of(from) == plan_.schedule.chip_of(to)) return std::nullopt;
    return Message{!forward, from, to, action.microbatch};
  }

  void find_slots() {
    for (unsigned chip = 0; chip < plan_.schedule.chips; ++chip) {
      const auto& actions = plan_.schedule.actions[chip];
      std::vector<Slot> slots(actions.size() + 1);
      for (std::size_t i = 0; i < actions.size(); ++i) {
        slots[i].in = message(chip, actions[i], true);
        slots[i + 1].out = message(chip, actions[i], false);
        if (slots[i].in) in_slot_[number(*slots[i].in)] = {chip, i};
        if (slots[i + 1].out) out_slot_[number(*slots[i + 1].out)] = {chip, i + 1};
      }
      slots_.push_back(std::move(slots));
    }
  }

  std::uint64_t number(const Message& m) const {
    return (static_cast<std::uint64_t>(m.microbatch) * plan_.parts() + m.from) * 2 +
           (m.gradient ? 1 : 0) + 1;
  }

  /// Both in one: the other end has the same two between two of its passes.
  bool both_at_once(const Slot& slot) const {
    if (plan_.style != MessageStyle::kExchange || !slot.out || !slot.in) return false;
    const auto given = in_slot_.find(number(*slot.out));
    const auto taken = out_slot_.find(number(*slot.in));
    return given != in_slot_.end() && taken != out_slot_.end() && given->second == taken->second;
  }

  void add_slot(const Slot& slot) {
    if (both_at_once(slot)) {
      const std::uint64_t a = number(*slot.out);
      const std::uint64_t b = number(*slot.in);
      add_message(*slot.out, MessageWay::kBoth, std::min(a, b) << 32 | std::max(a, b));
      return;
    }
    if (slot.out) add_message(*slot.out, MessageWay::kSend, number(*slot.out));
    if (slot.in) add_message(*slot.in, MessageWay::kReceive, number(*slot.in));
  }

  void add_message(const Message& m, MessageWay way, std::uint64_t number) {
    const std::uint32_t from = plan_.schedule.chip_of(m.from);
    const std::uint32_t to = plan_.schedule.chip_of(m.to);
    const bool exchange = plan_.style == MessageStyle::kExchange;
    const std::uint32_t stretch = *passes_.message(exchange ? MessageWay::kBoth : way);
    ProgramItem item{stretch, library_.stretches[stretch].thread};
    item.peer = from == chip_ ? to : from;
    item.message = number;
    const std::uint32_t pair = std::min(from, to) * plan_.schedule.chips + std::max(from, to);
    item.channel = exchange ? pair : (from * plan_.schedule.chips + to) * 2 + (m.gradient ? 1 : 0);
    item.waited = exchange || way != MessageWay::kSend;
    items_.push_back(item);
  }

  // ---- passes -----------------------------------------------------------------------------------

  std::optional<Diagnostic> add_pass(const PipelineAction& action) {
    const std::uint32_t part = plan_.schedule.stage_of(chip_, action.chunk);
    // Of inference there is no backward, whatever the schedule says.
    if (action.op != PipelineOp::kForward && !trains_) return std::nullopt;
    switch (action.op) {
      case PipelineOp::kForward:
        return add_forward(part);
      case PipelineOp::kBackward:
        if (auto problem = add_backward(Pass::kBackward, part, action)) return problem;
        // Recorded with weights' gradients apart: both halves one after the other.
        return weights_apart() ? add_backward(Pass::kWeights, part, action) : std::nullopt;
      case PipelineOp::kBackwardInput:
        return add_backward(Pass::kBackward, part, action);
      case PipelineOp::kBackwardWeight:
        return add_backward(Pass::kWeights, part, action);
    }
    return std::nullopt;
  }

  bool weights_apart() const {
    return !library_.halves.empty() || passes_.layer(Pass::kWeights, 0).has_value();
  }

  /// The stretch of a pass that stands for a recorded one: half of a whole backward.
  std::uint32_t half(Pass pass, std::uint32_t stretch) const {
    const auto it = library_.halves.find(stretch);
    if (it == library_.halves.end()) return stretch;
    return pass == Pass::kWeights ? it->second.second : it->second.first;
  }
  Pass recorded_pass(Pass pass) const {
    return pass == Pass::kWeights && !library_.halves.empty() ? Pass::kBackward : pass;
  }
  void add_edge(Pass pass, UnitPart side, std::uint32_t part) {
    for (const std::uint32_t s : passes_.edge(recorded_pass(pass), side, part, plan_.parts())) {
      add(half(pass, s));
    }
  }

  std::optional<Diagnostic> add_forward(std::uint32_t part) {
    add_all(passes_.edge(Pass::kForward, UnitPart::kWhole, part, plan_.parts()));
    add_all(passes_.edge(Pass::kForward, UnitPart::kBefore, part, plan_.parts()));
    const std::uint32_t first = plan_.layers == 0 ? 0 : plan_.first_layer(part);
    for (std::uint32_t i = 0; i < plan_.layers_of[part]; ++i) {
      if (auto problem = add_layer(Pass::kForward, first + i)) return problem;
    }
    add_all(passes_.edge(Pass::kForward, UnitPart::kAfter, part, plan_.parts()));
    return std::nullopt;
  }

  std::optional<Diagnostic> add_backward(Pass pass, std::uint32_t part,
                                         const PipelineAction& action) {
    add_edge(pass, UnitPart::kWhole, part);
    add_edge(pass, UnitPart::kAfter, part);
    const std::uint32_t first = plan_.layers == 0 ? 0 : plan_.first_layer(part);
    const bool reduces = action.microbatch + 1 == plan_.schedule.microbatches &&
                         (pass == Pass::kWeights) == weights_apart();
    double ready = 0;  // bytes of gradients that no bucket has taken yet
    for (std::uint32_t i = plan_.layers_of[part]; i-- > 0;) {
      if (auto problem = add_again(pass, i, first + i)) return problem;
      if (auto problem = add_layer(pass, first + i)) return problem;
      if (reduces) add_buckets(ready, i == 0);
    }
    add_edge(pass, UnitPart::kBefore, part);
    return std::nullopt;
  }

  /// A layer's forward once more, by the thread of its backward.
  std::optional<Diagnostic> add_again(Pass pass, std::uint32_t i, std::uint32_t number) {
    const auto backward = passes_.layer(Pass::kBackward, number);
    const bool asked = plan_.recompute_changed && i < plan_.recompute;
    if (pass != Pass::kBackward || !asked || !backward ||
        library_.stretches[*backward].key.recomputes) {
      return std::nullopt;
    }
    if (auto problem = add_layer(Pass::kForward, number)) return problem;
    items_.back().thread = library_.stretches[*backward].thread;
    return std::nullopt;
  }

  std::optional<Diagnostic> add_layer(Pass pass, std::uint32_t number) {
    const std::optional<std::uint32_t> stretch = passes_.layer(recorded_pass(pass), number);
    if (!stretch) {
      return Diagnostic{
          ErrorCode::kNoAnswer, "structure",
          fmt::format("no {} of layer {} was found in the recording", pass_name(pass), number),
          pass == Pass::kWeights
              ? "record a run whose schedule takes the gradients of weights apart"
              : "see `flopcast trace model`"};
    }
    add(half(pass, *stretch));
    return std::nullopt;
  }

  /// A bucket goes when it is as full as the recorded ones were, the last with what is left.
  void add_buckets(double& ready, bool last) {
    const RecordedPasses::Buckets& buckets = passes_.buckets();
    if (!buckets.stretch) return;
    // Gradients are reduced by all that share parameters: replicas, and ranks that share a sequence.
    const DimensionSet group = library_.stretches[*buckets.stretch].tasks.front().group;
    if (plan_.grid.group(0, group != 0 ? group : bit(Dimension::kData)).size() == 1) return;
    ready += buckets.layer_bytes;
    // Half a layer short of full counts as full: sizes are not exact.
    const double full = buckets.bucket_bytes - buckets.layer_bytes / 2;
    if (ready < full && !last) return;
    add(*buckets.stretch);
    items_.back().bytes = ready / buckets.bucket_bytes;
    ready = 0;
  }

  const Library& library_;
  const NewPlan& plan_;
  RecordedPasses passes_;
  double layer_parameters_;
  bool trains_;  // backward passes were recorded
  unsigned chip_ = 0;
  std::vector<ProgramItem> items_;
  std::vector<std::vector<ProgramItem>> out_;
  std::vector<std::vector<Slot>> slots_;  // [chip]: before each pass, and after the last
  std::map<std::uint64_t, std::pair<unsigned, std::size_t>> in_slot_, out_slot_;
};

}  // namespace

Result<std::vector<std::vector<ProgramItem>>> make_programs(const TraceModel& model,
                                                            const Library& library,
                                                            const NewPlan& plan,
                                                            double layer_parameters) {
  return ProgramMaker(model, library, plan, layer_parameters).run();
}

}  // namespace flopcast::whatif::structure
