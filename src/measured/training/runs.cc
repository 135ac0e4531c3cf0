// Reads measured runs.
#include "measured/training/runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files/read_file.h"
#include "base/text/csv_table.h"
#include "measured/training/fields.h"
#include "measured/training/plan.h"
#include "measured/training/system.h"

namespace flopcast {
namespace {

using nlohmann::json;
using namespace measured;

/// Whether all that the run lacks can be filled in; else it has a defect.
bool can_be_filled(const std::vector<std::string>& missing) {
  const auto open = [](const std::string& text) {
    constexpr std::array<std::string_view, 5> kOpen = {"mbs", "vp", "recompute", "parallel layout",
                                                       "fp8 vs nvfp4"};
    return std::ranges::any_of(kOpen, [&](std::string_view w) { return text.starts_with(w); }) &&
           text.find(';') == std::string::npos;
  };
  return !missing.empty() && std::ranges::all_of(missing, open);
}

Datable datable_of(RunFields& run, const std::string& id) {
  return {run.text("", "container"),  id,
          run.text("", "round"),      run.text("source", "path"),
          run.text("source", "repo"), run.number("", "year")};
}

/// Degrees, batches and sizes beyond these are a mistake, and would overflow what is computed of them.
constexpr double kLargest = 1e9;
constexpr std::size_t kLongest = 1000;

/// What the degrees multiply to; 0 where nobody tells the replicas.
double devices_told(RunFields& run) {
  double replicas = run.number("parallel", "dp");
  if (replicas <= 0) {
    // Chips that share the weights are replicas, those of context parallelism among them.
    replicas = run.number("parallel", "fsdp") / std::max(run.number("parallel", "cp"), 1.0);
  }
  double devices = std::max(replicas, 0.0);
  for (const char* key : {"tp", "pp", "cp"}) {
    devices *= std::max(run.number("parallel", key), 1.0);
  }
  return devices;
}

/// The chip that the run was on.
Chip read_system(RunFields& run, const Catalog& catalog, TrainingRun& out) {
  const std::string line = run.text("system", "on");
  if (!line.empty()) {
    out.cluster = line;
    const Result<Cluster> cluster = catalog.cluster(line);
    if (!cluster) out.incomplete = cluster.error().text();
    if (cluster) out.chips = cluster->chips();
    return cluster ? cluster->chip : Chip{};
  }
  RunSystem told;
  told.gpu = run.text("system", "gpu");
  told.gpus = static_cast<unsigned>(run.number("system", "gpus"));
  told.per_node = static_cast<unsigned>(std::max(run.number("system", "gpus_per_node"), 1.0));
  told.network = run.text("system", "inter");
  told.hbm_bytes_per_s = run.number("system", "hbm_gbs") * 1e9;
  const double devices = devices_told(run);
  if (devices <= kLargest) told.devices = static_cast<unsigned>(devices);
  const Result<std::string> made = cluster_line(told, catalog, out.assumed);
  const Result<Cluster> cluster = made ? catalog.cluster(*made) : made.error();
  if (cluster) out.cluster = *made, out.chips = cluster->chips();
  if (!cluster) out.incomplete = cluster.error().text();
  return cluster ? cluster->chip : Chip{};
}

void read_measured(RunFields& run, TrainingRun& out) {
  constexpr double kGiB = 1073741824;
  out.measured_s = run.number("measured", "iter_time_s");
  out.memory = Bytes{run.number("measured", "memory_gib") * kGiB};
  if (out.measured_s <= 0) out.incomplete = "no iteration time was measured";
}

/// What of the fields that are read cannot be meant; empty: nothing.
std::string senseless(RunFields& run) {
  for (const char* part : {"system", "parallel", "batch"}) {
    for (const auto& [key, value] : run.part(part).items()) {
      const bool large = value.is_number() && !(std::abs(value.get<double>()) <= kLargest);
      if (large) return fmt::format("{}.{} is too large", part, key);
      if (value.is_string() && value.get_ref<const std::string&>().size() > kLongest) {
        return fmt::format("{}.{} is longer than {} characters", part, key, kLongest);
      }
    }
  }
  constexpr double kLastYear = 3000;
  if (std::abs(run.number("", "year")) > kLastYear) return "year is too large";
  return "";
}

char quality_of(RunFields& run, TrainingRun& out) {
  const std::string quality = run.text("", "quality");
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

/// What the run says in words that rules ask for.
RunTexts texts_of(RunFields& run, const TrainingRun& out, const std::vector<std::string>& missing) {
  return {run.text("", "dtype"),
          run.text("", "recompute"),
          run.text("", "task"),
          run.text("", "software"),
          run.text("", "framework"),
          run.text("source", "repo"),
          out.set,
          out.month,
          fmt::format("{}", fmt::join(missing, "; ")),
          run.text("", "note"),
          run.text("source", "path")};
}

/// The names of a run.
void read_names(RunFields& run, std::size_t number, TrainingRun& out) {
  out.id = run.text("", "id");
  if (out.id.empty()) out.id = fmt::format("run {}", number + 1);
  out.set = run.text("", "set");
  if (out.set.empty()) out.set = set_of_id(out.id);
  out.group = run.text("", "group");
  if (out.group.empty()) out.group = out.id;
}

/// Everything else, up to why the run cannot be forecast.
void read_rest(RunFields& run, const RunReader& reader, TrainingRun& out) {
  out.incomplete = run.problem();
  if (out.incomplete.empty()) out.incomplete = senseless(run);
  out.quality = quality_of(run, out);
  const std::vector<std::string> missing = run.texts("", "missing");
  if (out.incomplete.empty() && out.quality == 'C' && !can_be_filled(missing)) {
    out.incomplete = fmt::format("its configuration is incomplete{}{}", missing.empty() ? "" : ": ",
                                 fmt::join(missing, "; "));
  }
  if (!out.incomplete.empty()) return;
  read_measured(run, out);
  Chip chip;
  if (out.incomplete.empty()) chip = read_system(run, reader.catalog, out);
  if (!out.incomplete.empty()) return;
  Result<Model> model = parse_model(run.part("model").dump(), reader.where + ": " + out.id);
  if (!model) {
    out.incomplete = model.error().text();
    return;
  }
  out.model = std::move(*model);
  out.experts = std::ranges::any_of(out.model.kinds,
                                    [](const Layer& layer) { return layer.experts.count > 0; });
  out.month = month_of(datable_of(run, out.id));
  out.incomplete = read_run_plan(run, texts_of(run, out, missing), chip, reader.rules, out);
}

TrainingRun read_run(const json& object, std::size_t number, const RunReader& reader) {
  TrainingRun out;
  RunFields run(object);
  read_names(run, number, out);
  read_rest(run, reader, out);
  if (out.incomplete.empty()) out.incomplete = run.problem();
  if (out.incomplete.empty()) run.tell(out);
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
  // Others have a "model" too.
  const bool is_run =
      document.is_object() && document.contains("model") && document.contains("system");
  if (is_run && !cases) one.push_back(document);
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
