#include "serving/servers/flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

constexpr std::string_view kServersFile = "serving/servers.toml";

using MeaningTable = std::map<std::string, std::pair<FlagKind, std::string>, std::less<>>;

void take_entries(const toml::table& table, FlagKind kind, MeaningTable& out) {
  for (const auto& [key, value] : table) {
    out[std::string(key.str())] = {kind, value.value_or(std::string())};
  }
}

MeaningTable meanings_in(const toml::table& table) {
  MeaningTable out;
  if (const toml::array* list = table["without_meaning"].as_array()) {
    for (const toml::node& item : *list) {
      out[item.value_or(std::string())] = {FlagKind::kWithoutMeaning, ""};
    }
  }
  if (const toml::table* some = table["unmodelled"].as_table()) {
    take_entries(*some, FlagKind::kUnmodelled, out);
  }
  if (const toml::table* some = table["used"].as_table()) {
    take_entries(*some, FlagKind::kUsed, out);
  }
  return out;
}

struct FlagBook {
  std::array<MeaningTable, 3> engines;
  MeaningTable dynamo;
};

FlagBook read_flag_book() {
  FlagBook book;
  for (const CatalogFile& known : catalog_files()) {
    if (known.path != kServersFile) continue;
    const Result<TomlFile> file =
        parse_toml(known.text, "catalog/" + std::string(kServersFile), false);
    if (!file) break;  // built in, and read by a test
    for (const ServingEngine engine :
         {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm}) {
      if (const toml::table* table = file->root[name(engine)].as_table()) {
        book.engines[static_cast<std::size_t>(engine)] = meanings_in(*table);
      }
    }
    if (const toml::table* table = file->root["dynamo"].as_table()) {
      book.dynamo = meanings_in(*table);
    }
  }
  return book;
}

const FlagBook& flag_book() {
  static const FlagBook book = read_flag_book();
  return book;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// "--flag", "-tp"; "-1" is a value.
bool is_server_flag(std::string_view word) {
  if (word.starts_with("--")) return word.size() > 2 && is_letter(word[2]);
  return word.size() > 1 && word[0] == '-' && is_letter(word[1]);
}

const std::pair<FlagKind, std::string>* find_meaning(const MeaningTable& table,
                                                     std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

namespace serving {

std::string ServerFlag::text() const {
  std::string out = from_file ? name : (name.size() == 1 ? "-" : "--") + name;
  if (from_file) std::ranges::replace(out, '-', '_');
  for (const std::string& value : values) out += " " + value;
  return out;
}

std::vector<ServerFlag> server_flags(const std::vector<std::string>& words,
                                     std::vector<std::string>& before) {
  std::vector<ServerFlag> flags;
  for (const std::string& word : words) {
    if (!is_server_flag(word)) {
      (flags.empty() ? before : flags.back().values).push_back(word);
      continue;
    }
    ServerFlag flag;
    const std::size_t dashes = word.find_first_not_of('-'), equals = word.find('=');
    flag.name = word.substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    if (equals != std::string::npos) flag.values.push_back(word.substr(equals + 1));
    // "-O3" of compilers and of vLLM.
    if (dashes == 1 && flag.name.size() == 2 && flag.name[0] == 'O') {
      flag = {"optimization-level", {flag.name.substr(1)}};
    }
    std::ranges::replace(flag.name, '_', '-');
    flags.push_back(std::move(flag));
  }
  return flags;
}

FlagMeaning flag_meaning(ServingEngine engine, std::string_view name, bool dynamo) {
  const MeaningTable& own = flag_book().engines[static_cast<std::size_t>(engine)];
  const auto* found = find_meaning(own, name);
  if (found == nullptr && dynamo) found = find_meaning(flag_book().dynamo, name);
  if (found != nullptr) return {found->first, found->second};
  if (!name.starts_with("no-")) return {};
  // The opposite of a flag is of its kind, but for those that are used: these have both in the table.
  found = find_meaning(own, name.substr(3));
  if (found == nullptr) return {};
  return {found->first == FlagKind::kUsed ? FlagKind::kUnknown : FlagKind::kWithoutMeaning, ""};
}

}  // namespace serving

std::vector<KnownServerFlag> known_server_flags(ServingEngine engine) {
  const MeaningTable& own = flag_book().engines[static_cast<std::size_t>(engine)];
  std::vector<KnownServerFlag> out;
  for (const FlagKind kind : {FlagKind::kUsed, FlagKind::kUnmodelled, FlagKind::kWithoutMeaning}) {
    for (const auto& [name, meaning] : own) {
      if (meaning.first == kind) out.push_back({name, meaning.second, kind == FlagKind::kUsed});
    }
  }
  return out;
}

}  // namespace flopcast
