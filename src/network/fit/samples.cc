// Measurements of collectives from CSV with the columns of nccl-tests tables, or as nccl-tests prints them.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/files/byte_source.h"
#include "base/text/csv_table.h"
#include "flopcast/network/fit.h"
#include "network/collective/systems.h"
#include "network/fit/copies.h"
#include "network/fit/nccl_tests.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

/// "NCCL nccl/2.27.3" is NCCL 2.27.3; "torch.distributed NCCL" and "nccl-tests" are NCCL of a
/// version nobody wrote down; "vLLM_custom_graph vllm/0.14.0" is itself.
void read_implementation(std::string_view text, CollectiveCase& what) {
  std::string version;
  const std::size_t slash = text.rfind('/');
  if (slash != text.npos) version = text.substr(slash + 1);
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view first = text.substr(0, text.find(' '));
  const bool nccl = lower.starts_with("nccl") || lower.ends_with("nccl");
  what.library = nccl ? "NCCL" : std::string(first);
  what.version = version.empty() ? std::string(first) : version;
}

class SampleReader {
 public:
  SampleReader(const CsvTable& table, Anomalies& anomalies)
      : table_(table), anomalies_(anomalies) {}

  std::optional<Diagnostic> find_columns() {
    for (const auto& [column, name] : {std::pair{&gpu_, "gpu"},
                                       {&system_, "system"},
                                       {&op_, "op"},
                                       {&impl_, "impl"},
                                       {&dtype_, "dtype"},
                                       {&gpus_, "gpus"},
                                       {&nodes_, "nodes"},
                                       {&bytes_, "bytes"},
                                       {&time_, "time_us"}}) {
      const Result<std::size_t> found = table_.column(name);
      if (!found) return found.error();
      *column = *found;
    }
    source_ = table_.find_column("source");
    licence_ = table_.find_column("licence");
    return std::nullopt;
  }

  std::optional<CollectiveSample> row(std::size_t row) {
    CollectiveSample sample;
    const auto op = parse_collective_op(table_.text(row, op_));
    if (!op) return skip("unknown_collective", row, "op");
    const Result<double> gpus = table_.number(row, gpus_), nodes = table_.number(row, nodes_);
    const Result<double> bytes = table_.number(row, bytes_), time = table_.number(row, time_);
    if (!gpus || !nodes || !bytes || !time) return skip("not_a_number", row, "a column");
    constexpr double kMostRanks = 1 << 24;
    if (!(*gpus >= 2 && *gpus <= kMostRanks && *nodes >= 1 && *nodes <= *gpus)) {
      return skip("impossible_ranks", row, "gpus or nodes");
    }
    if (!(*bytes > 0 && *time > 0)) return skip("not_positive", row, "bytes or time_us");
    sample.what.op = *op;
    sample.what.ranks = static_cast<unsigned>(*gpus);
    sample.what.nodes = static_cast<unsigned>(*nodes);
    sample.what.type = table_.text(row, dtype_);
    sample.size = {*bytes};
    sample.time = {*time * 1e-6};
    sample.chip = table_.text(row, gpu_);
    sample.what.system =
        CollectiveSystems::builtin().name_of(sample.chip, table_.text(row, system_));
    read_implementation(table_.text(row, impl_), sample.what);
    if (source_) sample.source = table_.text(row, *source_);
    if (licence_) sample.source += ", " + std::string(table_.text(row, *licence_));
    return sample;
  }

 private:
  std::nullopt_t skip(std::string_view kind, std::size_t row, std::string_view column) {
    anomalies_.add(kind, [&] { return table_.place(row) + ": " + std::string(column); });
    return std::nullopt;
  }

  const CsvTable& table_;
  Anomalies& anomalies_;
  std::size_t gpu_ = 0, system_ = 0, op_ = 0, impl_ = 0, dtype_ = 0, gpus_ = 0, nodes_ = 0,
              bytes_ = 0, time_ = 0;
  std::optional<std::size_t> source_, licence_;
};

}  // namespace

Result<std::vector<CollectiveSample>> read_collective_samples(const std::filesystem::path& file,
                                                              Anomalies& anomalies,
                                                              const RunSize& told) {
  Result<std::string> text =
      read_unpacked(file, "name a table, .csv or .csv.gz, or what nccl-tests printed");
  if (!text) return text.error();
  if (is_nccl_tests(*text)) return parse_nccl_tests(*text, file.string(), anomalies, told);
  if (told.ranks > 0 || told.nodes > 0) {
    return usage_error(file.string(), "is a table: its columns gpus and nodes tell the ranks",
                       "leave --ranks and --nodes out");
  }
  const Result<CsvTable> table = CsvTable::parse(std::move(*text), file.string());
  if (!table) return table.error();
  anomalies.merge(table->anomalies());
  SampleReader reader(*table, anomalies);
  if (auto error = reader.find_columns()) return *error;
  std::vector<CollectiveSample> samples;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (auto sample = reader.row(row)) samples.push_back(std::move(*sample));
  }
  leave_out_copies(samples, anomalies);
  if (samples.empty()) {
    return Diagnostic{
        ErrorCode::kBadInput, file.string(), "no row that can be used",
        "rows need gpu, system, op, impl, dtype, gpus, nodes, bytes and time_us; or give "
        "what nccl-tests printed"};
  }
  return samples;
}

}  // namespace flopcast
