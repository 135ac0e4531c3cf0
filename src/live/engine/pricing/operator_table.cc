#include "live/engine/pricing/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "live/wire/named_arguments.h"

namespace flopcast::live {
namespace {

constexpr std::string_view kOperatorsFile = "live/operators.toml";

struct CountingName {
  std::string_view name;
  Counting counting;
};
constexpr auto kCountings = std::to_array<CountingName>({{"moves", Counting::kMoves},
                                                         {"pointwise", Counting::kPointwise},
                                                         {"writes", Counting::kWrites},
                                                         {"copies", Counting::kCopies},
                                                         {"rows", Counting::kRows},
                                                         {"statistics", Counting::kStatistics},
                                                         {"gathers", Counting::kGathers},
                                                         {"scatters", Counting::kScatters},
                                                         {"picks", Counting::kPicks},
                                                         {"spreads", Counting::kSpreads},
                                                         {"sums", Counting::kSums},
                                                         {"splits", Counting::kSplits},
                                                         {"unpools", Counting::kUnpools},
                                                         {"updates", Counting::kUpdates},
                                                         {"sorts", Counting::kSorts},
                                                         {"selects", Counting::kSelects},
                                                         {"attends", Counting::kAttends},
                                                         {"convolves", Counting::kConvolves},
                                                         {"groups", Counting::kGroups}});

/// At least one, which may be empty.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(' ');
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

/// Bytes; parameters of a kernel are 4 KiB, 32 with the newest chips.
constexpr std::int64_t kMostOffset = 32 << 10;

/// Whether each brace of a pattern is of a hole: "{n}".
bool has_holes(std::string_view pattern) {
  bool open = false;
  for (const char c : pattern) {
    if (open ? c == '{' : c == '}') return false;
    open = open ? c != '}' : c == '{';
  }
  return !open;
}

/// An expression, or a value that may stand in place of one.
std::optional<std::string> expression_text(const toml::node& node) {
  if (node.is_string()) return node.value_or(std::string());
  if (node.is_integer()) return std::to_string(node.value_or(std::int64_t{0}));
  if (node.is_boolean()) return node.value_or(false) ? "1" : "0";
  const double number = node.value_or(std::numeric_limits<double>::quiet_NaN());
  return std::isfinite(number) ? std::optional(fmt::format("{}", number)) : std::nullopt;
}

/// Reads one file; the first mistake ends it.
class TableReader {
 public:
  explicit TableReader(const TomlFile& file) : file_(file) {}

  std::optional<OperatorRule> rule(const toml::node& node) {
    if (!node.is_table()) refuse(node, "is no table");
    if (problem_) return std::nullopt;
    const toml::table& table = *node.as_table();
    OperatorRule rule;
    rule.place = place(file_, table);
    Keys keys(*this, table, rule.place);
    keys.names("name", rule.names);
    if (rule.names.empty()) refuse(table, "has no name");
    keys.names("kernels", rule.kernels);
    keys.text("source");
    if (const std::string counts = keys.text("counts"); !counts.empty()) {
      const auto* const known =
          std::find_if(kCountings.begin(), kCountings.end(),
                       [&counts](const CountingName& one) { return one.name == counts; });
      if (known == kCountings.end()) {
        std::string all;
        for (const CountingName& one : kCountings)
          all += (all.empty() ? "" : ", ") + std::string(one.name);
        refuse(table, fmt::format("counts '{}' is none of {}", counts, all));
      } else {
        rule.counting = known->counting;
      }
    }
    if (const std::string as = keys.text("as"); !as.empty()) {
      const auto op = parse_memory_op(as);
      if (!op)
        refuse(
            table,
            fmt::format("as '{}' is no kind of kernel: elementwise, copy, layer_norm, softmax, ...",
                        as));
      rule.op = op.value_or(rule.op);
    }
    rule.backward = keys.truth("backward");
    keys.amount("read", rule.read);
    keys.amount("written", rule.written);
    keys.tables("arguments", [&](const toml::table& one) { arguments(one, rule.arguments); });
    keys.tables("product",
                [&](const toml::table& one) { product(one, rule.products.emplace_back()); });
    keys.tables("attention",
                [&](const toml::table& one) { attention(one, rule.attention.emplace()); });
    keys.done();
    if (rule.counting && rule.counting != Counting::kAttends && rule.multiplies())
      refuse(table, "has counts and a product or attention: one of them says what is done");
    if (problem_) return std::nullopt;
    return rule;
  }
  const std::optional<Diagnostic>& problem() const { return problem_; }

 private:
  /// The keys of a table, each taken once; what is left is unknown.
  class Keys {
   public:
    Keys(TableReader& reader, const toml::table& table, std::string where)
        : reader_(reader), table_(table), where_(std::move(where)) {}

    std::string text(std::string_view key) {
      const toml::node* const node = take(key);
      if (!node) return {};
      if (!node->is_string()) reader_.refuse(*node, fmt::format("{} is no text", key));
      return node->value_or(std::string());
    }
    bool truth(std::string_view key) {
      const toml::node* const node = take(key);
      if (!node) return false;
      if (!node->is_boolean())
        reader_.refuse(*node, fmt::format("{} is neither true nor false", key));
      return node->value_or(false);
    }
    void names(std::string_view key, std::vector<std::string>& names) {
      each(key, [&](const toml::node& node) {
        const auto name = node.value<std::string>();
        if (!name || name->empty() || name->find_first_of(" ;") != std::string::npos ||
            !has_holes(*name))
          return reader_.refuse(
              node, fmt::format("{} is no name: ns::operator, with * for anything", key));
        names.push_back(*name);
      });
    }
    void amount(std::string_view key, Alternatives& all) {
      each(key, [&](const toml::node& node) {
        const std::optional<std::string> text = expression_text(node);
        if (!text)
          return reader_.refuse(node, fmt::format("{} is neither a number nor an expression", key));
        Result<Expression> read = Expression::parse(*text);
        if (!read) return reader_.refuse(node, fmt::format("{} = {}", key, read.error().what));
        all.push_back(std::move(*read));
      });
    }
    template <typename Take>
    void tables(std::string_view key, Take&& take_one) {
      each(key, [&](const toml::node& node) {
        if (const toml::table* const table = node.as_table()) return take_one(*table);
        reader_.refuse(node, fmt::format("{} is no table", key));
      });
    }
    void done() {
      for (const auto& [key, node] : table_) {
        if (known_.count(std::string(key.str())) == 0)
          reader_.refuse(node, fmt::format("'{}' is not known", key.str()),
                         did_you_mean(key.str(), {known_.begin(), known_.end()}, ""));
      }
    }

   private:
    const toml::node* take(std::string_view key) {
      known_.insert(std::string(key));
      return table_.get(key);
    }
    /// The value, or each of a list of them.
    template <typename Take>
    void each(std::string_view key, Take&& take_one) {
      const toml::node* const node = take(key);
      if (!node) return;
      const toml::array* const list = node->as_array();
      if (!list) return take_one(*node);
      for (std::size_t i = 0; i < list->size(); ++i) take_one(*list->get(i));
    }

    TableReader& reader_;
    const toml::table& table_;
    std::string where_;
    std::set<std::string> known_;
  };

  /// "i32 0 8": type, index, and the offset into a structure.
  void arguments(const toml::table& table, std::vector<ArgumentRule>& all) {
    for (const auto& [key, node] : table) {
      ArgumentRule one{std::string(key.str()), {}, 0, 0};
      const std::vector<std::string_view> words = words_of(node.value_or(std::string_view()));
      const auto* const type =
          std::find_if(std::begin(kArgumentTypes), std::end(kArgumentTypes),
                       [&words](const ArgumentType& known) { return known.name == words.at(0); });
      const auto number = [&words](std::size_t at, std::int64_t otherwise) {
        return words.size() > at ? parse_whole(words[at]).value_or(-1) : otherwise;
      };
      one.index = number(1, -1);
      one.offset = number(2, 0);
      const auto small = [](std::int64_t at) { return at >= 0 && at <= kMostOffset; };
      const bool is_word = one.name.find_first_of(" ;=:") == std::string::npos;
      if (!is_word || type == std::end(kArgumentTypes) || words.size() > 3 || !small(one.index) ||
          !small(one.offset))
        return refuse(node, fmt::format("{} is no argument: \"i32 0 8\", one of i32, i64 and "
                                        "pointer, the argument's index, "
                                        "and the offset of bytes into it",
                                        key.str()));
      one.type = words[0];
      all.push_back(std::move(one));
    }
  }

  void product(const toml::table& table, ProductRule& rule) {
    Keys keys(*this, table, place(file_, table));
    keys.amount("m", rule.m);
    keys.amount("n", rule.n);
    keys.amount("k", rule.k);
    keys.amount("count", rule.count);
    rule.type = keys.text("type");
    keys.done();
    if (rule.m.empty() || rule.n.empty() || rule.k.empty() || rule.type.empty())
      refuse(table, "a product needs m, n, k and type");
  }

  void attention(const toml::table& table, AttentionRule& rule) {
    Keys keys(*this, table, place(file_, table));
    const std::pair<std::string_view, Alternatives*> amounts[] = {
        {"sequences", &rule.sequences}, {"queries", &rule.queries},     {"keys", &rule.keys},
        {"heads", &rule.heads},         {"kv_heads", &rule.kv_heads},   {"dim", &rule.dim},
        {"causal", &rule.causal},       {"value_dim", &rule.value_dim}, {"window", &rule.window}};
    for (const auto& [key, all] : amounts) keys.amount(key, *all);
    rule.type = keys.text("type");
    rule.cache = keys.text("cache");
    rule.backward = keys.truth("backward");
    keys.done();
    if (rule.queries.empty() || rule.keys.empty() || rule.heads.empty() || rule.dim.empty() ||
        rule.type.empty())
      refuse(table, "attention needs queries, keys, heads, dim and type");
  }

  void refuse(const toml::node& node, std::string what, std::string hint = {}) {
    if (problem_) return;
    if (hint.empty()) hint = "docs/how-to/run-a-script.md has an example";
    problem_ =
        Diagnostic{ErrorCode::kBadInput, place(file_, node), std::move(what), std::move(hint)};
  }

  const TomlFile& file_;
  std::optional<Diagnostic> problem_;
};

/// Takes a whole number off the name, for a pattern that begins with "{n}".
bool take_hole(std::string_view& pattern, std::string_view& name,
               std::map<std::string, double, std::less<>>& numbers) {
  const std::size_t end = pattern.find('}');
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const auto number = parse_number(name.substr(0, digits));
  if (!number) return false;
  numbers.insert_or_assign(std::string(pattern.substr(1, end - 1)), *number);
  pattern.remove_prefix(end + 1);
  name.remove_prefix(digits);
  return true;
}

bool fits(std::string_view pattern, std::string_view name,
          std::map<std::string, double, std::less<>>& numbers) {
  return fits_pattern(pattern, name, [&numbers](std::string_view& left, std::string_view& of_name) {
    return take_hole(left, of_name, numbers);
  });
}

bool applies(const OperatorRule& rule, std::string_view kernel) {
  if (rule.kernels.empty()) return true;
  std::map<std::string, double, std::less<>> numbers;
  return std::any_of(rule.kernels.begin(), rule.kernels.end(),
                     [&](const std::string& pattern) { return fits(pattern, kernel, numbers); });
}

/// @param kernel that the operator launched
std::optional<OperatorTable::Found> found_in(const std::vector<OperatorRule>& rules,
                                             std::string_view name, std::string_view kernel) {
  for (const OperatorRule& rule : rules) {
    if (!applies(rule, kernel)) continue;
    for (const std::string& pattern : rule.names) {
      OperatorTable::Found found{&rule, &pattern};
      if (fits(pattern, name, found.numbers)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<OperatorTable> OperatorTable::parse(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  OperatorTable table;
  TableReader reader(*file);
  for (const auto& [key, node] : file->root) {
    const bool kernel = key.str() == "kernel";
    const toml::array* const list = node.as_array();
    const bool known = (kernel || key.str() == "operator") && list;
    for (std::size_t i = 0; known && i < list->size(); ++i) {
      if (std::optional<OperatorRule> rule = reader.rule(*list->get(i)))
        (kernel ? table.kernels_ : table.operators_).push_back(std::move(*rule));
    }
    if (!known)
      return Diagnostic{ErrorCode::kBadInput, place(*file, node),
                        fmt::format("'{}' is neither [[operator]] nor [[kernel]]", key.str()),
                        "docs/how-to/run-a-script.md has an example"};
  }
  if (reader.problem()) return *reader.problem();
  return table;
}

std::string OperatorTable::wanted_arguments() const {
  std::string text;
  for (const OperatorRule& rule : kernels_) {
    for (const std::string& name : rule.names) {
      if (!text.empty()) text += ';';
      text += name;
      for (const ArgumentRule& one : rule.arguments)
        text += fmt::format(" {}={}:{}:{}", one.name, one.type, one.index, one.offset);
    }
  }
  return text;
}

const OperatorTable& OperatorTable::builtin() {
  static const OperatorTable table = [] {
    std::string_view text;
    for (const CatalogFile& file : catalog_files())
      if (file.path == kOperatorsFile) text = file.text;
    return *parse(text, "catalog/" + std::string(kOperatorsFile));
  }();
  return table;
}

Result<OperatorTable> OperatorTable::make(const std::filesystem::path& own) {
  if (own.empty()) return builtin();
  const Result<std::string> text = read_file(own);
  if (!text) return text.error();
  Result<OperatorTable> table = parse(*text, own.string());
  if (!table) return table;
  table->own_operators_ = table->operators_.size();
  table->own_kernels_ = table->kernels_.size();
  for (const auto list : {&OperatorTable::operators_, &OperatorTable::kernels_}) {
    const std::vector<OperatorRule>& known = builtin().*list;
    ((*table).*list).insert(((*table).*list).end(), known.begin(), known.end());
  }
  return table;
}

std::optional<OperatorTable::Found> OperatorTable::of_operator(std::string_view name,
                                                               std::string_view kernel) const {
  return found_in(operators_, name, kernel);
}
std::optional<OperatorTable::Found> OperatorTable::of_kernel(std::string_view name) const {
  return found_in(kernels_, name, name);
}

std::vector<OperatorTable::Own> OperatorTable::own() const {
  std::vector<Own> all;
  const auto add = [&all](const std::vector<OperatorRule>& rules, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      for (const std::string& name : rules[i].names) all.push_back({&name, rules[i].place});
  };
  add(operators_, own_operators_);
  add(kernels_, own_kernels_);
  return all;
}

}  // namespace flopcast::live
