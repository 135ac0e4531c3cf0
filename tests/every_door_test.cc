// Every file of the corpora through every door of the command: a door reads files of its own kind, and refuses all others with
// the file's name, so that nobody is answered about something else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/testing.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

/// What a file is. Where readers of two kinds take it, both are its own.
enum class Kind { kLaunch, kServer, kModel, kCollectives };

struct Door {
  std::string_view name;
  std::vector<std::string> words;  ///< "FILE" stands for the file
  std::set<Kind> reads;
};

const std::vector<Door>& doors() {
  static const std::vector<Door> all = {
      {"estimate --plan-from",
       {"estimate", "llama-3-8b", "--on", "8 x dgx-h100", "--seq", "4096", "--global-batch", "512",
        "--plan-from", "FILE"},
       {Kind::kLaunch}},
      {"estimate MODEL",
       {"estimate", "FILE", "--on", "dgx-h100", "--global-batch", "8"},
       {Kind::kModel}},
      {"estimate --constants",
       {"estimate", "llama-3-8b", "--on", "dgx-h100", "--global-batch", "8", "--constants", "FILE"},
       {}},
      {"estimate --on", {"estimate", "llama-3-8b", "--on", "FILE", "--global-batch", "8"}, {}},
      {"serve --from",
       {"serve", "llama-3-8b", "--on", "dgx-h100", "--users", "4", "--input", "128", "--output",
        "16", "--quick", "--from", "FILE"},
       {Kind::kServer}},
      {"models show", {"models", "show", "FILE"}, {Kind::kModel}},
      {"hw show", {"hw", "show", "FILE"}, {}},
      {"trace info", {"trace", "info", "FILE"}, {}},
      {"replay", {"replay", "FILE"}, {}},
      {"calibrate network", {"calibrate", "network", "FILE"}, {Kind::kCollectives}},
      {"calibrate kernels", {"calibrate", "kernels", "FILE", "--chip", "h100"}, {}},
      {"validate training", {"validate", "training", "FILE"}, {}},
      {"validate serving", {"validate", "serving", "FILE"}, {}},
      {"map", {"map", "FILE", "--on", "8 x sn10"}, {Kind::kModel}},
      {"net run", {"net", "run", "FILE", "--on", "dgx-h100"}, {}},
  };
  return all;
}

/// Files of a folder that people would hand over; not what only their neighbours name, nor our tables of them.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() && path.extension() != ".tsv" && path.extension() != ".md")
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Servers' scripts that lie among launch files, for these to refuse.
bool is_server_among_launches(const fs::path& file) {
  return file.filename() == "serve.sh" || file.filename() == "sglang.sh";
}

/// Nothing is printed as an answer, and the error names the file.
void expect_refused(const Door& door, const fs::path& file) {
  std::vector<std::string> words = door.words;
  std::replace(words.begin(), words.end(), std::string("FILE"), file.string());
  const Answered answer = answer_to(words);
  EXPECT_NE(answer.code, 0) << door.name << " answers about " << file << ":\n"
                            << answer.out.substr(0, 300);
  EXPECT_NE((answer.out + answer.err).find(file.filename().string()), std::string::npos)
      << door.name << " does not name " << file << ": " << answer.err;
}

void expect_only_own_doors(const fs::path& folder, Kind kind) {
  const std::vector<fs::path> files = files_in(folder);
  EXPECT_GE(files.size(), 10U) << folder;
  for (const Door& door : doors()) {
    if (door.reads.contains(kind)) continue;
    for (const fs::path& file : files) {
      if (is_server_among_launches(file) && door.reads.contains(Kind::kServer)) continue;
      expect_refused(door, file);
    }
  }
}

TEST(EveryDoor, LaunchFilesAreReadWhereTrainingIsAskedForAlone) {
  expect_only_own_doors("tests/data/launch", Kind::kLaunch);
}

TEST(EveryDoor, ServersFilesAreReadWhereServingIsAskedForAlone) {
  expect_only_own_doors("tests/data/serve", Kind::kServer);
}

TEST(EveryDoor, ConfigsOfModelsAreNoneOfTheOthers) {
  expect_only_own_doors("src/workload/model/corpus/model", Kind::kModel);
}

}  // namespace
}  // namespace flopcast::cli
