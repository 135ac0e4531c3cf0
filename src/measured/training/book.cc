#include "measured/training/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/numbers.h"
#include "catalog_files.h"
#include "flopcast/base/quantity.h"

namespace flopcast::measured {
namespace {

constexpr std::string_view kTrainingLaunches = "training/launches.toml";

std::vector<std::string> list_in(const toml::table& table, std::string_view key) {
  std::vector<std::string> words;
  if (const toml::array* list = table[key].as_array()) {
    for (const toml::node& item : *list) words.push_back(item.value_or(std::string()));
  }
  return words;
}

constexpr std::array kLists = {std::pair{"repos", &LaunchMatch::repos},
                               std::pair{"sets", &LaunchMatch::sets},
                               std::pair{"tasks", &LaunchMatch::tasks},
                               std::pair{"models", &LaunchMatch::models},
                               std::pair{"models_not", &LaunchMatch::models_not},
                               std::pair{"chips", &LaunchMatch::chips},
                               std::pair{"architectures", &LaunchMatch::architectures},
                               std::pair{"precisions", &LaunchMatch::precisions},
                               std::pair{"precisions_not", &LaunchMatch::precisions_not}};
constexpr std::array kNumbers = {
    std::pair{"tp_from", &LaunchMatch::tp_from}, std::pair{"pp_from", &LaunchMatch::pp_from},
    std::pair{"vpp_from", &LaunchMatch::vpp_from}, std::pair{"vpp_below", &LaunchMatch::vpp_below},
    std::pair{"micro_batch_from", &LaunchMatch::micro_batch_from}};
constexpr std::array<std::string_view, 6> kTexts = {"framework", "recompute", "task",
                                                    "remarks",   "note",      "path"};
/// Keys of a rule that are read one by one.
constexpr std::array<std::string_view, 13> kOthers = {
    "source", "found_in", "publisher", "says",         "from", "to",    "software",
    "told",   "compiled", "zero",      "memory_below", "set",  "latent"};

/// Reads rules, and remembers the first thing that is none.
class RuleReader {
 public:
  explicit RuleReader(const TomlFile& file) : file_(file) {}

  std::vector<LaunchRule> rules(std::string_view key) {
    std::vector<LaunchRule> rules;
    const toml::array* list = file_.root[key].as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const toml::table* table = (*list)[i].as_table();
      if (table == nullptr) {
        fail((*list)[i], "expected a table");
        break;
      }
      rules.push_back(rule(*table, key == "software"));
    }
    return rules;
  }
  std::vector<DeviceRule> devices() {
    std::vector<DeviceRule> devices;
    const toml::array* list = file_.root["device"].as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const toml::table* table = (*list)[i].as_table();
      if (table != nullptr) devices.push_back(device(*table));
      if (table == nullptr) fail((*list)[i], "expected a table");
    }
    return devices;
  }
  void fail(const toml::node& node, std::string what) {
    if (error_) return;
    error_ = Diagnostic{ErrorCode::kBadInput, place(file_, node), std::move(what),
                        "the head of catalog/training/launches.toml says what there is"};
  }
  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  LaunchRule rule(const toml::table& table, bool profile) {
    check_keys(table);
    LaunchRule out;
    for (const auto& [key, member] : kLists) out.match.*member = list_in(table, key);
    for (const auto& [key, member] : kNumbers) {
      out.match.*member = table[key].value_or(std::int64_t{0});
    }
    out.found_in = list_in(table, "found_in");
    out.told = table["told"].value_or(false);
    if (profile) out.software = table["software"].value_or(std::string());
    if (!profile) out.match.software = list_in(table, "software");
    out.match.publisher = table["publisher"].value_or(std::string());
    out.match.compiled = table["compiled"].value<bool>();
    out.match.zero = table["zero"].value<std::int64_t>();
    out.match.latent = table["latent"].value_or(false);
    read_months(table, out.match);
    read_memory(table, out.match);
    read_says(table, out.match);
    if (const toml::table* set = table["set"].as_table()) out.set = *set;
    Launch tried;
    if (const std::string key = put(out.set, tried); !key.empty()) {
      fail(table, fmt::format("'{}' is nothing that a launch has, or not of its kind", key));
    }
    return out;
  }

  DeviceRule device(const toml::table& table) {
    constexpr std::array<std::string_view, 6> kKeys = {"source", "chip",  "called",
                                                       "core",   "cores", "host"};
    for (const auto& [key, value] : table) {
      if (std::ranges::find(kKeys, key.str()) != kKeys.end()) continue;
      fail(value, fmt::format("a device has no '{}'", key.str()));
    }
    check_source(table);
    const DeviceRule out{table["chip"].value_or(std::string()), list_in(table, "called"),
                         table["core"].value_or(std::string()), table["cores"].value_or(1U),
                         table["host"].value_or(0U)};
    if (out.chip.empty()) fail(table, "a device has no chip");
    if (out.core.empty() != (out.cores <= 1))
      fail(table, "a device has core and cores, or neither");
    return out;
  }

  void check_source(const toml::table& table) {
    const auto source = table["source"].value<std::string>();
    if (!source || !file_.sources.contains(*source)) fail(table, "has no source of [sources]");
  }

  void check_keys(const toml::table& table) {
    for (const auto& [key, value] : table) {
      const auto is = [&, k = key.str()](const auto& known) { return k == known.first; };
      const bool known = std::ranges::find(kOthers, key.str()) != kOthers.end() ||
                         std::ranges::any_of(kLists, is) || std::ranges::any_of(kNumbers, is);
      if (!known) fail(value, fmt::format("a rule has no '{}'", key.str()));
    }
    check_source(table);
  }

  void read_months(const toml::table& table, LaunchMatch& match) {
    for (const auto& [key, member] :
         {std::pair{"from", &LaunchMatch::from}, std::pair{"to", &LaunchMatch::to}}) {
      const auto text = table[key].value<std::string>();
      if (text) match.*member = leading_month(*text);
      if (text && match.*member == 0) fail(table, fmt::format("{} is no month: 2026-02", key));
    }
  }
  void read_memory(const toml::table& table, LaunchMatch& match) {
    const auto text = table["memory_below"].value<std::string>();
    if (!text) return;
    const Result<Bytes> bytes = parse_bytes(*text);
    if (bytes) match.memory_below = *bytes;
    if (!bytes) fail(table, bytes.error().what);
  }
  void read_says(const toml::table& table, LaunchMatch& match) {
    const toml::table* said = table["says"].as_table();
    for (const auto& [key, value] : said != nullptr ? *said : toml::table{}) {
      if (std::ranges::find(kTexts, key.str()) == kTexts.end()) {
        fail(value, fmt::format("a run has no text '{}'", key.str()));
      }
      for (std::string& phrase : list_in(*said, key.str())) {
        match.says.emplace_back(key.str(), std::move(phrase));
      }
    }
  }

  const TomlFile& file_;
  std::optional<Diagnostic> error_;
};

std::map<std::string, Publisher, std::less<>> publishers_in(const TomlFile& file) {
  std::map<std::string, Publisher, std::less<>> out;
  const toml::table* all = file.root["publisher"].as_table();
  for (const auto& [name, value] : all != nullptr ? *all : toml::table{}) {
    const toml::table* table = value.as_table();
    if (table == nullptr) continue;
    out[std::string(name.str())] = {list_in(*table, "repos"), list_in(*table, "frameworks"),
                                    list_in(*table, "architectures")};
  }
  return out;
}

std::vector<MonthRule> months_in(const TomlFile& file) {
  std::vector<MonthRule> out;
  const toml::array* list = file.root["month"].as_array();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const auto word = [&](const char* key) {
      const toml::table* table = (*list)[i].as_table();
      return table != nullptr ? (*table)[key].value_or(std::string()) : std::string();
    };
    const toml::table* rule = (*list)[i].as_table();
    const bool round = rule != nullptr && (*rule)["round"].value_or(false);
    out.push_back({word("field"), word("repo"), word("after"), round});
  }
  return out;
}

TableRuns table_in(const TomlFile& file) {
  const auto table = file.root["table"];
  const auto word = [&](const char* key) { return table[key].value_or(std::string()); };
  return {word("set"),
          word("arch"),
          word("gpu"),
          word("inter"),
          word("dtype"),
          word("recompute"),
          word("software"),
          table["vocab"].value_or(std::int64_t{0}),
          table["gpus_per_node"].value_or(std::int64_t{1})};
}

}  // namespace

int leading_month(std::string_view text) {
  const auto digits = [&](std::size_t from, std::size_t count) {
    if (from + count > text.size()) return -1;
    return parse_whole<int>(text.substr(from, count)).value_or(-1);
  };
  std::size_t told = 0;
  while (told < text.size() && text[told] >= '0' && text[told] <= '9') ++told;
  constexpr int kCentury = 2000, kYear = 100, kMonths = 12;
  const auto sign = told < text.size() ? text[told] : ' ';
  int year = -1, month = -1;
  if (told == 6) year = digits(0, 4), month = digits(4, 2);
  if (told == 4 && sign == '-') year = digits(0, 4), month = digits(5, 2);
  if (told == 4 && month < 0) year = kCentury + digits(0, 2), month = digits(2, 2);
  if (told == 2 && sign == '.') year = kCentury + digits(0, 2), month = digits(3, 2);
  return year >= kCentury && month >= 1 && month <= kMonths ? year * kYear + month : 0;
}

Result<LaunchBook> parse_launches(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  LaunchBook book;
  RuleReader reader(*file);
  book.compiled = reader.rules("compiled"), book.software = reader.rules("software");
  book.layout = reader.rules("layout"), book.launch = reader.rules("launch");
  book.publishers = publishers_in(*file), book.devices = reader.devices();
  for (const auto* rules : {&book.compiled, &book.software, &book.layout, &book.launch}) {
    for (const LaunchRule& rule : *rules) {
      const std::string& publisher = rule.match.publisher;
      if (publisher.empty() || book.publishers.contains(publisher)) continue;
      reader.fail(file->root, fmt::format("there is no [publisher.{}]", publisher));
    }
  }
  if (reader.error()) return *reader.error();
  book.months = months_in(*file);
  const auto round = file->root["round"];
  book.first_round = round["first"].value_or(0);
  book.spring = round["spring"].value_or(1), book.autumn = round["autumn"].value_or(1);
  const toml::table* sets = file->root["set_of_id"].as_table();
  for (const auto& [key, value] : sets != nullptr ? *sets : toml::table{}) {
    book.set_of_id[std::string(key.str())] = value.value_or(std::string());
  }
  book.table = table_in(*file);
  return book;
}

const Result<LaunchBook>& launch_book() {
  static const Result<LaunchBook> book = []() -> Result<LaunchBook> {
    for (const CatalogFile& file : catalog_files()) {
      if (file.path != kTrainingLaunches) continue;
      return parse_launches(file.text, "catalog/" + std::string(kTrainingLaunches));
    }
    return Diagnostic{ErrorCode::kBadInput, std::string(kTrainingLaunches), "is not built in",
                      "rebuild"};
  }();
  return book;
}

}  // namespace flopcast::measured

unsigned flopcast::devices_of(std::string_view chip) {
  const Result<measured::LaunchBook>& book = measured::launch_book();
  if (!book) return 1;
  for (const measured::DeviceRule& device : book->devices) {
    if (device.chip == chip) return device.cores;
  }
  return 1;
}
