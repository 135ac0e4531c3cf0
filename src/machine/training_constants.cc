#include "flopcast/machine/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast {
namespace {

constexpr std::string_view kFile = "training/constants.toml";
using C = TrainingConstants;
using Field = TrainingConstantField;

// Limits are physical: no chip computes faster under load than alone by more than the spread of
// its clocks, no share exceeds one.
constexpr std::array kFields = {
    Field{"matrix_share", &C::matrix_share, 0.5, 1.15, "16/32-bit GEMM rate under load / alone"},
    Field{"narrow_share", &C::narrow_share, 0.4, 1.15, "8-bit GEMM rate under load / alone"},
    Field{"block_share", &C::block_share, 0.4, 1.15,
          "8-bit GEMM rate, scale per block / per tensor"},
    Field{"fp4_share", &C::fp4_share, 0.4, 1.5, "4-bit GEMM rate under load / alone"},
    Field{"unaligned", &C::unaligned, 1, 8, "time of a GEMM with rows off 16 bytes / aligned"},
    Field{"attention_share", &C::attention_share, 0.3, 2, "attention forward rate / table's"},
    Field{"attention_backward_share", &C::attention_backward_share, 0.3, 2,
          "attention backward rate / 2.5 forwards at the table's"},
    Field{"memory_share", &C::memory_share, 0.5, 1.15, "memory-bound rate under load / alone"},
    Field{"collective_share", &C::collective_share, 0.1, 1, "transfer rate in training / alone"},
    Field{"expert_share", &C::expert_share, 0.3, 3, "grouped GEMM rate under load / alone"},
    Field{"power_exponent", &C::power_exponent, 0, 1, "compute rate ~ power limit to this power"},
    Field{"unfused", &C::unfused, 1, 4, "memory traffic / that of fused kernels"},
    Field{"expert_traffic", &C::expert_traffic, 0.1, 2, "traffic of sorting tokens / unfused"},
    Field{"launch_s", &C::launch_s, 0, 1e-4, "s of host per modelled kernel"},
    Field{"launch_transfer_s", &C::launch_transfer_s, 0, 1e-3, "s of host per transfer"},
    Field{"adds_apart", &C::adds_apart, 0, 1, "1: gradients added up by a pass of their own"},
    Field{"microbatch_s", &C::microbatch_s, 0, 0.06, "s per microbatch and virtual stage"},
    Field{"sends_wait", &C::sends_wait, 0, 1,
          "1: interleaved sends hide behind passes the other way only"},
    Field{"step_s", &C::step_s, 0, 0.5, "s per step, a node's mean"},
    Field{"tensor_overlap", &C::tensor_overlap, 0, 1, "of a TP transfer hidden by its GEMM"},
    Field{"expert_eager", &C::expert_eager, 0, 1,
          "of passes over experts' rows by kernels apart, under scales per block"},
    Field{"expert_kernel_s", &C::expert_kernel_s, 0, 1e-4, "s per product of one expert"},
    Field{"expert_host_s", &C::expert_host_s, 0, 1e-4, "s of host per kernel of one expert"},
    Field{"expert_once", &C::expert_once, 0, 1, "1: rows go once to each place that needs them"},
    Field{"expert_overlap", &C::expert_overlap, 0, 1, "of an EP transfer hidden by other work"},
    Field{"async_overlap", &C::async_overlap, 0, 1, "of a TP transfer hidden by weight gradients"},
    Field{"gradient_overlap", &C::gradient_overlap, 0, 1, "of the last backward usable to reduce"},
    Field{"weight_overlap", &C::weight_overlap, 0, 1, "of compute usable to gather weights"},
    Field{"contention", &C::contention, 0, 0.25, "s of compute lost per s of hidden transfer"},
    Field{"straggler", &C::straggler, 0, 0.05, "of the step per doubling of nodes"},
    Field{"workspace_bytes", &C::workspace_bytes, 0, 2e10, "B of context and workspaces"},
    Field{"logit_bytes", &C::logit_bytes, 4, 16, "B per logit while the loss is differentiated"},
    Field{"gradient_copies", &C::gradient_copies, 0, 6, "B per weight beside fp32 gradients"},
    Field{"boundary_copies", &C::boundary_copies, 0, 2, "of a stage's input, per microbatch kept"},
    Field{"whole_inputs", &C::whole_inputs, 0, 1, "1: inputs are kept gathered and in 16 bits"},
    Field{"idle_outputs", &C::idle_outputs, 0, 1, "1: what recompute is told to keep is kept"},
    Field{"apart_activations", &C::apart_activations, 0, 1,
          "1: experts' gated activations are operators apart, which keep their outputs"},
    Field{"whole_windows", &C::whole_windows, 0, 1,
          "1: backward of attention in 8 bits skips nothing outside of its window"},
    Field{"expandable", &C::expandable, 0, 1, "1: segments of the caching allocator grow"},
    Field{"band_low", &C::band_low, 0.3, 1, "10 % quantile of measured / forecast"},
    Field{"band_high", &C::band_high, 1, 3, "90 % quantile of measured / forecast"},
    Field{"band_experts_low", &C::band_experts_low, 0.2, 1, "the same with experts"},
    Field{"band_experts_high", &C::band_experts_high, 1, 4, "the same with experts"},
};

std::optional<Diagnostic> apply(const TomlFile& file, const toml::table& table,
                                TrainingConstants& out, bool own) {
  for (const auto& [key, value] : table) {
    if (key.str() == "source" || key.str() == "basis") continue;
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&, k = key.str()](const Field& f) { return f.name == k; });
    if (field == kFields.end()) {
      return Diagnostic{ErrorCode::kBadInput, place(file, value),
                        fmt::format("there is no constant '{}'", key.str()),
                        "docs/theory/training.md lists them"};
    }
    const auto number = value.value<double>();
    if (!number || !(*number >= field->low && *number <= field->high)) {
      return Diagnostic{
          ErrorCode::kBadInput, place(file, value),
          fmt::format("expected {} between {} and {}", field->name, field->low, field->high),
          std::string(field->meaning)};
    }
    out.*(field->member) = *number;
    out.own_band = out.own_band || (own && field->name.starts_with("band_"));
  }
  return std::nullopt;
}

/// A variant of a software has that one's constants unless it has its own.
/// @return what it is a variant of, farthest first, and itself.
std::vector<std::string> with_base(const TomlFile& builtin, std::string_view software) {
  std::vector<std::string> names = {std::string(software)};
  constexpr std::size_t kDeepest = 4;
  while (names.size() < kDeepest) {
    const auto base = builtin.root["variants"][names.front()].value<std::string>();
    if (!base) break;
    names.insert(names.begin(), *base);
  }
  return names;
}

/// That a file holds constants, and not something else's tables.
std::optional<Diagnostic> foreign_table(const TomlFile& file) {
  constexpr std::string_view kTables[] = {"all",        "chip",     "software", "pair",
                                          "softwares",  "variants", "sources",  "unseen_chip",
                                          "dispatcher", "bands"};
  for (const auto& [key, value] : file.root) {
    if (std::ranges::find(kTables, key.str()) != std::end(kTables)) continue;
    return Diagnostic{
        ErrorCode::kUsage, place(file, value),
        fmt::format(
            "'{}' is none of the tables of constants of training: all, chip, software, pair",
            key.str()),
        "give a file such as tools/fit_training.py writes"};
  }
  return std::nullopt;
}

/// Tables in the order in which they override: all, the architecture's, the chip's, the software's,
/// the architecture's under that software.
/// @param applied how many there were
std::optional<Diagnostic> apply_file(const TomlFile& file, const Chip& chip,
                                     const std::vector<std::string>& software,
                                     TrainingConstants& out, unsigned* applied = nullptr) {
  const auto part =
      [&](const toml::node_view<const toml::node>& node) -> std::optional<Diagnostic> {
    const toml::table* table = node.as_table();
    if (table == nullptr) return std::nullopt;
    if (applied != nullptr) ++*applied;
    return apply(file, *table, out, applied != nullptr);
  };
  const toml::table& root = file.root;
  if (auto error = part(root["all"])) return error;
  if (auto error = part(root["chip"][chip.architecture])) return error;
  if (auto error = part(root["chip"][chip.name])) return error;
  for (const std::string& name : software) {
    if (auto error = part(root["software"][name])) return error;
  }
  for (const std::string& name : software) {
    if (auto error = part(root["pair"][fmt::format("{}+{}", chip.architecture, name)])) {
      return error;
    }
  }
  return std::nullopt;
}

/// Chips of an architecture that no run was measured on.
std::optional<Diagnostic> widen_unseen(const TomlFile& file, const Chip& chip,
                                       TrainingConstants& out) {
  const auto chips = file.root["chip"];
  if (chips[chip.architecture] || chips[chip.name]) return std::nullopt;
  const Result<double> factor = unseen_chip_factor();
  if (!factor) return factor.error();
  for (double* low : {&out.band_low, &out.band_experts_low}) *low /= *factor;
  for (double* high : {&out.band_high, &out.band_experts_high}) *high *= *factor;
  return std::nullopt;
}

/// Parsed once: fits and searches load constants thousands of times.
const Result<TomlFile>& builtin_file() {
  static const Result<TomlFile> file = []() -> Result<TomlFile> {
    for (const CatalogFile& one : catalog_files()) {
      if (one.path == kFile) return parse_toml(one.text, "catalog/" + std::string(kFile), false);
    }
    return Diagnostic{ErrorCode::kBadInput, std::string(kFile), "is not built in", "rebuild"};
  }();
  return file;
}

std::vector<std::string> softwares(const TomlFile& file) {
  std::vector<std::string> names;
  if (const toml::array* list = file.root["softwares"].as_array()) {
    for (const toml::node& item : *list) names.push_back(item.value_or(std::string()));
  }
  return names;
}

}  // namespace

std::span<const TrainingConstantField> training_constant_fields() { return kFields; }

std::string software_name(std::string_view software, const Chip& chip) {
  const Result<TomlFile>& file = builtin_file();
  const std::vector<std::string> names = file ? softwares(*file) : std::vector<std::string>{};
  const bool only_xla = chip.architecture == "tpu" || chip.architecture == "trainium";
  if (software.empty() && only_xla) return "xla";
  if (software.empty()) return names.empty() ? std::string() : names.front();
  for (const std::string& known : names) {
    if (name_key(known) == name_key(software)) return known;
  }
  return std::string(software);
}

Result<double> unseen_chip_factor() {
  const Result<TomlFile>& file = builtin_file();
  if (!file) return file.error();
  const auto table = file->root["unseen_chip"];
  const double factor = table["value"].value_or(0.0);
  const std::string source = table["source"].value_or(std::string());
  const bool told = file->root["sources"][source] && table["basis"].is_string();
  if (factor >= 1 && told) return factor;
  return Diagnostic{ErrorCode::kBadInput, file->name,
                    "[unseen_chip] has no value of at least 1 with its source and basis",
                    "give all three, and the source a line in [sources]"};
}

Result<TrainingConstants> chip_constants(const Chip& chip) {
  const Result<TomlFile>& builtin = builtin_file();
  if (!builtin) return builtin.error();
  TrainingConstants constants;
  if (auto error = apply_file(*builtin, chip, {}, constants)) return *error;
  return constants;
}

namespace {

std::optional<Diagnostic> apply_own(const FitFile& own, const Chip& chip,
                                    const std::vector<std::string>& software, bool must,
                                    TrainingConstants& out) {
  const Result<TomlFile> file = parse_toml(own.text, own.path, false);
  if (!file) return file.error();
  if (auto error = foreign_table(*file)) return error;
  unsigned applied = 0;
  if (auto error = apply_file(*file, chip, software, out, &applied)) return error;
  if (applied > 0 || !must) return std::nullopt;
  return Diagnostic{ErrorCode::kUsage, own.path,
                    fmt::format("has no constants of {} ({}) under {}", chip.name,
                                chip.architecture, software.back()),
                    "name the chip and software that were measured, or leave the fit out"};
}

}  // namespace

Result<TrainingConstants> training_constants(const Chip& chip, std::string_view software,
                                             OwnFiles fits, bool must) {
  const Result<TomlFile>& builtin = builtin_file();
  if (!builtin) return builtin.error();
  const std::vector<std::string> known = softwares(*builtin);
  if (std::find(known.begin(), known.end(), software) == known.end()) {
    return Diagnostic{ErrorCode::kUsage, std::string(software), "is no known training software",
                      fmt::format("known: {}", fmt::join(known, ", "))};
  }
  TrainingConstants constants;
  const std::vector<std::string> names = with_base(*builtin, software);
  if (auto error = apply_file(*builtin, chip, names, constants)) return *error;
  if (auto error = widen_unseen(*builtin, chip, constants)) return *error;
  for (const auto& own : fits) {
    if (own->kind != FitKind::kConstants) continue;
    if (auto error = apply_own(*own, chip, names, must, constants)) return *error;
  }
  return constants;
}

Result<DispatcherConstants> dispatcher_constants(const Chip& chip, std::string_view dispatcher,
                                                 OwnFiles fits) {
  const Result<TomlFile>& builtin = builtin_file();
  if (!builtin) return builtin.error();
  const auto software = builtin->root["dispatcher"][dispatcher].value<std::string>();
  if (!software) {
    return Diagnostic{ErrorCode::kUsage, std::string(dispatcher), "is no known dispatcher",
                      "[dispatcher] of catalog/training/constants.toml has those there are"};
  }
  const Result<TrainingConstants> constants = training_constants(chip, *software, fits, false);
  if (!constants) return constants.error();
  return DispatcherConstants{constants->expert_once, constants->expert_traffic};
}

std::vector<std::string> training_software() {
  const Result<TomlFile>& file = builtin_file();
  return file ? softwares(*file) : std::vector<std::string>{};
}

}  // namespace flopcast
