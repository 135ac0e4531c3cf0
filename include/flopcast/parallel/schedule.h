// Floor 2: pipeline schedules as data: what each stage runs, in which order; checked, and timed.
//
//   GPipe, p = 2, m = 2      chip 0:  F0 F1 .. .. B0 B1
//                            chip 1:  .. F0 F1 B0 B1 ..
//
// A chip holds `chunks` parts of the model (virtual stages). Interleaved schedules deal them round
// robin (chip i: stages i, i + p, ...), V-shaped ones there and back (chip i: stages i, 2p - 1 - i).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// In which order chips run their passes.
enum class ScheduleKind : std::uint8_t {
  kGpipe,         ///< Huang et al., arXiv:1811.06965
  kOneFOneB,      ///< Narayanan et al., arXiv:2006.09503 (flush variant)
  kInterleaved,   ///< Narayanan et al., arXiv:2104.04473 section 2.2
  kZeroBubbleH1,  ///< Qi et al., arXiv:2401.10241 section 2
  kZeroBubbleV,   ///< Qi et al., arXiv:2405.15362 section 3
  kDualPipeV,     ///< DeepSeek-V3 report, arXiv:2412.19437 section 3.2.1, cut in half
};
std::string_view name(ScheduleKind kind);  ///< "1f1b"
std::optional<ScheduleKind> parse_schedule_kind(
    std::string_view text);  ///< also torchtitan's names

/// What a chip does at one time.
enum class PipelineOp : std::uint8_t {
  kForward,
  kBackward,        ///< gradients of inputs and weights
  kBackwardInput,   ///< B of the zero-bubble schedules
  kBackwardWeight,  ///< W
};

/// One entry of a chip's list.
struct PipelineAction {
  PipelineOp op = PipelineOp::kForward;  ///< which pass
  bool with_next = false;        ///< runs at the same time as the next action (DualPipe's F & B)
  std::uint16_t chunk = 0;       ///< of the chip's parts of the model
  std::uint32_t microbatch = 0;  ///< of a step
  bool operator==(const PipelineAction&) const = default;
};

/// The order of all passes on all chips.
struct Schedule {
  ScheduleKind kind = ScheduleKind::kOneFOneB;  ///< whose order it is
  unsigned chips = 1, chunks = 1;               ///< of the pipeline; parts of the model on each
  std::int64_t microbatches = 1;                ///< of a step, on each replica
  std::vector<std::vector<PipelineAction>> actions;  ///< of each chip, in order

  unsigned stages() const { return chips * chunks; }  ///< virtual stages in all
  bool v_shaped() const;                              ///< there and back, not round robin
  /// virtual stage that a chip holds as this chunk
  unsigned stage_of(unsigned chip, unsigned chunk) const;
  unsigned chip_of(unsigned stage) const;   ///< that holds the virtual stage
  unsigned chunk_of(unsigned stage) const;  ///< as which its chip holds the virtual stage
};

/// Errors: microbatches that the schedule cannot take (interleaved: a multiple of the chips;
/// DualPipeV: at least 2 per chip), chunks it does not have.
Result<Schedule> make_schedule(ScheduleKind kind, unsigned chips, std::int64_t microbatches,
                               unsigned chunks = 1);

/// Whether every chip runs every forward and backward exactly once, in an order that can be met.
/// The error names the first action that is missing, doubled or never becomes ready.
std::optional<Diagnostic> schedule_problem(const Schedule& schedule);

/// The most activations each chip holds at once, in microbatches of one chunk: kept from the forward
/// to the last gradient of that chunk and microbatch.
std::vector<unsigned> peak_in_flight(const Schedule& schedule);
/// The same of one virtual stage.
unsigned peak_in_flight(const Schedule& schedule, unsigned stage);

/// How often a chip of DualPipeV runs two passes together: the forward of its first chunk beside a backward of the
/// second, and that of the second beside a backward of the first. @pre microbatches >= 2 chips
std::array<std::int64_t, 2> dualpipe_pairs(unsigned chips, unsigned chip,
                                           std::int64_t microbatches);

/// What one virtual stage takes for one microbatch.
struct StageTime {
  /// of one chunk; forward and both halves of backward
  Seconds forward, backward_input, backward_weight;
  Seconds send;  ///< activations to the next stage; gradients back cost the same
  /// of forward and of backward_input: transfers that wait for nothing else and that kernels of another pass can hide
  Seconds forward_sent{}, backward_sent{};
  double contention = 0;  ///< seconds that kernels lose for each second of transfers beside them
  /// The chip waits for its send unless its next pass goes the other way. Megatron-Core hides sends so: the first and the
  /// last passes of its interleaved schedule have nothing to hide them (schedules.py, overlap_p2p_comm_warmup_flush).
  bool send_alone = false;

  Seconds of(PipelineOp op) const;    ///< time of this pass; a whole backward is the sum of its two
  Seconds sent(PipelineOp op) const;  ///< of it, such transfers
};
/// What an action takes, or two that run together (PipelineAction::with_next). Of two: each has its own pace, kernels
/// of both come after each other on the chip, and transfers of both on its links; whichever is longest. DualPipe:
/// DeepSeek-V3 (arXiv:2412.19437), section 3.2.1.
/// @param stages one per virtual stage. @param pass one action of the chip, or two
Seconds pass_time(const Schedule& schedule, std::span<const StageTime> stages, unsigned chip,
                  std::span<const PipelineAction> pass);
/// When the chips of a pipeline work.
struct PipelineTime {
  Seconds total;                          ///< until the last end; infinite where it cannot end
  std::vector<Seconds> start, end, busy;  ///< of each chip
  Seconds bubble() const;                 ///< total less the busiest chip
};
/// Whether a chip that has run the action `at` of its list waits until what it made has been sent (`send_alone`).
bool waits_for_send(const Schedule& schedule, std::span<const StageTime> stages, unsigned chip,
                    std::size_t at);
/// Runs the schedule: an action starts when its chip is free and its inputs have arrived. Sends
/// between chips take `send` and occupy neither chip, but for those a chip waits for; within a chip they are free.
/// @param stages one per virtual stage.
PipelineTime pipeline_time(const Schedule& schedule, std::span<const StageTime> stages);

}  // namespace flopcast
