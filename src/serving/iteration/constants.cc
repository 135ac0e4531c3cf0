#include "serving/iteration/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files/read_file.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "flopcast/serving/iteration.h"

namespace flopcast::serving {
namespace {

constexpr std::string_view kConstantsFile = "serving/constants.toml";
using C = Constants;

struct ConstantField {
  std::string_view name;
  double C::*member;
  double low, high;  ///< physical limits
};
constexpr std::array kConstantFields = {
    ConstantField{"flop_share", &C::flop_share, 0.1, 1},
    ConstantField{"byte_share", &C::byte_share, 0.3, 1},
    ConstantField{"expert_byte_share", &C::expert_byte_share, 0.2, 1},
    ConstantField{"attention_byte_share", &C::attention_byte_share, 0.2, 1},
    ConstantField{"attention_flop_share", &C::attention_flop_share, 0.1, 1},
    ConstantField{"four_bit_share", &C::four_bit_share, 0.4, 1},
    ConstantField{"weight_only_share", &C::weight_only_share, 0.4, 1},
    ConstantField{"mixed_attention", &C::mixed_attention, 1, 4},
    ConstantField{"table_time", &C::table_time, 0.4, 2},
    ConstantField{"prompt_flop_share", &C::prompt_flop_share, 0, 0.9},
    ConstantField{"hidden_passes", &C::hidden_passes, 4, 40},
    ConstantField{"copy_passes", &C::copy_passes, 0, 8},
    ConstantField{"expert_layer_s", &C::expert_layer_s, 0, 1e-4},
    ConstantField{"element_kernels", &C::element_kernels, 0, 20},
    ConstantField{"kernel_floor_s", &C::kernel_floor_s, 0, 2e-5},
    ConstantField{"floor_factor", &C::floor_factor, 0.3, 3},
    ConstantField{"collective_s", &C::collective_s, 1e-6, 5e-5},
    ConstantField{"host_serial_s", &C::host_serial_s, 0, 1e-2},
    ConstantField{"host_serial_request_s", &C::host_serial_request_s, 0, 1e-4},
    ConstantField{"host_s", &C::host_s, 0, 1e-2},
    ConstantField{"host_request_s", &C::host_request_s, 0, 1e-4},
    ConstantField{"eager_layer_s", &C::eager_layer_s, 0, 1e-3},
    ConstantField{"eager_kernel_s", &C::eager_kernel_s, 0, 1e-4},
    ConstantField{"front_s", &C::front_s, 0, 1},
    ConstantField{"back_s", &C::back_s, 0, 1},
    ConstantField{"quantise_kernels", &C::quantise_kernels, 0, 3},
    ConstantField{"routing_spread", &C::routing_spread, 0, 2},
    ConstantField{"imbalance", &C::imbalance, 1, 3},
    ConstantField{"context_bytes", &C::context_bytes, 0, 2e10},
    ConstantField{"visible_share", &C::visible_share, 0.9, 1},
};

std::optional<Diagnostic> set_constant(const Setting& setting, Constants& out) {
  const auto field =
      std::find_if(kConstantFields.begin(), kConstantFields.end(),
                   [&setting](const ConstantField& known) { return known.name == setting.key; });
  if (field == kConstantFields.end()) {
    return setting_error(setting, fmt::format("there is no constant '{}'", setting.key),
                         "src/serving/iteration/constants.h lists them");
  }
  const Result<double> number = setting_number(setting, UnitKind::kNone);
  if (!number) return number.error();
  if (*number < field->low || *number > field->high) {
    return setting_error(
        setting, fmt::format("expected {} between {} and {}", field->name, field->low, field->high),
        "limits are physical");
  }
  out.*(field->member) = *number;
  return std::nullopt;
}

/// The values of one table, where there is one.
std::optional<Diagnostic> apply_constants(const TomlFile& file,
                                          const toml::node_view<const toml::node>& node,
                                          Constants& out, unsigned* applied = nullptr) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return std::nullopt;
  if (applied != nullptr) ++*applied;
  const Result<std::vector<Setting>> settings = settings_of(file, *table);
  if (!settings) return settings.error();
  for (const Setting& setting : *settings) {
    if (auto error = set_constant(setting, out)) return error;
  }
  return std::nullopt;
}

/// Tables in the order in which they override.
/// @param applied how many there were
std::optional<Diagnostic> read_constants(const TomlFile& file, const Chip& chip,
                                         ServingEngine engine, Constants& out,
                                         unsigned* applied = nullptr) {
  const toml::table& root = file.root;
  const auto part = [&](const toml::node_view<const toml::node>& node) {
    return apply_constants(file, node, out, applied);
  };
  if (auto error = part(root["all"])) return error;
  if (auto error = part(root["architecture"][chip.architecture])) return error;
  if (auto error = part(root["chip"][chip.name])) return error;
  if (auto error = part(root["engine"][name(engine)])) return error;
  const std::string pair = fmt::format("{}+{}", chip.architecture, name(engine));
  if (auto error = part(root["pair"][pair])) return error;
  return std::nullopt;
}

/// All tables, whatever chip and engine they are of.
std::optional<Diagnostic> check_constants(const TomlFile& file) {
  const toml::table& root = file.root;
  Constants checked;
  if (auto error = apply_constants(file, root["all"], checked)) return error;
  for (const std::string_view head : {"architecture", "chip", "engine", "pair"}) {
    const toml::table* tables = root[head].as_table();
    if (tables == nullptr) continue;
    for (const auto& entry : *tables) {
      if (auto error = apply_constants(file, (*tables)[entry.first.str()], checked)) return error;
    }
  }
  return std::nullopt;
}

TomlFile& constants_in_use() {
  static TomlFile file = [] {
    for (const CatalogFile& known : catalog_files()) {
      if (known.path != kConstantsFile) continue;
      Result<TomlFile> read = parse_toml(known.text, "catalog/" + std::string(known.path), true);
      // Built in, and read by a test.
      if (read) return std::move(*read);
    }
    return TomlFile{};
  }();
  return file;
}

}  // namespace

Result<Constants> parse_constants(std::string_view text, const Chip& chip, ServingEngine engine) {
  const Result<TomlFile> file = parse_toml(text, "constants", true);
  if (!file) return file.error();
  Constants out;
  if (auto error = read_constants(*file, chip, engine, out)) return *error;
  return out;
}

namespace {

/// That a file holds constants of engines, and not something else's tables.
std::optional<Diagnostic> foreign_constants(const TomlFile& file) {
  constexpr std::string_view kTables[] = {"sources", "all",    "architecture",
                                          "chip",    "engine", "pair"};
  for (const auto& [key, value] : file.root) {
    if (std::ranges::find(kTables, key.str()) != std::end(kTables)) continue;
    return Diagnostic{ErrorCode::kUsage, place(file, value),
                      fmt::format("'{}' is none of the tables of constants of a serving engine: "
                                  "all, architecture, chip, engine, pair",
                                  key.str()),
                      "give a file such as tools/fit_serving.py writes"};
  }
  return std::nullopt;
}

std::optional<Diagnostic> apply_own(const FitFile& own, const Chip& chip, ServingEngine engine,
                                    Constants& out) {
  const Result<TomlFile> file = parse_toml(own.text, own.path, false);
  if (!file) return file.error();
  if (auto error = foreign_constants(*file)) return error;
  unsigned applied = 0;
  if (auto error = read_constants(*file, chip, engine, out, &applied)) return error;
  if (applied > 0) return std::nullopt;
  return Diagnostic{ErrorCode::kUsage, own.path,
                    fmt::format("has no constants of {} ({}) under {}", chip.name,
                                chip.architecture, name(engine)),
                    "name the chip and engine that were measured, or leave the fit out"};
}

/// What the cluster's own fits put over the catalogue's.
std::optional<Diagnostic> apply_fits(const Cluster& cluster, ServingEngine engine, Constants& out) {
  for (const auto& fit : cluster.fits) {
    if (fit->kind != FitKind::kConstants) continue;
    if (auto error = apply_own(*fit, cluster.chip, engine, out)) return error;
  }
  return std::nullopt;
}

}  // namespace

Constants constants_for(const Cluster& cluster, ServingEngine engine) {
  Constants out;
  if (read_constants(constants_in_use(), cluster.chip, engine, out)) out = Constants{};
  (void)apply_fits(cluster, engine, out);
  return out;
}

}  // namespace flopcast::serving

namespace flopcast {

std::optional<Diagnostic> own_constants_problem(const Cluster& cluster, ServingEngine engine) {
  serving::Constants tried;
  return serving::apply_fits(cluster, engine, tried);
}

std::optional<Diagnostic> replace_serving_constants(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  Result<TomlFile> file = parse_toml(*text, path.string(), true);
  if (!file) return file.error();
  if (auto error = serving::check_constants(*file)) return error;
  serving::constants_in_use() = std::move(*file);
  return std::nullopt;
}

}  // namespace flopcast
