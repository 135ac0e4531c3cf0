#include "cost/operators/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "cost/operators/inputs.h"
#include "flopcast/trace.h"

namespace flopcast::cost {
namespace {

constexpr std::string_view kFolder = "operators/";
constexpr std::string_view kClassesFile = "operators/classes.toml";
constexpr double kAligned = 16;     // bytes that fast kernels load at a time
constexpr std::int64_t kTiny = 16;  // rows or columns: no tile is smaller

Diagnostic bad_table(const TomlFile& file, const toml::node& node, std::string what) {
  return {ErrorCode::kBadInput, place(file, node), std::move(what),
          "tools/fit_operators.py writes such files"};
}

/// The tables of [[class]].
std::vector<const toml::table*> class_tables(const toml::table& root) {
  std::vector<const toml::table*> tables;
  const toml::array* all = root["class"].as_array();
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    if (const toml::table* table = all->get(i)->as_table()) tables.push_back(table);
  }
  return tables;
}

std::vector<std::string> words_of(const toml::table& table, std::string_view key) {
  std::vector<std::string> words;
  const toml::array* all = table[key].as_array();
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    std::string word = all->get(i)->value_or(std::string());
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

std::optional<ClassRate> parse_rate(std::string_view text) {
  if (text == "bandwidth") return ClassRate::kBandwidth;
  if (text == "matrix") return ClassRate::kMatrix;
  if (text == "cores") return ClassRate::kCores;
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Whether what lies behind one another in memory is a multiple of what fast kernels load.
bool aligned(std::int64_t extent, double element_bytes) {
  return std::fmod(static_cast<double>(extent) * element_bytes, kAligned) == 0;
}

Result<ClassSpeed> speed_of(const TomlFile& file, const toml::table& table) {
  ClassSpeed speed;
  speed.floor_s = table["floor_s"].value_or(-1.0);
  speed.share = table["share"].value_or(0.0);
  const toml::array* spread = table["spread"].as_array();
  for (std::size_t i = 0; i < speed.spread.size(); ++i) {
    speed.spread[i] = spread != nullptr && i < spread->size() ? spread->get(i)->value_or(0.0) : 0.0;
  }
  const bool good = speed.floor_s >= 0 && speed.floor_s < 1 && speed.share > 0 &&
                    std::isfinite(speed.share) && speed.spread[0] >= 1 && speed.spread[1] >= 1;
  if (!good) {
    return bad_table(file, table, "needs floor_s (seconds), share (> 0) and spread (two, >= 1)");
  }
  return speed;
}

Result<std::shared_ptr<const OperatorTables>> read_tables() {
  auto tables = std::make_shared<OperatorTables>();
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != kClassesFile) continue;
    Result<OperatorClasses> classes = OperatorClasses::parse(file.text, std::string(file.path));
    if (!classes) return classes.error();
    tables->classes = std::move(*classes);
  }
  for (const CatalogFile& file : catalog_files()) {
    if (!file.path.starts_with(kFolder) || file.path == kClassesFile) continue;
    Result<ChipSpeeds> speeds = parse_speeds(file.text, std::string(file.path), tables->classes);
    if (!speeds) return speeds.error();
    tables->chips.push_back(std::move(*speeds));
  }
  return std::shared_ptr<const OperatorTables>(std::move(tables));
}

}  // namespace

Result<OperatorClasses> OperatorClasses::parse(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  OperatorClasses made;
  for (const toml::table* table : class_tables(file->root)) {
    OperatorClass one;
    one.name = (*table)["name"].value_or(std::string());
    const auto rate = parse_rate((*table)["rate"].value_or(std::string()));
    if (one.name.empty() || !rate) {
      return bad_table(*file, *table, "needs a name and a rate: bandwidth, matrix or cores");
    }
    one.rate = *rate;
    one.kernels = words_of(*table, "kernels");
    one.operations = words_of(*table, "operators");
    made.classes_.push_back(std::move(one));
  }
  if (made.classes_.empty()) return bad_table(*file, file->root, "has no [[class]]");
  return made;
}

std::size_t OperatorClasses::named(std::string_view name) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].name == name) return i;
  }
  return kUnknown;
}

std::size_t OperatorClasses::of(const RecordedKernel& kernel) const {
  const std::string_view operation = plain_operation(kernel.operation);
  std::size_t by_operation = kUnknown;
  for (std::size_t i = 0; i < classes_.size() && by_operation == kUnknown; ++i) {
    const auto& names = classes_[i].operations;
    if (std::find(names.begin(), names.end(), operation) != names.end()) by_operation = i;
  }
  const KernelKind kind = kernel_kind(kernel.name);
  if (kind == KernelKind::kCommunication) return kUnknown;
  if (kind == KernelKind::kAttention) return named("attention");
  if (kind == KernelKind::kGemm) {
    const bool matrix =
        by_operation != kUnknown && classes_[by_operation].rate == ClassRate::kMatrix;
    return product_class(matrix ? by_operation : named("gemm"), kernel.inputs, operation);
  }
  const std::string name = lower_case(kernel.name);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    for (const std::string& word : classes_[i].kernels) {
      if (name.find(word) != std::string::npos) return i;
    }
  }
  if (by_operation == kUnknown) return kUnknown;
  return product_class(by_operation, kernel.inputs, operation);
}

std::size_t OperatorClasses::product_class(std::size_t plain, std::span<const OperatorInput> inputs,
                                           std::string_view operation) const {
  if (plain == kUnknown || inputs.empty()) return plain;
  if (classes_[plain].name == "convolution") {
    const OperatorInput& picture = inputs.front();
    const bool odd = picture.size.size() > 1 && !aligned(picture.size[1], picture.element_bytes);
    return odd ? named("odd convolution") : plain;
  }
  if (classes_[plain].name != "gemm") return plain;
  const std::optional<Kernel> kernel = operator_kernel(operation, inputs);
  const Gemm* gemm = kernel ? std::get_if<Gemm>(&*kernel) : nullptr;
  if (gemm == nullptr) return plain;
  if (gemm->batch > 1 && std::max(gemm->m, gemm->n) <= kTiny) return named("tiny gemm");
  if (gemm->batch > 1 && std::min(gemm->m, gemm->n) <= kTiny) return named("thin gemm");
  double bytes = 2;
  for (const OperatorInput& input : inputs) {
    if (input.size.size() > 1 && input.element_bytes > 0) bytes = input.element_bytes;
  }
  return aligned(gemm->n, bytes) && aligned(gemm->k, bytes) ? plain : named("odd gemm");
}

Result<ChipSpeeds> parse_speeds(std::string_view text, const std::string& where,
                                const OperatorClasses& classes) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  ChipSpeeds made;
  made.chip = file->root["chip"].value_or(std::string());
  made.source = file->root["source"].value_or(std::string());
  if (made.chip.empty()) return bad_table(*file, file->root, "names no chip");
  std::vector<std::optional<ClassSpeed>> speeds(classes.size());
  for (const toml::table* table : class_tables(file->root)) {
    const std::string name = (*table)["name"].value_or(std::string());
    const std::size_t i = classes.named(name);
    if (i == OperatorClasses::kUnknown) {
      return bad_table(*file, *table, fmt::format("classes.toml has no class '{}'", name));
    }
    const Result<ClassSpeed> speed = speed_of(*file, *table);
    if (!speed) return speed.error();
    speeds[i] = *speed;
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!speeds[i]) {
      return bad_table(*file, file->root, fmt::format("lacks class '{}'", classes[i].name));
    }
    made.classes.push_back(*speeds[i]);
  }
  return made;
}

Result<std::shared_ptr<const OperatorTables>> operator_tables() {
  static const Result<std::shared_ptr<const OperatorTables>> tables = read_tables();
  return tables;
}

}  // namespace flopcast::cost
