// Reads the launches once, and finds those of a point.
#include "measured/serving/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::measured {
namespace {

constexpr std::string_view kLaunchFile = "serving/launches.toml";

/// What an entry asks of a point; empty and 0: nothing.
struct LaunchMatch {
  std::string engine, precision, version, from, to;
  std::vector<std::string> models, chips;
  std::int64_t input = 0, output = 0, users_from = 0;
  unsigned tp = 0, tp_below = 0, ep = 0, chips_from = 0;
  std::optional<bool> dated;

  bool holds(const ServingPoint& point, const std::string& model, unsigned of_tp,
             unsigned of_ep) const {
    const auto among = [](const std::vector<std::string>& list, std::string_view text) {
      return list.empty() || std::ranges::find(list, text) != list.end();
    };
    const auto is = [](const auto& wanted, const auto& value) {
      return wanted == std::remove_cvref_t<decltype(wanted)>{} || wanted == value;
    };
    return is(engine, point.engine) && is(precision, point.precision) &&
           is(version, point.version) &&
           (from.empty() || point.date >= from || point.date.empty()) &&
           (to.empty() || point.date <= to) && among(models, model) && among(chips, point.chip) &&
           is(input, point.input) && is(output, point.output) && point.users >= users_from &&
           is(tp, of_tp) && (tp_below == 0 || of_tp < tp_below) && is(ep, of_ep) &&
           point.layout.chips() >= chips_from && (!dated || *dated == !point.date.empty());
  }
};

/// Whose workers an entry's script starts.
enum class LaunchPools : std::uint8_t { kOne, kApart, kAny };

struct LaunchEntry {
  LaunchMatch match;
  LaunchPools pools = LaunchPools::kOne;
  toml::table set;
  LaunchedDrafts drafts = LaunchedDrafts::kNever;
  std::string name, why;  ///< of a defect
};

std::vector<std::string> words_in(const toml::table& table, std::string_view key) {
  std::vector<std::string> words;
  if (const toml::array* list = table[key].as_array()) {
    for (const toml::node& item : *list) words.push_back(item.value_or(std::string()));
  }
  return words;
}

LaunchMatch match_of(const toml::table& table) {
  LaunchMatch match;
  const auto word = [&](std::string_view key) { return table[key].value_or(std::string()); };
  match.engine = word("engine"), match.precision = word("precision");
  match.version = word("version"), match.from = word("from"), match.to = word("to");
  match.models = words_in(table, "models"), match.chips = words_in(table, "chips");
  match.input = table["input"].value_or(std::int64_t{0});
  match.output = table["output"].value_or(std::int64_t{0});
  match.users_from = table["users_from"].value_or(std::int64_t{0});
  match.tp = table["tp"].value_or(0U), match.tp_below = table["tp_below"].value_or(0U);
  match.ep = table["ep"].value_or(0U), match.chips_from = table["chips_from"].value_or(0U);
  match.dated = table["dated"].value<bool>();
  return match;
}

LaunchedDrafts drafts_in(const toml::table& table) {
  const std::string told = table["speculation"].value_or(std::string("never"));
  if (told == "always") return LaunchedDrafts::kAlways;
  return told == "either" ? LaunchedDrafts::kEither : LaunchedDrafts::kNever;
}

LaunchPools pools_in(const toml::table& table) {
  const std::string told = table["pools"].value_or(std::string("one"));
  if (told == "apart") return LaunchPools::kApart;
  return told == "any" ? LaunchPools::kAny : LaunchPools::kOne;
}

struct LaunchBook {
  std::vector<LaunchEntry> launches, data_parallel, drafts, defects;
  PublicClient client;
  OfflineRuns offline;
  ContradictionLimits contradictions;
  std::map<std::string, MeasuredSystem, std::less<>> systems;
  std::optional<Diagnostic> error;
};

std::vector<LaunchEntry> entries_of(const TomlFile& file, std::string_view key) {
  std::vector<LaunchEntry> entries;
  const toml::array* list = file.root[key].as_array();
  if (list == nullptr) return entries;
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    LaunchEntry entry{match_of(*table),
                      pools_in(*table),
                      {},
                      drafts_in(*table),
                      (*table)["name"].value_or(std::string()),
                      (*table)["why"].value_or(std::string())};
    if (const toml::table* set = (*table)["set"].as_table()) entry.set = *set;
    entries.push_back(std::move(entry));
  }
  return entries;
}

PublicClient client_in(const TomlFile& file) {
  const auto table = file.root["client"];
  return {table["requests"].value_or(std::int64_t{1}), table["warm_up"].value_or(std::int64_t{0}),
          table["spread"].value_or(0.0), table["warm_up_since"].value_or(std::string())};
}

OfflineRuns offline_in(const TomlFile& file) {
  const auto table = file.root["offline"];
  OfflineRuns out;
  out.memory_share = table["memory_share"].value_or(out.memory_share);
  out.max_requests = table["max_requests"].value_or(std::int64_t{1});
  out.batch_tokens = table["batch_tokens"].value_or(std::int64_t{1});
  out.requests = table["requests"].value_or(std::int64_t{1});
  if (table["kv_cache"].value_or(std::string()) == "fp8") out.kv_cache = DataType::kFp8;
  const toml::array* counts = table["counts"].as_array();
  for (std::size_t i = 0; counts != nullptr && i < counts->size(); ++i) {
    const toml::table* one = (*counts)[i].as_table();
    if (one == nullptr) continue;
    const auto number = [&](const char* key) { return (*one)[key].value_or(std::int64_t{0}); };
    out.counts[{number("input"), number("output")}] = number("requests");
  }
  return out;
}

constexpr std::array kContradictions = {
    std::pair{"same", &ContradictionLimits::same},
    std::pair{"repeats", &ContradictionLimits::repeats},
    std::pair{"twins", &ContradictionLimits::twins},
    std::pair{"most_of_peak", &ContradictionLimits::most_of_peak},
    std::pair{"falls", &ContradictionLimits::falls},
    std::pair{"stays", &ContradictionLimits::stays},
    std::pair{"fewer_users", &ContradictionLimits::fewer_users},
    std::pair{"explodes", &ContradictionLimits::explodes}};

Result<ContradictionLimits> contradictions_in(const TomlFile& file) {
  const auto table = file.root["contradictions"];
  ContradictionLimits out;
  for (const auto& [key, member] : kContradictions) {
    out.*member = table[key].value_or(0.0);
    if (out.*member > 0) continue;
    return Diagnostic{ErrorCode::kBadInput, file.name,
                      fmt::format("[contradictions] has no {} above 0", key), "give it"};
  }
  return out;
}

LaunchBook read_book() {
  LaunchBook book;
  for (const CatalogFile& catalogued : catalog_files()) {
    if (catalogued.path != kLaunchFile) continue;
    const Result<TomlFile> file =
        parse_toml(catalogued.text, "catalog/" + std::string(kLaunchFile), false);
    if (!file) {
      book.error = file.error();
      return book;
    }
    book.launches = entries_of(*file, "launch");
    book.data_parallel = entries_of(*file, "data_parallel");
    book.drafts = entries_of(*file, "drafts");
    book.defects = entries_of(*file, "defect");
    book.client = client_in(*file);
    book.offline = offline_in(*file);
    const Result<ContradictionLimits> limits = contradictions_in(*file);
    if (limits) book.contradictions = *limits;
    if (!limits) book.error = limits.error();
    const toml::table* systems = file->root["system"].as_table();
    for (const auto& [key, value] : systems != nullptr ? *systems : toml::table{}) {
      const toml::table* table = value.as_table();
      if (table == nullptr) continue;
      book.systems.emplace(key.str(), MeasuredSystem{(*table)["node"].value_or(std::string()),
                                                     (*table)["chips"].value_or(1U)});
    }
    return book;
  }
  book.error =
      Diagnostic{ErrorCode::kBadInput, std::string(kLaunchFile), "is not built in", "rebuild"};
  return book;
}

const LaunchBook& launch_book() {
  static const LaunchBook book = read_book();
  return book;
}

/// What an entry's table says of tokens, requests and memory.
class LaunchSetter {
 public:
  LaunchSetter(const toml::table& set, const ServingPoint& point) : set_(set), point_(point) {}

  std::optional<std::int64_t> whole(std::string_view key) const {
    return set_[key].value<std::int64_t>();
  }
  std::optional<double> number(std::string_view key) const { return set_[key].value<double>(); }
  bool flag(std::string_view key, bool otherwise) const { return set_[key].value_or(otherwise); }

  void put_tokens(EngineSettings& settings) const {
    if (const auto n = whole("batch_tokens")) settings.batch_tokens = *n;
    if (const auto n = whole("batch_tokens_per_input")) {
      settings.batch_tokens = std::max(settings.batch_tokens, *n * point_.input);
    }
    if (const auto n = whole("batch_tokens_beside_input")) {
      // rounded down to whole groups of 64, as the script does
      constexpr std::int64_t kGroup = 64;
      const std::int64_t all = (point_.input + point_.users + *n) / kGroup * kGroup;
      settings.batch_tokens = std::max(settings.batch_tokens, all);
    }
    if (const auto n = whole("prefill_tokens")) settings.prefill_tokens = *n;
  }
  void put_requests(EngineSettings& settings) const {
    if (const auto n = whole("max_requests")) settings.max_requests = *n;
    if (flag("max_requests_users", false)) settings.max_requests = point_.users;
    if (const auto n = whole("block")) settings.block = *n;
    if (const auto n = whole("receive_interval")) {
      settings.receive_interval = static_cast<unsigned>(*n);
    }
    settings.prefix_cache = flag("prefix_cache", settings.prefix_cache);
  }
  void put_waits(EngineSettings& settings) const {
    if (const auto n = whole("batch_wait_iterations")) {
      settings.batch_wait_iterations = static_cast<unsigned>(*n);
    }
    if (const auto x = number("batch_wait_ratio")) settings.batch_wait_ratio = *x;
    settings.balance_ranks = flag("balance_ranks", settings.balance_ranks);
    if (const auto n = whole("balance_timeout_iterations")) {
      settings.balance_timeout_iterations = static_cast<unsigned>(*n);
    }
  }
  /// Captured batches end at the script's largest; they are those of the engine below it.
  void put_graphs(EngineSettings& settings) const {
    std::int64_t most = whole("graph_most").value_or(0);
    if (flag("graph_most_users", false)) most = point_.users;
    if (most <= 0) return;
    std::erase_if(settings.graphs, [&](std::int64_t size) { return size > most; });
    constexpr std::int64_t kStep = 16;
    if (settings.graphs.empty() || settings.graphs.back() == most) return;
    for (std::int64_t size = settings.graphs.back() + kStep; size < most; size += kStep) {
      settings.graphs.push_back(size);
    }
    settings.graphs.push_back(most);
  }
  void put_memory(Deployment& deployment) const {
    if (const auto x = number("memory_share")) deployment.settings.memory_share = *x;
    const std::string kv = set_["kv_cache"].value_or(std::string());
    if (kv == "fp8") deployment.precision.kv_cache = DataType::kFp8;
    if (kv == "bf16") deployment.precision.kv_cache = DataType::kBf16;
    if (flag("experts_parallel", false)) {
      deployment.layout.ep = deployment.layout.tp * deployment.layout.dp;
    }
  }

 private:
  const toml::table& set_;
  const ServingPoint& point_;
};

}  // namespace

std::string plain_model(std::string_view told) {
  std::string name(told.substr(told.rfind('/') + 1));
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view suffix :
         {"-fp8", "-fp4", "-nvfp4", "-instruct", "-int4", "-bf16"}) {
      if (!name.ends_with(suffix) || name.size() == suffix.size()) continue;
      name.erase(name.size() - suffix.size());
      cut = true;
    }
  }
  return name;
}

const PublicClient& public_client() { return launch_book().client; }
const OfflineRuns& offline_runs() { return launch_book().offline; }
const ContradictionLimits& contradiction_limits() { return launch_book().contradictions; }

std::vector<ServingRule> defect_rules() {
  std::vector<ServingRule> rules;
  for (const LaunchEntry& entry : launch_book().defects) rules.push_back({entry.name, entry.why});
  return rules;
}

std::string_view launched_defect(const ServingPoint& point) {
  if (point.disaggregated) return "";
  const std::string model = plain_model(point.model);
  for (const LaunchEntry& entry : launch_book().defects) {
    const ServingLayout& layout = point.layout;
    if (entry.match.holds(point, model, layout.tp, layout.ep)) return entry.name;
  }
  return "";
}

MeasuredSystem system_of(std::string_view chip) {
  const auto& systems = launch_book().systems;
  const auto found = systems.find(chip);
  return found != systems.end() ? found->second : MeasuredSystem{std::string(chip), 1};
}

bool launched_data_parallel(const ServingPoint& point, unsigned tp, unsigned ep) {
  const std::string model = plain_model(point.model);
  return std::ranges::any_of(launch_book().data_parallel, [&](const LaunchEntry& entry) {
    return entry.match.holds(point, model, tp, ep);
  });
}

LaunchedDrafts launched_drafts(const ServingPoint& point) {
  const std::string model = plain_model(point.model);
  for (const LaunchEntry& entry : launch_book().drafts) {
    const ServingLayout& layout = point.layout;
    if (entry.match.holds(point, model, layout.tp, layout.ep)) return entry.drafts;
  }
  return LaunchedDrafts::kNever;
}

std::optional<Diagnostic> apply_launches(const ServingPoint& point, Deployment& deployment) {
  const LaunchBook& book = launch_book();
  if (book.error) return book.error;
  if (!point.known_protocol) return std::nullopt;
  const std::string model = plain_model(point.model);
  for (const LaunchEntry& entry : book.launches) {
    const ServingLayout& layout = point.layout;
    const LaunchPools pools = point.disaggregated ? LaunchPools::kApart : LaunchPools::kOne;
    if (entry.pools != LaunchPools::kAny && entry.pools != pools) continue;
    if (!entry.match.holds(point, model, layout.chips() / layout.pp, layout.ep)) continue;
    const LaunchSetter setter(entry.set, point);
    setter.put_tokens(deployment.settings);
    setter.put_requests(deployment.settings);
    setter.put_waits(deployment.settings);
    setter.put_graphs(deployment.settings);
    setter.put_memory(deployment);
  }
  return std::nullopt;
}

}  // namespace flopcast::measured
