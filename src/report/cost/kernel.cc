// The forecast of one kernel as text and JSON.
#include <fmt/format.h>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "flopcast/report/cost.h"

namespace flopcast {
namespace {

std::string words(const Gemm& g) {
  std::string text = fmt::format("gemm {} {} x {} x {}", name(g.type), g.m, g.n, g.k);
  if (g.batch > 1) text += fmt::format(", batch {}", g.batch);
  return text;
}

std::string words(const Attention& a) {
  return fmt::format("attention {} {} tokens at {}, batch {}, heads {}/{} of {}{}", name(a.type),
                     a.query_length, a.kv_length, a.batch, a.heads, a.kv_heads, a.head_dim,
                     a.backward ? ", backward" : "");
}

std::string words(const GroupedGemm& g) {
  return fmt::format("moe {} {} tokens, {} x {}, {} of {} experts, tp {} ep {}, skew {}",
                     name(g.type), g.tokens, g.hidden, g.intermediate, g.top_k, g.experts,
                     g.tensor_parallel, g.expert_parallel, g.skew);
}

std::string words(const MemoryBound& k) {
  return fmt::format("{} {} {} x {}{}", name(k.op), name(k.type), k.rows, k.columns,
                     k.backward ? ", backward" : "");
}

}  // namespace

std::string kernel_words(const Kernel& kernel) {
  return std::visit([](const auto& k) { return words(k); }, kernel);
}

std::string kernel_text(const KernelReport& report) {
  const KernelTime& t = report.time;
  const double flops = kernel_flops(report.kernel).value, bytes = kernel_bytes(report.kernel).value;
  std::string text = fmt::format("{} on {}\n", kernel_words(report.kernel), report.chip);
  const auto line = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", what, value);
  };
  line("time", fmt::format("{}   (10-90 %: {} to {})", short_time(t.time), short_time(t.low),
                           short_time(t.high)));
  line("roofline",
       fmt::format("{}   ({} of the time)", short_time(t.roofline), percent(t.roofline / t.time)));
  if (flops > 0) {
    line("rate", quantity_text(flops / t.time.value, UnitKind::kFlopsPerSecond));
  }
  line("traffic", fmt::format("{}, {}", quantity_text(bytes, UnitKind::kBytes),
                              quantity_text(bytes / t.time.value, UnitKind::kBytesPerSecond)));
  line("basis", std::string(name(t.basis)));
  line("source", std::string(t.source));
  return text;
}

std::string kernel_json(const KernelReport& report) {
  const KernelTime& t = report.time;
  JsonWriter json;
  json.begin_object();
  json.text("kernel", kernel_words(report.kernel));
  json.text("chip", report.chip);
  json.ratio("time_s", t.time.value);
  json.ratio("low_s", t.low.value);
  json.ratio("high_s", t.high.value);
  json.ratio("roofline_s", t.roofline.value);
  json.ratio("roofline_share", t.roofline / t.time);
  json.ratio("flops", kernel_flops(report.kernel).value);
  json.ratio("bytes", kernel_bytes(report.kernel).value);
  json.text("basis", name(t.basis));
  json.text("source", t.source);
  write_fits(json, report.own_fits);
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
