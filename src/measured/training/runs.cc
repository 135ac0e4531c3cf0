// Reads measured runs.
#include "measured/training/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "base/text/csv_table.h"
#include "measured/training/plan.h"
#include "measured/training/system.h"

namespace flopcast {
namespace {

using nlohmann::json;
using namespace measured;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

const json& part_of(const json& run, const char* key) {
  static const json kNothing = json::object();
  const auto found = run.find(key);
  return found != run.end() && found->is_object() ? *found : kNothing;
}

/// Whether all that the run lacks can be filled in; else it has a defect.
bool can_be_filled(const json& run) {
  const json missing = run.value("missing", json::array());
  const auto open = [](const json& item) {
    constexpr std::array<std::string_view, 5> kOpen = {"mbs", "vp", "recompute", "parallel layout",
                                                       "fp8 vs nvfp4"};
    const std::string text = item.is_string() ? item.get<std::string>() : std::string();
    return std::ranges::any_of(kOpen, [&](std::string_view w) { return text.starts_with(w); }) &&
           text.find(';') == std::string::npos;
  };
  return missing.is_array() && !missing.empty() && std::ranges::all_of(missing, open);
}

std::string joined_missing(const json& run) {
  std::string all;
  for (const json& item : run.value("missing", json::array())) {
    if (item.is_string()) all += (all.empty() ? "" : "; ") + item.get<std::string>();
  }
  return all;
}

Datable datable_of(const json& run, const std::string& id) {
  const json& source = part_of(run, "source");
  return {text_of(run, "container"), id,
          text_of(run, "round"),     text_of(source, "path"),
          text_of(source, "repo"),   number_of(run, "year")};
}

/// Degrees, batches and sizes beyond these are a mistake, and would overflow what is computed of them.
constexpr double kLargest = 1e9;
constexpr std::size_t kLongest = 1000;

/// The chip that the run was on.
Chip read_system(const json& run, const Catalog& catalog, TrainingRun& out) {
  const json& system = part_of(run, "system");
  const std::string line = text_of(system, "on");
  if (!line.empty()) {
    out.cluster = line;
    const Result<Cluster> cluster = catalog.cluster(line);
    if (!cluster) out.incomplete = cluster.error().text();
    if (cluster) out.chips = cluster->chips();
    return cluster ? cluster->chip : Chip{};
  }
  RunSystem told;
  told.gpu = text_of(system, "gpu");
  told.gpus = static_cast<unsigned>(number_of(system, "gpus"));
  told.per_node = static_cast<unsigned>(std::max(number_of(system, "gpus_per_node"), 1.0));
  told.network = text_of(system, "inter");
  told.hbm_bytes_per_s = number_of(system, "hbm_gbs") * 1e9;
  double devices = 1;
  for (const char* key : {"tp", "pp", "cp", "dp"}) {
    devices *= std::max(number_of(part_of(run, "parallel"), key), 1.0);
  }
  if (devices <= kLargest) told.devices = static_cast<unsigned>(devices);
  const Result<std::string> made = cluster_line(told, catalog, out.assumed);
  const Result<Cluster> cluster = made ? catalog.cluster(*made) : made.error();
  if (cluster) out.cluster = *made, out.chips = cluster->chips();
  if (!cluster) out.incomplete = cluster.error().text();
  return cluster ? cluster->chip : Chip{};
}

void read_measured(const json& run, TrainingRun& out) {
  constexpr double kGiB = 1073741824;
  const json& measured = part_of(run, "measured");
  out.measured_s = number_of(measured, "iter_time_s");
  out.memory = Bytes{number_of(measured, "memory_gib") * kGiB};
  if (out.measured_s <= 0) out.incomplete = "no iteration time was measured";
}

/// What of the fields that are read cannot be meant; empty: nothing.
std::string senseless(const json& run) {
  for (const char* part : {"system", "parallel", "batch"}) {
    for (const auto& [key, value] : part_of(run, part).items()) {
      const bool large = value.is_number() && !(std::abs(value.get<double>()) <= kLargest);
      if (large) return fmt::format("{}.{} is too large", part, key);
      if (value.is_string() && value.get_ref<const std::string&>().size() > kLongest) {
        return fmt::format("{}.{} is longer than {} characters", part, key, kLongest);
      }
    }
  }
  constexpr double kLastYear = 3000;
  if (std::abs(number_of(run, "year")) > kLastYear) return "year is too large";
  return "";
}

char quality_of(const json& run, TrainingRun& out) {
  const std::string quality = text_of(run, "quality");
  if (quality.empty()) return 'A';
  if (quality == "A" || quality == "B" || quality == "C") return quality[0];
  out.incomplete = fmt::format("quality '{}' is not A, B or C", quality);
  return 'C';
}

/// What all runs of a file are read by.
struct RunReader {
  std::string where;  ///< the file
  const Catalog& catalog;
  LaunchRules rules;
};

TrainingRun read_run(const json& run, std::size_t number, const RunReader& reader) {
  TrainingRun out;
  out.id = text_of(run, "id");
  if (out.id.empty()) out.id = fmt::format("run {}", number + 1);
  out.set = text_of(run, "set");
  if (out.set.empty()) out.set = set_of_id(out.id);
  out.group = text_of(run, "group");
  if (out.group.empty()) out.group = out.id;
  out.incomplete = senseless(run);
  out.quality = quality_of(run, out);
  if (out.incomplete.empty() && out.quality == 'C' && !can_be_filled(run)) {
    const std::string missing = joined_missing(run);
    out.incomplete = "its configuration is incomplete" + (missing.empty() ? "" : ": " + missing);
  }
  if (!out.incomplete.empty()) return out;
  read_measured(run, out);
  Chip chip;
  if (out.incomplete.empty()) chip = read_system(run, reader.catalog, out);
  if (!out.incomplete.empty()) return out;
  Result<Model> model = parse_model(part_of(run, "model").dump(), reader.where + ": " + out.id);
  if (!model) {
    out.incomplete = model.error().text();
    return out;
  }
  out.model = std::move(*model);
  out.experts = std::ranges::any_of(out.model.kinds,
                                    [](const Layer& layer) { return layer.experts.count > 0; });
  out.month = month_of(datable_of(run, out.id));
  const RunTexts texts{text_of(run, "dtype"),
                       text_of(run, "recompute"),
                       text_of(run, "task"),
                       text_of(run, "software"),
                       text_of(run, "framework"),
                       text_of(part_of(run, "source"), "repo"),
                       out.set,
                       out.month,
                       joined_missing(run),
                       text_of(run, "note"),
                       text_of(part_of(run, "source"), "path")};
  out.incomplete = read_run_plan(part_of(run, "parallel"), part_of(run, "batch"),
                                 part_of(run, "model"), texts, chip, reader.rules, out);
  return out;
}

/// Columns of a table of runs on A100 nodes with full recompute (published with vTrain).
struct Columns {
  std::size_t set, gpus, gbs, mbs, hidden, heads, layers, seq, tp, dp, pp, iter_ms;
};

Result<Columns> columns_of(const CsvTable& table) {
  std::array<std::size_t, 12> found{};
  constexpr std::array<std::string_view, 12> kNames = {
      "set", "gpus", "gbs", "mbs", "hidden", "heads", "layers", "seq", "tp", "dp", "pp", "iter_ms"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const Result<std::size_t> column = table.column(kNames[i]);
    if (!column) return column.error();
    found[i] = *column;
  }
  return Columns{found[0], found[1], found[2], found[3], found[4],  found[5],
                 found[6], found[7], found[8], found[9], found[10], found[11]};
}

Result<json> row_as_run(const CsvTable& table, const Columns& c, std::size_t row,
                        const TableRuns& alike) {
  std::array<double, 11> v{};
  const std::array<std::size_t, 11> columns = {c.gpus, c.gbs, c.mbs, c.hidden, c.heads,  c.layers,
                                               c.seq,  c.tp,  c.dp,  c.pp,     c.iter_ms};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Result<double> number = table.number(row, columns[i]);
    if (!number) return number.error();
    v[i] = *number;
  }
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(v[i]); };
  const std::string set = alike.set + "-" + std::string(table.text(row, c.set));
  return json{{"id", table.place(row)},
              {"set", set},
              {"group", fmt::format("{}|{}|{}", set, whole(3), whole(0))},
              {"model",
               {{"arch", alike.arch},
                {"layers", whole(5)},
                {"hidden", whole(3)},
                {"ffn", 4 * whole(3)},
                {"heads", whole(4)},
                {"kv_heads", whole(4)},
                {"head_dim", whole(3) / std::max<std::int64_t>(1, whole(4))},
                {"vocab", alike.vocab},
                {"gated", false},
                {"seq_len", whole(6)}}},
              {"system",
               {{"gpu", alike.gpu},
                {"gpus", whole(0)},
                {"gpus_per_node", std::min(alike.gpus_per_node, whole(0))},
                {"inter", alike.inter}}},
              {"parallel",
               {{"tp", whole(7)},
                {"dp", whole(8)},
                {"pp", whole(9)},
                {"vp", 1},
                {"cp", 1},
                {"ep", 1},
                {"zero", 0},
                {"sp", false},
                {"dp_overlap", false}}},
              {"batch", {{"gbs", whole(1)}, {"mbs", whole(2)}}},
              {"dtype", alike.dtype},
              {"recompute", alike.recompute},
              {"software", alike.software},
              {"measured", {{"iter_time_s", v[10] / 1e3}}},
              {"quality", "A"}};
}

Result<std::vector<TrainingRun>> read_csv(const std::filesystem::path& path,
                                          const RunReader& reader) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  const Result<Columns> columns = columns_of(*table);
  if (!columns) return columns.error();
  const Result<TableRuns> alike = table_runs();
  if (!alike) return alike.error();
  std::vector<TrainingRun> runs;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const Result<json> run = row_as_run(*table, *columns, row, *alike);
    if (!run) return run.error();
    runs.push_back(read_run(*run, row, reader));
  }
  return runs;
}

}  // namespace

Result<std::vector<TrainingRun>> measured::parse_runs(std::string_view text,
                                                      const std::string& where,
                                                      const RunReading& reading) {
  Result<LaunchRules> rules = LaunchRules::make(reading.unseen_sets);
  if (!rules) return rules.error();
  const RunReader reader{where, Catalog::builtin(), std::move(*rules)};
  const json document = json::parse(text, nullptr, false);
  const bool cases = document.is_object() && document.contains("cases");
  json one = json::array();
  if (document.is_object() && !cases) one.push_back(document);
  const json& list = cases ? document["cases"] : document.is_array() ? document : one;
  if (!list.is_array() || list.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where,
                      "expected measured runs: JSON with a list \"cases\", found none",
                      "docs/reference/training-runs.md has the fields of a run"};
  }
  std::vector<TrainingRun> runs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object()) {
      return Diagnostic{ErrorCode::kBadInput, fmt::format("{}: case {}", where, i + 1),
                        "expected an object", "docs/reference/training-runs.md has its fields"};
    }
    runs.push_back(read_run(list[i], i, reader));
  }
  return runs;
}

Result<std::vector<TrainingRun>> read_training_runs(const std::filesystem::path& path,
                                                    const RunReading& reading) {
  const std::string name = path.filename().string();
  const bool csv = name.ends_with(".csv") || name.ends_with(".csv.gz");
  if (csv) {
    Result<LaunchRules> rules = LaunchRules::make(reading.unseen_sets);
    if (!rules) return rules.error();
    return read_csv(path, {path.string(), Catalog::builtin(), std::move(*rules)});
  }
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return measured::parse_runs(*text, path.string(), reading);
}

}  // namespace flopcast
