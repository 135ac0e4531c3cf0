// The table of host costs, and its file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/toml_file.h"
#include "base/text/toml_string.h"
#include "catalog_files.h"
#include "flopcast/live/host.h"

namespace flopcast {
namespace {

constexpr std::string_view kHostFile = "live/host.toml";
/// A second: no call takes as long.
constexpr double kMostNs = 1e9;

constexpr double kMostSpread = 100;

struct CostWords {
  std::string_view name, meaning;
};
constexpr std::array<CostWords, kHostCosts> kCostWords = {{
    {"launch", "call that launches a kernel"},
    {"copy", "call of cudaMemcpyAsync"},
    {"fill", "call of cudaMemsetAsync"},
    {"record_event", "call of cudaEventRecord"},
    {"wait_event", "call of cudaStreamWaitEvent"},
    {"synchronize", "call that waits, beside what it waits for"},
    {"query", "call that asks whether something has ended"},
    {"allocate", "call of cudaMalloc"},
    {"free", "call of cudaFree, beside what it waits for"},
    {"operator",
     "operator that PyTorch's dispatcher passes, Python and autograd around it included"},
    {"outside_launch",
     "launch outside of ATen's operators, beside its call: collectives, compiled code"},
    {"launch_latency", "from the start of a launch to its kernel's on an idle stream"},
    {"wake", "from the end of the GPU's work to the end of the call that waits for it"},
}};

Diagnostic bad_table(std::string where, std::string what) {
  return {ErrorCode::kBadInput, std::move(where), std::move(what),
          "flopcast calibrate host writes such files"};
}

}  // namespace

std::string_view name(HostCost cost) { return kCostWords[static_cast<std::size_t>(cost)].name; }
std::string_view meaning(HostCost cost) {
  return kCostWords[static_cast<std::size_t>(cost)].meaning;
}

Result<HostTable> HostTable::parse(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  const toml::table* host = file->root["host"].as_table();
  if (host == nullptr) return bad_table(where, "has no table [host]");
  HostTable table;
  std::array<bool, kHostCosts> told{};
  for (const auto& [key, value] : *host) {
    if (key.str() == "source") continue;
    if (key.str() == "spread") {
      const auto factor = value.value<double>();
      if (!factor || !(*factor >= 1 && *factor <= kMostSpread))
        return bad_table(place(*file, value), "spread is no factor from 1 to 100");
      table.spread = *factor;
      continue;
    }
    const auto known = std::find_if(
        kCostWords.begin(), kCostWords.end(),
        [name = std::string_view(key.str())](const CostWords& one) { return one.name == name; });
    if (known == kCostWords.end())
      return bad_table(place(*file, value), fmt::format("there is no cost '{}'", key.str()));
    const auto number = value.value<double>();
    if (!number || !(*number >= 0 && *number <= kMostNs)) {
      return bad_table(place(*file, value),
                       fmt::format("{} is no number of nanoseconds from 0 to 1e9", key.str()));
    }
    const auto index = static_cast<std::size_t>(known - kCostWords.begin());
    table.ns[index] = *number;
    told[index] = true;
  }
  for (std::size_t i = 0; i < kHostCosts; ++i) {
    if (!told[i]) return bad_table(where, fmt::format("[host] has no {}", kCostWords[i].name));
  }
  return table;
}

std::string HostTable::toml(std::string_view source) const {
  std::string text = fmt::format(
      "# What calls and operators take the host, in ns, fitted by flopcast calibrate host.\n"
      "[host]\nsource = {}\n",
      toml_string(source));
  if (spread >= 1)
    text += fmt::format("spread = {:.2f}  # factor that forecasts are off by elsewhere\n", spread);
  for (std::size_t i = 0; i < kHostCosts; ++i) {
    text += fmt::format("{} = {:.0f}  # {}\n", kCostWords[i].name, ns[i], kCostWords[i].meaning);
  }
  return text;
}

HostTable HostTable::builtin() {
  for (const CatalogFile& file : catalog_files()) {
    // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
    if (file.path != kHostFile) continue;
    const Result<HostTable> table = parse(file.text, "catalog/" + std::string(kHostFile));
    if (table) return *table;
  }
  return {};
}

}  // namespace flopcast
