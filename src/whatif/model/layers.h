// Layers: repeats in what one microbatch runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "whatif/model/program.h"
#include "whatif/model/repeats.h"

namespace flopcast::whatif {

/// By what layers are taken to be alike.
enum class Level : std::uint8_t {
  kKernel,   ///< kernels with their launch shapes
  kName,     ///< kernels' names
  kOperator  ///< outermost operators and the shapes of their inputs
};
std::uint32_t token_at(const Work& work, Level level);
/// The tokens of these works at a level.
std::vector<std::uint32_t> tokens_of(const std::vector<Work>& works,
                                     std::span<const std::uint32_t> of, Level level);

/// One work of the sequence in which layers are looked for.
struct LayerItem {
  const Work* work = nullptr;
  Time time;               ///< of the GPU
  std::uint32_t part = 0;  ///< of the model (stage and chunk): layers do not cross parts
};

struct LayerSpan {
  std::uint32_t first = 0, last = 0;  ///< items first .. last-1
};

/// What was found.
struct LayerFinding {
  std::vector<LayerSpan> layers;  ///< in order; empty: see `evidence`
  Level level = Level::kKernel;
  std::uint32_t repeats = 1;  ///< the whole sequence holds the model so often
  std::string evidence;       ///< how they were found, or why not
};

/// Layers of a module class, as told by rows "nn.Module: X_3".
struct ModuleLayers {
  std::uint32_t count = 0;  ///< 0: no such rows
  std::string evidence;     ///< "24 modules Qwen2DecoderLayer"
  std::vector<std::string> classes;
};
ModuleLayers find_module_layers(const TraceSet& set, const NameFacts& facts,
                                const replaying::RankModel& rank);

/// @param whole_window steps are not marked: the sequence may hold several.
LayerFinding find_layers(std::span<const LayerItem> items, bool whole_window);

}  // namespace flopcast::whatif
