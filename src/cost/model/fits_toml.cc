// Writes fits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/toml_string.h"
#include "cost/model/fits_file.h"
#include "cost/model/grid_text.h"

namespace flopcast::cost {
namespace {

class Writer {
 public:
  void line(std::string_view text) { (out_ += text) += '\n'; }
  void text(std::string_view key, std::string_view value) {
    line(fmt::format("{} = {}", key, toml_string(value)));
  }
  template <typename Number>
  void number(std::string_view key, Number value) {
    line(fmt::format("{} = {}", key, value));
  }
  void numbers(std::string_view key, std::span<const double> values) {
    line(fmt::format("{} = [{}]", key, fmt::join(values, ", ")));
  }
  /// Long text, in lines.
  void packed(std::string_view key, std::string_view value) {
    constexpr std::size_t kWidth = 120;
    line(fmt::format("{} = [", key));
    for (; !value.empty(); value.remove_prefix(std::min(kWidth, value.size()))) {
      line(fmt::format("\"{}\",", value.substr(0, kWidth)));
    }
    line("]");
  }
  void origin(const FitOrigin& origin) {
    text("source", origin.source);
    number("rows", origin.rows);
    number("flops", origin.rates.flops);
    number("bandwidth", origin.rates.bandwidth);
    number("cores", origin.rates.cores);
    band("band", origin.band);
  }
  void band(std::string_view key, const Band& band) {
    numbers(fmt::format("{}_low", key), band.low);
    numbers(fmt::format("{}_high", key), band.high);
  }
  template <std::size_t D>
  void grid(std::string_view key, const Grid<D>& grid) {
    if (grid.empty()) return;
    line(fmt::format("[{}]", key));
    std::vector<std::string> axes;
    for (const Axis& axis : grid.axes()) {
      axes.push_back(fmt::format("[{}]", fmt::join(axis.knots(), ", ")));
    }
    line(fmt::format("axes = [{}]", fmt::join(axes, ", ")));
    const PackedGrid packed_grid = pack_grid(grid.values());
    number("low", packed_grid.low);
    number("step", packed_grid.step);
    packed("knots", packed_grid.text);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void write(Writer& w, const GemmFit& fit) {
  w.line("\n[[gemm]]");
  w.text("type", name(fit.type));
  w.origin(fit.origin);
  w.numbers("base", fit.base.values());
  w.number("form_share", fit.form_share);
  w.number("odd_factor", fit.odd_factor);
  w.number("odd_extra_s", fit.odd_extra_s);
  w.grid("gemm.grid", fit.grid);
}

void write(Writer& w, const AttentionFit& fit) {
  w.line("\n[[attention]]");
  w.text("phase", fit.kind.decode ? "decode" : "prefill");
  w.text("type", name(fit.kind.type));
  w.text("kv_cache", name(fit.kind.kv_cache));
  w.number("head_dim", fit.kind.head_dim);
  w.number("window", fit.kind.window);
  w.origin(fit.origin);
  w.numbers("base", fit.base.values());
  w.number("form_share", fit.form_share);
  w.grid("attention.grid", fit.prefill);
  w.grid("attention.grid", fit.decode);
}

void write(Writer& w, const MoeFit& fit) {
  w.line("\n[[moe]]");
  w.text("type", name(fit.type));
  w.origin(fit.origin);
  w.band("unseen_band", fit.unseen_band);
  w.numbers("base", fit.base.values());
  if (!fit.curves.empty()) {
    w.numbers("tokens", fit.curves.tokens());
    w.line("layers = [");
    for (const MoeCurves::Key& k : fit.curves.keys()) {
      w.line(fmt::format("[{},{},{},{},{},{}],", k.hidden, k.intermediate, k.top_k, k.experts,
                         k.tensor_parallel, k.expert_parallel));
    }
    w.line("]");
    w.packed("curves", pack_curves(fit.curves.values()));
  }
  for (const Grid<4>& grid : fit.grid) {
    if (!grid.empty()) w.grid("[moe.grid]", grid);
  }
}

void write(Writer& w, const MemoryFit& fit) {
  w.line("\n[[memory]]");
  w.text("op", name(fit.op));
  w.origin(fit.origin);
  w.number("launch_s", fit.launch_s);
  w.number("bandwidth_share", fit.bandwidth_share);
  w.number("norm", fit.norm);
  w.number("form_share", fit.form_share);
  w.grid("memory.grid", fit.grid);
}

}  // namespace

std::string fits_toml(const Fits& fits) {
  Writer w;
  w.line(
      "# Kernel times fitted to measurements by `flopcast calibrate kernels`. Base formulas and");
  w.line("# packing: docs/theory/kernels.md. Do not edit: calibrate again.");
  w.number("format", 1);
  w.text("chip", fits.chip);
  for (const GemmFit& fit : fits.gemm) write(w, fit);
  for (const AttentionFit& fit : fits.attention) write(w, fit);
  for (const MoeFit& fit : fits.moe) write(w, fit);
  for (const MemoryFit& fit : fits.memory) write(w, fit);
  return w.take();
}

}  // namespace flopcast::cost
