// Points of one's own as a table, and what was calibrated by them as a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/files/read_file.h"
#include "base/text/csv_table.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "base/text/toml_string.h"
#include "flopcast/measured/serving.h"
#include "measured/serving/launches.h"

namespace flopcast {
namespace {

using namespace measured;

/// A table's columns by name; a column that is absent gives what a row has without it.
class PointColumns {
 public:
  explicit PointColumns(const CsvTable& table) : table_(table) {}

  std::string text(std::size_t row, std::string_view name) const {
    const auto column = table_.find_column(name);
    return column ? std::string(table_.text(row, *column)) : std::string();
  }
  /// Empty fields and absent columns: `otherwise`.
  Result<double> number(std::size_t row, std::string_view name, double otherwise) const {
    const auto column = table_.find_column(name);
    if (!column || table_.text(row, *column).empty()) return otherwise;
    const Result<double> value = table_.number(row, *column);
    if (!value) return value.error();
    constexpr double kMost = 1e8;
    if (*value >= 0 && *value <= kMost) return *value;
    return Diagnostic{ErrorCode::kBadInput, table_.place(row),
                      fmt::format("{} is below 0 or above {:g}", name, kMost),
                      "give what was measured"};
  }

 private:
  const CsvTable& table_;
};

Result<ServingPoint> csv_point(const CsvTable& table, const PointColumns& columns,
                               std::size_t row) {
  ServingPoint out;
  out.id = table.place(row);
  out.engine = columns.text(row, "engine"), out.version = columns.text(row, "version");
  out.model = columns.text(row, "model"), out.chip = columns.text(row, "chip");
  out.precision = columns.text(row, "precision"), out.date = columns.text(row, "date");
  if (out.precision.empty()) out.precision = "bf16";
  out.known_protocol = columns.text(row, "client") == "inferencex";
  constexpr std::array<std::string_view, 9> kNames = {
      "tp", "dp", "ep", "pp", "input", "output", "users", "ttft_ms", "tpot_ms"};
  std::array<double, kNames.size()> v{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const Result<double> value = columns.number(row, kNames[i], i < 4 ? 1 : 0);
    if (!value) return value.error();
    v[i] = *value;
  }
  const auto degree = [&](std::size_t i) {
    return static_cast<unsigned>(std::clamp(v[i], 1.0, 4096.0));
  };
  out.layout = {degree(0), degree(1), degree(2), degree(3)};
  out.input = static_cast<std::int64_t>(v[4]), out.output = static_cast<std::int64_t>(v[5]);
  out.users = static_cast<std::int64_t>(v[6]);
  out.ttft = Seconds{v[7] * 1e-3}, out.tpot = Seconds{v[8] * 1e-3};
  const bool measured = out.ttft.value > 0 || out.tpot.value > 0;
  if (out.input < 1 || out.output < 1 || out.users < 1 || !measured) {
    return Diagnostic{ErrorCode::kBadInput, out.id,
                      "expected input, output and users of at least 1, and ttft_ms or tpot_ms",
                      "a point is what one load of one deployment measured"};
  }
  return out;
}

bool of_one_deployment(const ServingCalibration& c, const ServingPoint& p) {
  return c.engine == p.engine && c.model == p.model && c.chip == p.chip &&
         c.precision == p.precision && c.layout == p.layout && c.input == p.input &&
         c.output == p.output;
}

constexpr std::array kFactorKeys = {
    std::pair{"decode", &ServingFactors::decode}, std::pair{"prefill", &ServingFactors::prefill},
    std::pair{"front", &ServingFactors::front}, std::pair{"host", &ServingFactors::host}};

Result<ServingCalibration> calibration_in(const TomlFile& file, const toml::table& table) {
  ServingCalibration out;
  const auto word = [&](std::string_view key) { return table[key].value_or(std::string()); };
  out.engine = word("engine"), out.model = word("model"), out.chip = word("chip");
  out.precision = word("precision");
  out.layout = {table["tp"].value_or(1U), table["dp"].value_or(1U), table["ep"].value_or(1U),
                table["pp"].value_or(1U)};
  out.input = table["input"].value_or(std::int64_t{0});
  out.output = table["output"].value_or(std::int64_t{0});
  if (const toml::array* users = table["users"].as_array()) {
    for (const toml::node& n : *users) out.users.push_back(n.value_or(std::int64_t{0}));
  }
  for (const auto& [key, member] : kFactorKeys) {
    const double factor = table[key].value_or(1.0);
    if (factor > 0 && factor <= 100) {
      out.factors.*member = factor;
      continue;
    }
    return Diagnostic{ErrorCode::kBadInput, place(file, table),
                      fmt::format("expected {} above 0 and at most 100", key),
                      "flopcast calibrate serving writes such files"};
  }
  return out;
}

}  // namespace

Result<std::vector<ServingPoint>> read_points_csv(const std::filesystem::path& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  for (const std::string_view needed : {"engine", "model", "chip", "input", "output", "users"}) {
    const Result<std::size_t> column = table->column(needed);
    if (!column) return column.error();
  }
  const PointColumns columns(*table);
  std::vector<ServingPoint> points;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    Result<ServingPoint> point = csv_point(*table, columns, row);
    if (!point) return point.error();
    points.push_back(std::move(*point));
  }
  return points;
}

Result<std::vector<ServingCalibration>> calibrate_deployments(std::span<const ServingPoint> points,
                                                              const Catalog& catalog) {
  std::vector<ServingCalibration> out;
  std::vector<std::vector<ServingPoint>> groups;
  for (const ServingPoint& p : points) {
    const auto found = std::ranges::find_if(
        out, [&](const ServingCalibration& c) { return of_one_deployment(c, p); });
    const auto at = static_cast<std::size_t>(found - out.begin());
    if (found == out.end()) {
      out.push_back({p.engine, p.model, p.chip, p.precision, p.layout, p.input, p.output, {}, {}});
      groups.emplace_back();
    }
    out[at].users.push_back(p.users);
    groups[at].push_back(p);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Result<ServingFactors> factors = calibrate_serving(groups[i], catalog);
    if (!factors) return factors.error();
    out[i].factors = *factors;
  }
  return out;
}

std::string serving_calibration_toml(std::span<const ServingCalibration> calibrations) {
  std::string text =
      "# Written by flopcast calibrate serving: factors that measured points put on forecasts.\n";
  for (const ServingCalibration& c : calibrations) {
    text += fmt::format("\n[[deployment]]\nengine = {}\nmodel = {}\nchip = {}\nprecision = {}\n",
                        toml_string(c.engine), toml_string(c.model), toml_string(c.chip),
                        toml_string(c.precision));
    text += fmt::format(
        "tp = {}\ndp = {}\nep = {}\npp = {}\ninput = {}\noutput = {}\nusers = [{}]\n", c.layout.tp,
        c.layout.dp, c.layout.ep, c.layout.pp, c.input, c.output, fmt::join(c.users, ", "));
    for (const auto& [key, member] : kFactorKeys) {
      text += fmt::format("{} = {:.6f}\n", key, c.factors.*member);
    }
  }
  return text;
}

Result<std::vector<ServingCalibration>> parse_serving_calibration(std::string_view text,
                                                                  const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  std::vector<ServingCalibration> out;
  const toml::array* list = file->root["deployment"].as_array();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const toml::table* table = list->get(i)->as_table();
    if (table == nullptr) continue;
    Result<ServingCalibration> one = calibration_in(*file, *table);
    if (!one) return one.error();
    out.push_back(std::move(*one));
  }
  if (!out.empty()) return out;
  return Diagnostic{ErrorCode::kBadInput, where, "expected tables [[deployment]], found none",
                    "flopcast calibrate serving writes such files"};
}

Result<ServingFactors> factors_for(std::span<const ServingCalibration> calibrations,
                                   const Deployment& deployment, std::int64_t input) {
  const ServingCalibration* best = nullptr;
  double nearest = 0;
  std::string known;
  for (const ServingCalibration& c : calibrations) {
    const Result<Model> model = load_model(plain_model(c.model));
    const bool same = parse_serving_engine(c.engine) == deployment.settings.engine &&
                      c.layout == deployment.layout && model &&
                      model->name == deployment.model.name;
    known += fmt::format("{}{} on {} under {}, tp {}", known.empty() ? "" : "; ", c.model, c.chip,
                         c.engine, c.layout.tp);
    const double apart = std::abs(std::log(static_cast<double>(std::max<std::int64_t>(c.input, 1)) /
                                           static_cast<double>(std::max<std::int64_t>(input, 1))));
    if (!same || (best != nullptr && apart >= nearest)) continue;
    best = &c, nearest = apart;
  }
  if (best != nullptr) return best->factors;
  return Diagnostic{ErrorCode::kBadInput, "calibration",
                    "no deployment of this engine, model and layout was calibrated",
                    "there are " + known};
}

}  // namespace flopcast
