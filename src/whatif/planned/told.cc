#include "whatif/planned/told.h"

#include "base/text/numbers.h"

namespace flopcast::whatif::planned {
namespace {

/// Takes `word` off the front of `text`, if it is there.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// "tp 8" off the front: the word, then its number.
template <typename Number>
bool take_named(std::string_view& text, std::string_view word, Number& out) {
  std::optional<Number> value;
  if (!take_word(text, word)) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    value = take_number<Number>(text);
  } else {
    value = take_whole<Number>(text);
  }
  if (!value) return false;
  out = *value;
  return true;
}

std::optional<Degrees> read_degrees(std::string_view text) {
  Degrees d;
  double percent = 0;
  const bool read = take_named(text, "plan: tp ", d.tp) && take_named(text, ", cp ", d.cp) &&
                    take_named(text, ", ep ", d.ep) && take_named(text, ", dp ", d.dp) &&
                    take_named(text, "; nodes ", d.nodes) &&
                    take_named(text, ", stragglers ", percent) && text == " %";
  const bool sound = d.tp > 0 && d.cp > 0 && d.ep > 0 && d.dp > 0 && d.nodes > 0 && percent >= 0;
  if (!read || !sound) return std::nullopt;
  d.stragglers = percent / 100;
  return d;
}

}  // namespace

std::vector<ToldSpan> told_spans(const TraceSet& set, const Trace& trace) {
  std::vector<ToldSpan> spans;
  const Events& ev = trace.events;
  for (std::size_t row = 0; row < ev.size(); ++row) {
    if (ev.category[row] != Category::kGpuUserAnnotation) continue;
    spans.push_back({ev.stream[row], ev.start[row], ev.end(row), set.strings[ev.name[row]]});
  }
  return spans;
}

std::optional<Degrees> told_degrees(const TraceSet& set, const Trace& trace) {
  const Events& ev = trace.events;
  for (std::size_t row = 0; row < ev.size(); ++row) {
    if (ev.category[row] != Category::kUserAnnotation) continue;
    if (const auto degrees = read_degrees(set.strings[ev.name[row]])) return degrees;
  }
  return std::nullopt;
}

std::optional<ToldPart> told_part(std::string_view name) {
  ToldPart part;
  part.of_weights = take_word(name, "weights of ");
  if (name == "embedding") {
    part.what = ToldPart::What::kEmbedding;
  } else if (name == "head") {
    part.what = ToldPart::What::kHead;
  } else if (name == "host") {
    part.what = ToldPart::What::kHost;
  } else if (take_named(name, "", part.layers) && name == " layers") {
    part.what = ToldPart::What::kLayers;
  } else {
    return std::nullopt;
  }
  return part;
}

std::optional<ToldTransfer> told_transfer(const ToldSpan& span) {
  std::string_view text = span.name;
  ToldTransfer told;
  told.gathers = take_word(text, "gather: ");
  if (!told.gathers && !take_word(text, "reduce: ")) return std::nullopt;
  const std::size_t of = text.find(" of ");
  if (of == text.npos) return std::nullopt;
  const auto op = parse_collective_op(text.substr(0, of));
  text.remove_prefix(of);
  WholeTransfer& t = told.transfer;
  const bool read = op && take_named(text, " of ", t.bytes) &&
                    take_named(text, " bytes over ", t.ranks) && text.empty();
  if (!read || t.ranks == 0 || t.bytes < 0) return std::nullopt;
  t.op = *op;
  t.time = (span.end - span.start).seconds();
  return told;
}

}  // namespace flopcast::whatif::planned
