// The recorded program by passes: which stretches a pass of each part of the model is made of.
#pragma once

#include <map>
#include <optional>

#include "whatif/structure/recorded/library.h"

namespace flopcast::whatif::structure {

/// See the head of this file. Stretches are indices into Library::stretches.
class RecordedPasses {
 public:
  RecordedPasses(const TraceModel& model, const Library& library);

  /// Of a layer of the whole model; those beyond the recorded ones go on as the last ones repeat.
  std::optional<std::uint32_t> layer(Pass pass, std::uint32_t number) const;
  /// What a pass holds besides layers: nearer to the model's input (kBefore), or to its output
  /// (kAfter), or all of it (kWhole). `part` of `parts` virtual stages of the new run.
  std::vector<std::uint32_t> edge(Pass pass, UnitPart side, std::uint32_t part,
                                  std::uint32_t parts) const;
  /// Before the first pass of a step; after the last.
  const std::vector<std::uint32_t>& prelude(std::uint32_t stage, std::uint32_t stages) const;
  const std::vector<std::uint32_t>& postlude(std::uint32_t stage, std::uint32_t stages) const;

  /// Parameters of a stage with so many layers over those of the recorded stage it is like: what the
  /// optimizer's work grows with. Buckets of no layer tell what embedding and head have.
  double parameters(std::uint32_t stage, std::uint32_t stages, std::uint32_t layers) const;

  /// The stretch of a message, or one like it.
  std::optional<std::uint32_t> message(MessageWay way) const;

  /// Buckets: the stretch that stands for them, bytes of a bucket and of a layer's gradients.
  struct Buckets {
    std::optional<std::uint32_t> stretch;
    double bucket_bytes = 0, layer_bytes = 0;
    bool in_weights = false;  ///< launched in passes of weights
  };
  const Buckets& buckets() const { return buckets_; }

 private:
  void read_rank(const ModelStage& stage);
  void read_segment(const ModelStage& stage, const RecordedStretch& at);
  void read_buckets();
  void choose_messages();

  const TraceModel& model_;
  const Library& library_;
  std::map<std::pair<Pass, std::uint32_t>, std::uint32_t> layers_;
  /// by pass, side and virtual stage
  std::map<std::tuple<Pass, UnitPart, std::uint32_t>, std::vector<std::uint32_t>> edges_;
  std::vector<std::vector<std::uint32_t>> preludes_, postludes_;  // [stage]
  std::map<MessageWay, std::uint32_t> messages_;
  Buckets buckets_;
};

}  // namespace flopcast::whatif::structure
