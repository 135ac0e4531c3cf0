#include "live/standin/triton/arrange.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace flopcast::live::triton {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t product_of(const Shape& shape, std::size_t from, std::size_t to) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                         shape.begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{1},
                         std::multiplies<>());
}

/// An array of the type; each element is the one of the old array that the strides, one for each dimension, lead to.
Array by_strides(const Array& old, const Type& type, const Shape& strides) {
  Array made = Array::filled(type, 0);
  const Shape& shape = type.shape;
  Shape index(shape.size(), 0);
  std::int64_t from = 0;
  for (std::int64_t& word : made.words) {
    word = old.words[static_cast<std::size_t>(from)];
    for (std::size_t i = shape.size(); i-- > 0;) {
      from += strides[i];
      if (++index[i] < shape[i]) break;
      from -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return made;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Array repeated(const Array& old, const Type& type) {
  const Shape& from = old.type.shape;
  if (from.size() != type.shape.size()) throw Refusal("a broadcast of other dimensions");
  Shape strides = strides_of(from);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != type.shape[i] && from[i] != 1) throw Refusal("a broadcast of other sizes");
    if (from[i] != type.shape[i]) strides[i] = 0;
  }
  return by_strides(old, type, strides);
}

/// "{order = array<i32: 1, 0>}"
Array transposed(const Operation& op, const Array& old, const Type& type) {
  constexpr std::string_view kOrder = "array<i32:";
  const std::size_t begin = op.text.find(kOrder);
  if (begin == op.text.npos) throw Refusal(op.name);
  const std::string list = op.text.substr(begin + kOrder.size());
  const Shape old_strides = strides_of(old.type.shape);
  Shape strides;
  for (const char c : list.substr(0, list.find('>'))) {
    if (c < '0' || c > '9') continue;
    const auto from = static_cast<std::size_t>(c - '0');
    if (from >= old_strides.size() || strides.size() == type.shape.size() ||
        old.type.shape[from] != type.shape[strides.size()])
      throw Refusal(op.name);
    strides.push_back(old_strides[from]);
  }
  if (strides.size() != type.shape.size()) throw Refusal(op.name);
  return by_strides(old, type, strides);
}

/// The same elements in the same order.
Array reshaped(const Array& old, const Type& type) {
  if (type.elements() != static_cast<std::int64_t>(old.words.size()))
    throw Refusal("a shape of more elements, or fewer");
  Array made = old;
  made.type.shape = type.shape;
  return made;
}

Array joined(const Array& a, const Array& b) {
  if (a.words.size() != b.words.size()) throw Refusal("tt.join of shapes that differ");
  Array made = a;
  made.type.shape.push_back(2);
  made.words.resize(2 * a.words.size());
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    made.words[2 * i] = a.words[i];
    made.words[2 * i + 1] = b.words[i];
  }
  return made;
}

std::vector<Array> split(const Array& old) {
  const Shape& shape = old.type.shape;
  if (shape.empty() || shape.back() != 2) throw Refusal("tt.split of no pairs");
  const std::size_t last = shape.size() - 1;
  return {without_axis(slices(old, last, 0, 1, 1), last),
          without_axis(slices(old, last, 1, 1, 1), last)};
}

Array gathered(const Operation& op, const Array& from, const Array& index) {
  const std::int64_t axis = attribute(op.text, "axis").value_or(-1);
  const Shape &shape = from.type.shape, &wanted = index.type.shape;
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()) || wanted.size() != shape.size())
    throw Refusal(op.name);
  const auto along = static_cast<std::size_t>(axis);
  const Shape strides = strides_of(shape), places = strides_of(wanted);
  Array made = index;
  made.type = from.type;
  made.type.shape = wanted;
  for (std::size_t i = 0; i < made.words.size(); ++i) {
    std::int64_t at = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t place = d == along ? index.words[i] : rest / places[d];
      rest %= places[d];
      if (place < 0 || place >= shape[d]) throw Refusal("an index that is out of bounds");
      at += place * strides[d];
    }
    made.words[i] = from.words[static_cast<std::size_t>(at)];
  }
  return made;
}

Array histogram(const std::vector<const Array*>& in, const Type& type) {
  if (in.size() > 1 && in[1]->words.size() != in[0]->words.size()) throw Refusal("tt.histogram");
  Array made = Array::filled(type, 0);
  for (std::size_t i = 0; i < in[0]->words.size(); ++i) {
    const std::int64_t bin = in[0]->words[i];
    const bool counts = in.size() < 2 || in[1]->words[i] != 0;
    if (!counts || bin < 0 || bin >= static_cast<std::int64_t>(made.words.size())) continue;
    ++made.words[static_cast<std::size_t>(bin)];
  }
  return made;
}

Array concatenated(const Array& a, const Array& b, const Type& type) {
  Array made = a;
  made.type.shape = type.shape;
  made.words.insert(made.words.end(), b.words.begin(), b.words.end());
  if (static_cast<std::int64_t>(made.words.size()) != type.elements()) throw Refusal("tt.cat");
  return made;
}

Array counted_up(const Operation& op, const Type& type) {
  Array made = Array::filled(type, attribute(op.text, "start").value_or(0));
  for (std::size_t i = 0; i < made.words.size(); ++i) made.words[i] += static_cast<std::int64_t>(i);
  return made;
}

}  // namespace

Array slices(const Array& of, std::size_t axis, std::int64_t first, std::int64_t step,
             std::int64_t count) {
  const Shape& shape = of.type.shape;
  const std::int64_t inner = product_of(shape, axis + 1, shape.size());
  const std::int64_t outer = product_of(shape, 0, axis);
  Array made;
  made.type = of.type;
  made.type.shape[axis] = count;
  made.words.reserve(static_cast<std::size_t>(outer * count * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto begin = of.words.begin() +
                         static_cast<std::ptrdiff_t>((o * shape[axis] + first + i * step) * inner);
      made.words.insert(made.words.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
    }
  }
  return made;
}

void put_slices(Array& into, const Array& values, std::size_t axis, std::int64_t first,
                std::int64_t step) {
  const Shape& shape = into.type.shape;
  const std::int64_t inner = product_of(shape, axis + 1, shape.size());
  const std::int64_t outer = product_of(shape, 0, axis), count = values.type.shape[axis];
  auto from = values.words.begin();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i, from += static_cast<std::ptrdiff_t>(inner)) {
      const auto to = (o * shape[axis] + first + i * step) * inner;
      std::copy_n(from, inner, into.words.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
}

Array without_axis(Array of, std::size_t axis) {
  of.type.shape.erase(of.type.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return of;
}

std::vector<Array> arranged_elements(const Operation& op, const std::vector<const Array*>& in) {
  const std::string& name = op.name;
  if (op.types.empty() || !name.starts_with("tt.")) return {};
  const Type& type = op.types.front();
  if (name == "tt.make_range") return {counted_up(op, type)};
  if (in.empty()) return {};
  if (name == "tt.splat") {
    Type filled = in[0]->type;
    filled.shape = type.shape;
    return {Array::filled(filled, in[0]->words[0])};
  }
  if (name == "tt.reshape" || name == "tt.unsplat" || name == "tt.expand_dims")
    return {reshaped(*in[0], type)};
  if (name == "tt.broadcast") return {repeated(*in[0], type)};
  if (name == "tt.trans") return {transposed(op, *in[0], type)};
  if (name == "tt.split") return split(*in[0]);
  if (name == "tt.histogram") return {histogram(in, type)};
  if (in.size() < 2) return {};
  if (name == "tt.join") return {joined(*in[0], *in[1])};
  if (name == "tt.cat") return {concatenated(*in[0], *in[1], type)};
  if (name == "tt.gather") return {gathered(op, *in[0], *in[1])};
  return {};
}

}  // namespace flopcast::live::triton
