// Launch configurations on Hugging Face's Trainer, PyTorch's FSDP and JAX: what each file of the folders of
// tests/data/launch means, as tests/data/launch/trainers.tsv has it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/files/read_file.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/files.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

const std::string kLaunchFolder = "tests/data/launch/";
constexpr std::string_view kTrainers[] = {"torchtitan",    "accelerate", "hf-trainer", "trl",
                                          "llama-factory", "axolotl",    "nanotron",   "olmo-core",
                                          "automodel",     "maxtext",    "deepspeed"};

std::vector<std::string> cells_of(const std::string& line, char apart) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(apart, begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

/// Rows by their file; each cell by its column.
std::map<std::string, std::map<std::string, std::string>> expected_rows() {
  const Result<std::string> text = read_file(kLaunchFolder + "trainers.tsv");
  EXPECT_TRUE(text.ok());
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::vector<std::string> head;
  for (const std::string& line : cells_of(text.ok() ? *text : "", '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line, '\t');
    if (head.empty()) {
      head = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), head.size()) << line;
    for (std::size_t i = 0; i < std::min(cells.size(), head.size()); ++i) {
      rows[cells[0]][head[i]] = cells[i];
    }
  }
  return rows;
}

std::string model_words(const FileModel& model) {
  if (!model.whole) return model.name;
  return fmt::format("{} of {}", model.whole->name, count_parameters(*model.whole).total);
}

std::string open_words(const PlanFile& file) {
  std::vector<std::string> all;
  for (const OpenSetting& open : file.open) all.push_back(open.name);
  return fmt::format("{}", fmt::join(all, "; "));
}

/// The row that the file's reading makes.
std::map<std::string, std::string> row_of(const std::string& name) {
  std::map<std::string, std::string> row = {{"file", name}};
  for (const char* column : {"launcher", "software", "model", "chips", "replicas", "accumulation",
                             "plan", "asked", "unmodelled", "unknown", "ignored", "refused"}) {
    row[column] = "";
  }
  const Result<PlanFile> file = read_plan(kLaunchFolder + name);
  if (!file) {
    row["refused"] = file.error().what;
    return row;
  }
  Plan plain;
  plain.global_batch = 0;
  row["launcher"] = std::string(flopcast::name(file->launcher));
  row["software"] = file->software;
  row["model"] = model_words(file->model);
  row["chips"] = std::to_string(file->chips);
  row["replicas"] = std::to_string(file->replicas);
  row["accumulation"] = std::to_string(file->accumulation);
  row["plan"] = plan_change_words(plain, file->plan);
  row["asked"] = open_words(*file);
  row["unmodelled"] = fmt::format("{}", fmt::join(file->unmodelled, "; "));
  row["unknown"] = fmt::format("{}", fmt::join(file->unknown, "; "));
  row["ignored"] = fmt::format("{}", fmt::join(file->ignored, "; "));
  return row;
}

/// Files that others name, and no launch configurations themselves.
bool is_named_by_others(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "fsdp.json" || name.starts_with("ds_z") || name == "zero1.json";
}

TEST(LaunchTrainers, FilesMeanWhatTheTableSays) {
  const auto rows = expected_rows();
  std::set<std::string> seen;
  for (const std::string_view launcher : kTrainers) {
    for (const auto& entry : fs::directory_iterator(kLaunchFolder + std::string(launcher))) {
      if (is_named_by_others(entry.path())) continue;
      const std::string name = fmt::format("{}/{}", launcher, entry.path().filename().string());
      seen.insert(name);
      const auto row = rows.find(name);
      EXPECT_TRUE(row != rows.end()) << name << " has no row in trainers.tsv";
      if (row == rows.end()) continue;
      for (const auto& [column, value] : row_of(name)) {
        const auto cell = row->second.find(column);
        EXPECT_EQ(value, cell == row->second.end() ? "no such column" : cell->second)
            << name << ", " << column;
      }
    }
  }
  EXPECT_EQ(seen.size(), rows.size());
}

// 34 of 43 scripts of one launcher once came out in fp32.
TEST(LaunchTrainers, NoneIsInFp32ThatDoesNotSayIt) {
  const std::set<std::string> single = {"accelerate/replicas.yaml", "hf-trainer/replicas_fp32.sh"};
  for (const auto& [name, row] : expected_rows()) {
    if (!row.at("refused").empty() || single.contains(name)) continue;
    const Result<PlanFile> file = read_plan(kLaunchFolder + name);
    ASSERT_TRUE(file.ok()) << name;
    EXPECT_GE(file->plan.precision, Precision::kFp16) << name;
  }
}

TEST(LaunchTrainers, StrictRefusesWhatIsNotKnownOrNotModelled) {
  const Result<PlanFile> file = read_plan(kLaunchFolder + "torchtitan/float8.toml");
  ASSERT_TRUE(file.ok());
  const std::optional<Diagnostic> problem = strict_problem(*file, "f.toml");
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->what.find("training.my_own_switch"), std::string::npos) << problem->what;
  EXPECT_NE(problem->what.find("enable_cpu_offload"), std::string::npos) << problem->what;
}

}  // namespace
}  // namespace flopcast
