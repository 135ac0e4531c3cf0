// Reads fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include "base/text/toml.h"

#include "cost/model/fits_file.h"
#include "cost/model/grid_text.h"

namespace flopcast::cost {
namespace {

constexpr std::size_t kMostKnots = std::size_t{1} << 22;

/// One table of the file. The first thing wrong is kept; what follows gives defaults.
class Reader {
 public:
  Reader(const toml::table& table, std::string where, std::optional<Diagnostic>& error)
      : table_(table), where_(std::move(where)), error_(error) {}

  void complain(std::string_view key, std::string_view expected) {
    if (error_) return;
    const toml::node* node = table_.get(key);
    const auto line = (node != nullptr ? node->source() : table_.source()).begin.line;
    error_ = Diagnostic{ErrorCode::kBadInput, fmt::format("{}:{}", where_, line),
                        fmt::format("{}: expected {}", key, expected),
                        "make the file again with flopcast calibrate kernels"};
  }
  std::string text(std::string_view key) {
    const auto value = table_[key].value<std::string>();
    if (!value) complain(key, "text");
    return value.value_or("");
  }
  double number(std::string_view key, double low, double high) {
    const double value = table_[key].value<double>().value_or(NAN);
    if (value >= low && value <= high) return value;
    complain(key, fmt::format("a number from {} to {}", low, high));
    return low;
  }
  /// @param count 0: any number of them.
  std::vector<double> numbers(std::string_view key, std::size_t count, double low, double high) {
    std::vector<double> values = numbers_of(table_.get_as<toml::array>(key), low, high);
    if (count != 0 ? values.size() == count : !values.empty()) return values;
    complain(key, fmt::format("{} numbers from {} to {}", count, low, high));
    return std::vector<double>(std::max<std::size_t>(count, 1), low);
  }
  template <typename T, typename Parse>
  T named(std::string_view key, Parse&& parse) {
    const std::optional<T> value = parse(text(key));
    if (!value) complain(key, "a name it knows");
    return value.value_or(T{});
  }
  std::string packed(std::string_view key) {
    std::string all;
    const toml::array* lines = table_.get_as<toml::array>(key);
    if (lines == nullptr) complain(key, "lines of packed text");
    if (lines != nullptr) {
      for (const toml::node& line : *lines) all += line.value<std::string>().value_or("\"");
    }
    return all;
  }
  FitOrigin origin() {
    FitOrigin out;
    out.source = text("source");
    out.rows = static_cast<std::uint64_t>(number("rows", 0, 1e15));
    out.rates = {number("flops", 1, 1e24), number("bandwidth", 1, 1e21), number("cores", 1, 1e9)};
    out.band = band("band");
    return out;
  }
  Band band(const std::string& key) {
    Band out;
    const std::vector<double> low = numbers(key + "_low", Band::kClasses, 1e-6, 1);
    const std::vector<double> high = numbers(key + "_high", Band::kClasses, 1, 1e6);
    std::copy(low.begin(), low.end(), out.low.begin());
    std::copy(high.begin(), high.end(), out.high.begin());
    return out;
  }
  const toml::table& table() const { return table_; }
  Reader in(const toml::table& inner) const { return {inner, where_, error_}; }

  template <std::size_t D>
  Grid<D> grid() {
    const toml::array* lists = table_.get_as<toml::array>("axes");
    std::array<Axis, D> axes;
    if (lists == nullptr || lists->size() != D) return bad_axes<D>();
    std::size_t knots = 1;
    for (std::size_t d = 0; d < D; ++d) {
      std::vector<double> axis = numbers_of(lists->get_as<toml::array>(d), 1e-9, 1e15);
      const bool rises =
          std::adjacent_find(axis.begin(), axis.end(), std::greater_equal<>()) == axis.end();
      if (axis.size() < 2 || !rises || (knots *= axis.size()) > kMostKnots) return bad_axes<D>();
      axes[d] = Axis(std::move(axis));
    }
    const PackedGrid packed_grid{number("low", -200, 200), number("step", 0, 1), packed("knots")};
    Grid<D> out(std::move(axes));
    std::optional<std::vector<float>> values = unpack_grid(packed_grid, knots);
    if (!values) complain("knots", fmt::format("{} packed numbers", knots));
    if (values) out.values() = std::move(*values);
    return out;
  }

 private:
  template <std::size_t D>
  Grid<D> bad_axes() {
    complain("axes", fmt::format("{} lists of growing numbers", D));
    return {};
  }
  static std::vector<double> numbers_of(const toml::array* array, double low, double high) {
    std::vector<double> values;
    if (array == nullptr) return values;
    for (const toml::node& node : *array) {
      const double value = node.value<double>().value_or(NAN);
      if (!(value >= low && value <= high)) return {};
      values.push_back(value);
    }
    return values;
  }

  const toml::table& table_;
  std::string where_;
  std::optional<Diagnostic>& error_;
};

/// What falls along an axis in the file would fall in every answer: put right, as a fit would.
void keep_monotone(Grid<3>& grid) {
  constexpr std::array<bool, 3> kAll = {true, true, true};
  std::vector<double> values(grid.values().begin(), grid.values().end());
  const std::vector<double> support(values.size(), 1.0);
  make_monotone(shape_of(grid.axes()), kAll, support, values);
  std::copy(values.begin(), values.end(), grid.values().begin());
}

GemmFit read_gemm(Reader r) {
  GemmFit fit;
  fit.type = r.named<GemmType>("type", parse_gemm_type);
  fit.origin = r.origin();
  fit.base = GemmCoefficients::from(r.numbers("base", GemmCoefficients::kCount, 1e-9, 1e6));
  for (double& q : fit.base.quantised) q = std::min(q, 1.0);
  fit.form_share = r.number("form_share", 0, 1);
  fit.odd_factor = r.number("odd_factor", 1, 100);
  fit.odd_extra_s = r.number("odd_extra_s", 0, 1);
  const toml::table* grid = r.table().get_as<toml::table>("grid");
  if (grid == nullptr) {
    r.complain("grid", "a table");
    return fit;
  }
  fit.grid = r.in(*grid).grid<3>();
  if (!fit.grid.empty()) keep_monotone(fit.grid);
  return fit;
}

AttentionFit read_attention(Reader r) {
  AttentionFit fit;
  fit.kind.decode = r.named<bool>("phase", [](std::string_view text) -> std::optional<bool> {
    if (text == "decode") return true;
    return text == "prefill" ? std::optional(false) : std::nullopt;
  });
  fit.kind.type = r.named<DataType>("type", parse_data_type);
  fit.kind.kv_cache = r.named<DataType>("kv_cache", parse_data_type);
  fit.kind.head_dim = static_cast<std::int64_t>(r.number("head_dim", 1, 1e6));
  fit.kind.window = static_cast<std::int64_t>(r.number("window", 0, 1e12));
  fit.origin = r.origin();
  fit.base =
      AttentionCoefficients::from(r.numbers("base", AttentionCoefficients::kCount, 1e-9, 1e6));
  fit.form_share = r.number("form_share", 0, 1);
  const toml::table* grid = r.table().get_as<toml::table>("grid");
  if (grid == nullptr) {
    r.complain("grid", "a table");
  } else if (fit.kind.decode) {
    fit.decode = r.in(*grid).grid<2>();
  } else {
    fit.prefill = r.in(*grid).grid<3>();
  }
  return fit;
}

MoeCurves read_curves(Reader& r) {
  const toml::array* layers = r.table().get_as<toml::array>("layers");
  if (layers == nullptr) return {};
  std::vector<MoeCurves::Key> keys;
  for (const toml::node& layer : *layers) {
    const toml::array* n = layer.as_array();
    const auto at = [n](std::size_t i) {
      const std::int64_t v =
          n == nullptr || n->size() != 6 ? -1 : n->get(i)->value_or<std::int64_t>(-1);
      return v;
    };
    bool fits = true;
    for (std::size_t i = 0; i < 6; ++i) fits &= at(i) >= 0 && at(i) <= UINT32_MAX;
    if (!fits) {
      r.complain("layers", "lists of six whole numbers");
      return {};
    }
    const auto u = [&at](std::size_t i) { return static_cast<std::uint32_t>(at(i)); };
    keys.push_back({u(0), u(1), u(2), u(3), u(4), u(5)});
  }
  std::vector<double> tokens = r.numbers("tokens", 0, 1, 1e12);
  const bool rises =
      std::adjacent_find(tokens.begin(), tokens.end(), std::greater_equal<>()) == tokens.end();
  const bool sorted =
      std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()) == keys.end();
  if (tokens.size() < 2 || !rises) r.complain("tokens", "at least two growing numbers");
  if (!sorted) r.complain("layers", "growing, distinct lists");
  auto values = unpack_curves(r.packed("curves"), keys.size() * kSkews.size() * tokens.size());
  if (!values) r.complain("curves", "one character per layer, skew and number of tokens");
  if (!values || tokens.size() < 2 || !rises || !sorted) return {};
  return {std::move(tokens), std::move(keys), std::move(*values)};
}

MoeFit read_moe(Reader r) {
  MoeFit fit;
  fit.type = r.named<GemmType>("type", parse_gemm_type);
  fit.origin = r.origin();
  fit.unseen_band = r.band("unseen_band");
  fit.base = MoeCoefficients::from(r.numbers("base", MoeCoefficients::kCount, 1e-20, 1e12));
  fit.curves = read_curves(r);
  const toml::array* grids = r.table().get_as<toml::array>("grid");
  if (grids == nullptr || grids->size() != kSkews.size()) {
    r.complain("grid", fmt::format("{} grids, one per skew", kSkews.size()));
    return fit;
  }
  for (std::size_t i = 0; i < kSkews.size(); ++i) {
    const toml::table* grid = grids->get_as<toml::table>(i);
    if (grid == nullptr) continue;
    fit.grid[i] = r.in(*grid).grid<4>();
  }
  return fit;
}

MemoryFit read_memory(Reader r) {
  MemoryFit fit;
  fit.op = r.named<MemoryOp>("op", parse_memory_op);
  fit.origin = r.origin();
  fit.launch_s = r.number("launch_s", 1e-9, 1);
  fit.bandwidth_share = r.number("bandwidth_share", 1e-4, 10);
  fit.norm = r.number("norm", 1, 100);
  fit.form_share = r.number("form_share", 0, 1);
  if (const toml::table* grid = r.table().get_as<toml::table>("grid")) {
    fit.grid = r.in(*grid).grid<2>();
  }
  return fit;
}

template <typename Fit>
void read_all(Reader& root, std::string_view key, Fit (*read)(Reader), std::vector<Fit>& out) {
  const toml::array* tables = root.table().get_as<toml::array>(key);
  if (tables == nullptr) return;
  for (const toml::node& node : *tables) {
    if (const toml::table* table = node.as_table()) out.push_back(read(root.in(*table)));
  }
}

}  // namespace

Result<std::shared_ptr<const Fits>> parse_fits(std::string_view text, const std::string& where) {
  const toml::parse_result parsed = toml::parse(text, where);
  if (!parsed) {
    return Diagnostic{ErrorCode::kBadInput,
                      fmt::format("{}:{}", where, parsed.error().source().begin.line),
                      std::string(parsed.error().description()), "this is not a fit file"};
  }
  std::optional<Diagnostic> error;
  Reader root(parsed.table(), where, error);
  auto fits = std::make_shared<Fits>();
  root.number("format", 1, 1);
  fits->chip = root.text("chip");
  read_all(root, "gemm", read_gemm, fits->gemm);
  read_all(root, "attention", read_attention, fits->attention);
  read_all(root, "moe", read_moe, fits->moe);
  read_all(root, "memory", read_memory, fits->memory);
  if (error) return *error;
  return std::shared_ptr<const Fits>(std::move(fits));
}

}  // namespace flopcast::cost
