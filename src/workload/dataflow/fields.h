// Reads the values of one TOML table. Mistakes are kept, with their places; what is wrong is left as it was, so readers go
// on without looking, and all of a file's mistakes are told at once.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/toml_file.h"
#include "flopcast/workload/dataflow.h"
#include "workload/dataflow/names.h"

namespace flopcast::workload::dataflow {

class Fields {
 public:
  /// @param errors of the whole file
  Fields(const TomlFile& file, const toml::table& table, std::vector<Diagnostic>& errors)
      : file_(file), table_(table), errors_(errors) {}

  /// What mistakes are said to be in: "kernel 'q'".
  void about(std::string_view what, std::string_view name);

  // Each leaves `value` alone where the key is absent.
  void text(std::string_view key, std::string& value);
  void flag(std::string_view key, bool& value);
  void integer(std::string_view key, std::int64_t& value);
  void count(std::string_view key, std::int64_t& value);  ///< 1 or more
  void number(std::string_view key, double& value);       ///< finite, 0 or more
  void positive(std::string_view key, double& value);
  void bytes(std::string_view key, Bytes& value) { number(key, value.value); }
  template <typename Enum, std::size_t N>
  void word(std::string_view key, const std::array<std::string_view, N>& words, Enum& value) {
    std::string given;
    if (!given_text(key, given)) return;
    if (const auto known = find_word<Enum>(words, given)) {
      value = *known;
    } else {
      unknown_word(key, given, {words.begin(), words.end()});
    }
  }
  /// The index of the kernel that is named; it must be there.
  void kernel(std::string_view key, const std::map<std::string, std::uint32_t, std::less<>>& ids,
              std::uint32_t& value);
  void find_kernel(const toml::node& node, std::string_view name,
                   const std::map<std::string, std::uint32_t, std::less<>>& ids,
                   std::uint32_t& value);
  /// The text of `key`; false where there is none.
  bool given_text(std::string_view key, std::string& value);

  using ReadTable = std::function<void(Fields&)>;
  using ReadText = std::function<void(const toml::node&, std::string_view)>;
  /// Every table of an array; texts among them go to `read_text`, where there is one.
  void tables(std::string_view key, const ReadTable& read, const ReadText& read_text = {});

  bool has(std::string_view key) const { return table_.contains(key); }
  /// A key that has to be there, and what to write. Where it is not it is a mistake of the table.
  void missing(std::string_view key, std::string hint);
  /// "graph.toml:7:3: tensor 'q'", for what only the whole file shows to be missing
  std::string place_of() const;

  /// Keys that were not asked for are mistakes.
  void finish();

 private:
  const toml::node* find(std::string_view key);
  void wrong(const toml::node& node, std::string what, std::string hint);
  void expected(std::string_view key, const toml::node& node, std::string_view what);
  void unknown_word(std::string_view key, std::string_view given,
                    const std::vector<std::string>& words);

  const TomlFile& file_;
  const toml::table& table_;
  std::vector<Diagnostic>& errors_;
  std::string subject_;
  std::vector<std::string> asked_;
};

}  // namespace flopcast::workload::dataflow
