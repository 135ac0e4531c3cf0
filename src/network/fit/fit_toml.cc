// A fit as TOML: what `flopcast calibrate network -o` writes and the catalogue ships.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/text/toml.h"
#include "base/text/toml_string.h"
#include "network/fit/fit.h"

namespace flopcast::network {
namespace {

template <typename Range>
std::string list(const Range& values, int digits) {
  std::string out;
  for (const double value : values) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{:.{}g}", value, digits);
  }
  return "[" + out + "]";
}

std::string list(const Bands& bands) {
  std::string out;
  for (const Band& band : bands) {
    if (!out.empty()) out += ", ";
    out += list(std::array{band.low, band.high}, kTimeDigits);
  }
  return "[" + out + "]";
}

/// Knots at consecutive powers of two need only the first.
bool octaves(const LogCurve& curve) {
  const double first = curve.log2_size.front();
  if (first != std::floor(first)) return false;
  for (std::size_t i = 0; i < curve.log2_size.size(); ++i) {
    if (curve.log2_size[i] != first + static_cast<double>(i)) return false;
  }
  return true;
}

std::string curve_line(const MeasuredCurve& curve, const std::string& source) {
  std::vector<double> us;
  for (const double time : curve.curve.log_time) us.push_back(std::exp(time) * 1e6);
  const CollectiveCase& what = curve.what;
  const std::string sizes = octaves(curve.curve)
                                ? fmt::format("{:g}", curve.curve.log2_size.front())
                                : list(curve.curve.log2_size, kCoefficientDigits);
  const ThreeTerms& t = curve.terms;
  return fmt::format(
      "  {{ op = \"{}\", library = {}, version = {}, type = {}, ranks = {}, nodes = {}, chip = {}, "
      "source = \"{}\", terms = {}, log2_bytes = {}, us = {} }},\n",
      name(what.op), toml_string(what.library), toml_string(what.version), toml_string(what.type),
      what.ranks, what.nodes, toml_string(curve.chip), source,
      list(std::array{t.latency, t.per_byte, t.per_root}, kCoefficientDigits), sizes,
      list(us, kTimeDigits));
}

constexpr std::string_view kPreamble =
    "# Collective times fitted to measurements by `flopcast calibrate network`.\n"
    "#   curve   time (us) at powers of two from 2^log2_bytes, or at the sizes listed there;\n"
    "#           terms: a + b S + c sqrt(S) in seconds and bytes\n"
    "#   form    seconds over ranks, nodes and bytes: nine coefficients, docs/theory/network.md\n"
    "#   bands   10 and 90 % quantiles of log(measured / forecast) in standard deviations, for "
    "four\n"
    "#           size classes: cases measured with other versions, ranks that were measured with "
    "other\n"
    "#           operations or libraries, and ranks that were not measured; bands_across: between "
    "nodes\n\n";

constexpr std::array<std::string_view, kDistances> kBandKeys = {"version", "operation", "ranks"};
constexpr std::array<std::string_view, 2> kBandTables = {"bands", "bands_across"};

}  // namespace

std::string write_fit(const CollectiveFit::State& state) {
  std::map<std::string, std::string> sources;  // text to short name
  for (const auto& [name, system] : state.systems) {
    for (const MeasuredCurve& curve : system.curves) sources.try_emplace(curve.source);
  }
  std::string out(kPreamble);
  out += "[sources]\n";
  std::size_t number = 0;
  for (auto& [text, id] : sources) {
    id = fmt::format("s{}", ++number);
    out += fmt::format("{} = {}\n", id, toml_string(text));
  }
  for (const auto& [name, system] : state.systems) {
    out += fmt::format("\n[system.{}]\n", toml_string(name));
    const SystemBands bands = state.bands_of(name);
    for (std::size_t across = 0; across <= (is_across(system) ? 1U : 0U); ++across) {
      for (std::size_t d = 0; d < kDistances; ++d) {
        out +=
            fmt::format("{}.{} = {}\n", kBandTables[across], kBandKeys[d], list(bands[across][d]));
      }
    }
    out += "form = [\n";
    for (const auto& [of, form] : system.forms) {
      out += fmt::format("  {{ op = \"{}\", mode = \"{}\", coefficients = {} }},\n",
                         flopcast::name(of.first), of.second,
                         list(form.coefficients, kCoefficientDigits));
    }
    out += "]\ncurve = [\n";
    for (const MeasuredCurve& curve : system.curves)
      out += curve_line(curve, sources[curve.source]);
    out += "]\n";
  }
  return out;
}

namespace {

class FitReader {
 public:
  FitReader(std::string where, CollectiveFit::State& state)
      : where_(std::move(where)), state_(state) {}

  std::optional<Diagnostic> read(const toml::table& root) {
    if (const toml::table* sources = root["sources"].as_table()) {
      for (const auto& [id, text] : *sources) {
        sources_[std::string(id.str())] = text.value_or(std::string());
      }
    }
    const toml::table* systems = root["system"].as_table();
    if (systems == nullptr) return fault(root, "no table 'system'");
    for (const auto& [name, node] : *systems) {
      const toml::table* table = node.as_table();
      if (table == nullptr) return fault(node, "a system must be a table");
      if (auto error = read_system(std::string(name.str()), *table)) return error;
    }
    return std::nullopt;
  }

 private:
  Diagnostic fault(const toml::node& node, std::string what) const {
    return {ErrorCode::kBadInput, fmt::format("{}:{}", where_, node.source().begin.line),
            std::move(what),
            "make the file with `flopcast calibrate network FILE.csv -o FILE.toml`"};
  }

  static bool numbers(const toml::node* node, std::vector<double>& out) {
    const toml::array* array = node == nullptr ? nullptr : node->as_array();
    if (array == nullptr) return false;
    for (const toml::node& value : *array) {
      const std::optional<double> number = value.value<double>();
      if (!number || !std::isfinite(*number)) return false;
      out.push_back(*number);
    }
    return true;
  }

  std::optional<Diagnostic> read_system(const std::string& name, const toml::table& table) {
    MeasuredSystem& system = state_.systems[name];
    if (const toml::array* forms = table["form"].as_array()) {
      for (const toml::node& node : *forms) {
        if (auto error = read_form(node, system)) return error;
      }
    }
    if (const toml::array* curves = table["curve"].as_array()) {
      for (const toml::node& node : *curves) {
        if (auto error = read_curve(node, name, system)) return error;
      }
    }
    if (system.forms.empty() || system.curves.empty()) {
      return fault(table, "a system needs forms and curves");
    }
    std::ranges::sort(system.curves, {}, &MeasuredCurve::what);
    SystemBands& bands = state_.bands[name];
    for (const std::size_t across : {0, 1}) {
      // Files of before know no difference.
      const bool apart = table.contains(kBandTables[across]);
      const std::string_view of = kBandTables[apart ? across : 0];
      for (std::size_t d = 0; d < kDistances; ++d) {
        if (auto error = read_bands(table, of, kBandKeys[d], bands[across][d])) return error;
      }
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> read_bands(const toml::table& table, std::string_view of,
                                       std::string_view key, Bands& bands) const {
    const toml::array* array = table[of][key].as_array();
    if (array == nullptr || array->size() != kSizeClasses) {
      return fault(table, fmt::format("{}.{} must be {} pairs", of, key, kSizeClasses));
    }
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      std::vector<double> pair;
      if (!numbers(array->get(i), pair) || pair.size() != 2 || pair[0] > pair[1]) {
        return fault(*array->get(i), "a band must be two ascending numbers");
      }
      bands[i] = {pair[0], pair[1]};
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> read_form(const toml::node& node, MeasuredSystem& system) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fault(node, "a form must be a table");
    const auto op = parse_collective_op((*table)["op"].value_or(std::string_view()));
    std::vector<double> values;
    if (!op || !numbers(table->get("coefficients"), values) ||
        values.size() != PooledForm::kTerms) {
      return fault(node, fmt::format("a form needs an op and {} coefficients", PooledForm::kTerms));
    }
    PooledForm form;
    double sum = 0;
    for (std::size_t i = 0; i < PooledForm::kTerms; ++i) {
      if (values[i] < 0) return fault(node, "coefficients must not be negative");
      sum += form.coefficients[i] = values[i];
    }
    if (!(sum > 0)) return fault(node, "a form of zeros has no logarithm");
    system.forms[{*op, (*table)["mode"].value_or(std::string())}] = form;
    return std::nullopt;
  }

  std::optional<Diagnostic> read_knots(const toml::node& node, const toml::table& table,
                                       LogCurve& curve) const {
    std::vector<double> us;
    if (!numbers(table.get("us"), us) || us.empty() || us.size() > 4096) {
      return fault(node, "a curve needs a list of times 'us'");
    }
    if (const auto first = table["log2_bytes"].value<double>()) {
      for (std::size_t i = 0; i < us.size(); ++i) {
        curve.log2_size.push_back(*first + static_cast<double>(i));
      }
    } else if (!numbers(table.get("log2_bytes"), curve.log2_size)) {
      return fault(node, "log2_bytes must be a number or as many numbers as there are times");
    }
    for (const double time : us) {
      if (!(time > 0)) return fault(node, "times must be positive");
      curve.log_time.push_back(std::log(time * 1e-6));
    }
    const bool ascending = std::ranges::is_sorted(curve.log2_size, std::ranges::less_equal{}) &&
                           std::ranges::is_sorted(curve.log_time);
    const bool sane = curve.log2_size.size() == us.size() && curve.log2_size.front() >= 0 &&
                      curve.log2_size.back() <= 60;
    if (!ascending || !sane) return fault(node, "sizes must rise and times must not fall");
    return std::nullopt;
  }

  std::optional<Diagnostic> read_curve(const toml::node& node, const std::string& system_name,
                                       MeasuredSystem& system) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fault(node, "a curve must be a table");
    MeasuredCurve curve;
    const auto op = parse_collective_op((*table)["op"].value_or(std::string_view()));
    const auto ranks = (*table)["ranks"].value_or(std::int64_t{0});
    const auto nodes = (*table)["nodes"].value_or(std::int64_t{0});
    constexpr std::int64_t kMostRanks = 1 << 24;
    if (!op || ranks < 2 || nodes < 1 || nodes > ranks || ranks > kMostRanks) {
      return fault(node, "a curve needs op, ranks >= 2 and 1 <= nodes <= ranks");
    }
    std::vector<double> terms;
    if (!numbers(table->get("terms"), terms) || terms.size() != 3) {
      return fault(node, "terms must be three numbers");
    }
    curve.terms = {terms[0], terms[1], terms[2]};
    curve.what = {system_name,
                  (*table)["library"].value_or(std::string()),
                  (*table)["version"].value_or(std::string()),
                  (*table)["type"].value_or(std::string()),
                  *op,
                  static_cast<unsigned>(ranks),
                  static_cast<unsigned>(nodes)};
    curve.chip = (*table)["chip"].value_or(std::string());
    const std::string source = (*table)["source"].value_or(std::string());
    const auto known = sources_.find(source);
    curve.source = known == sources_.end() ? source : known->second;
    if (auto error = read_knots(node, *table, curve.curve)) return error;
    system.curves.push_back(std::move(curve));
    return std::nullopt;
  }

  std::string where_;
  CollectiveFit::State& state_;
  std::map<std::string, std::string> sources_;
};

}  // namespace

std::optional<Diagnostic> read_fit(std::string_view text, const std::string& where,
                                   CollectiveFit::State& state) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return Diagnostic{ErrorCode::kBadInput,
                      fmt::format("{}:{}", where, parsed.error().source().begin.line),
                      std::string(parsed.error().description()), "see the TOML 1.0 syntax"};
  }
  return FitReader(where, state).read(parsed.table());
}

}  // namespace flopcast::network
