// What a running program makes of whole blocks: constants, addresses, products, reductions, scans.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "live/standin/triton/arrange.h"
#include "live/standin/triton/runner.h"

namespace flopcast::live::triton {
namespace {

/// Says something to whoever compiles or debugs.
constexpr std::string_view kUnheard[] = {"tt.print", "llvm.intr.assume", "gpu.barrier",
                                         "ttg.barrier", "tt.debug_barrier"};

/// The dimension of a reduction or a scan, along which all its operands are as long.
std::size_t axis_of(const Operation& op, const Arrays& in) {
  const std::int64_t axis = attribute(op.text, "axis").value_or(-1);
  if (in.empty() || op.regions.size() != 1 || axis < 0) throw Refusal(op.name);
  for (const Array& one : in)
    if (axis >= static_cast<std::int64_t>(one.type.shape.size()) ||
        one.type.shape != in.front().type.shape)
      throw Refusal(op.name);
  return static_cast<std::size_t>(axis);
}

Arrays slices_of_all(const Arrays& all, std::size_t axis, std::int64_t first, std::int64_t step,
                     std::int64_t count) {
  Arrays made;
  for (const Array& one : all) made.push_back(slices(one, axis, first, step, count));
  return made;
}
Arrays both_lists(Arrays first, Arrays second) {
  for (Array& one : second) first.push_back(std::move(one));
  return first;
}

/// What a region gives for each operand is as large as that.
void same_shapes(const Operation& op, const Arrays& made, const Arrays& like) {
  if (made.size() < like.size()) throw Refusal(op.name);
  for (std::size_t i = 0; i < like.size(); ++i)
    if (made[i].type.shape != like[i].type.shape) throw Refusal(op.name);
}

}  // namespace

bool Runner::special(const Operation& op) {
  const std::string& name = op.name;
  const auto axis = [&op](const std::int64_t* of) {
    const std::string_view text = op.text;
    return of[text.find(" z") != text.npos ? 2 : text.find(" y") != text.npos ? 1 : 0];
  };
  const auto number = [&](std::int64_t word) {
    set(op.results, {Array::filled(type_of_result(op), word)});
  };
  const std::int64_t sizes[] = {grid_.x, grid_.y, grid_.z};
  if (std::find(std::begin(kUnheard), std::end(kUnheard), name) != std::end(kUnheard)) return true;
  if (name == "tt.get_program_id") {
    number(axis(place_));
  } else if (name == "tt.get_num_programs") {
    number(axis(sizes));
  } else if (name == "arith.constant") {
    constant(op);
  } else if (name == "ub.poison") {
    number(0);
  } else if (name == "tt.assert") {
    for (const std::int64_t word : operand(op, 0).words)
      if (word == 0) throw Refusal("an assertion that does not hold");
  } else if (name == "tt.addptr") {
    const Array &pointers = operand(op, 0), &offsets = operand(op, 1);
    if (pointers.words.size() != offsets.words.size()) throw Refusal(name);
    Array made = pointers;
    const auto width =
        static_cast<std::uint64_t>(known_format(element_type(pointers.type.element)).bytes());
    for (std::size_t i = 0; i < made.words.size(); ++i)
      made.words[i] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(made.words[i]) +
                                    static_cast<std::uint64_t>(offsets.words[i]) * width);
    spend(made.words.size());
    set(op.results, {std::move(made)});
  } else if (name == "tt.bitcast" && operand(op, 0).type.kind == Type::Kind::kPointer) {
    Array made = operand(op, 0);
    made.type.element = type_of_result(op).element;
    set(op.results, {std::move(made)});
  } else if (name == "tt.dot") {
    dot(op);
  } else if (name == "tt.reduce") {
    reduce(op);
  } else if (name == "tt.scan") {
    scan(op);
  } else if (name == "tt.map_elementwise") {
    map_elements(op);
  } else {
    return false;
  }
  return true;
}

/// "dense<0xFF800000> : tensor<32xf32>", "true", "-1.5 : f32"
void Runner::constant(const Operation& op) {
  const Type& type = type_of_result(op);
  const Format& format = known_format(type);
  std::string_view text = op.text;
  if (const std::size_t dense = text.find("dense<"); dense != text.npos)
    text.remove_prefix(dense + 6);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string token(text.substr(0, text.find_first_of(" >:,")));
  std::int64_t word = 0;
  char* end = nullptr;
  if (token == "true" || token == "false") {
    word = token == "true" ? 1 : 0;
  } else if (token.starts_with("0x")) {
    word = word_of_bits(std::strtoull(token.c_str(), &end, 16), format);
  } else if (format.floats) {
    word = word_of(rounded(std::strtod(token.c_str(), &end), format));
  } else {
    word = wrapped(std::strtoll(token.c_str(), &end, 10), format.bits);
  }
  if (token.empty() || (end && *end != '\0')) throw Refusal("a constant" + op.text);
  spend(static_cast<std::uint64_t>(type.elements()));
  set(op.results, {Array::filled(type, word)});
}

/// A product of blocks and what it is added to; leading dimensions are products side by side.
void Runner::dot(const Operation& op) {
  const Array &a = operand(op, 0), &b = operand(op, 1), &c = operand(op, 2);
  const auto &left = a.type.shape, &right = b.type.shape;
  const Format &of_a = known_format(a.type), &of_b = known_format(b.type),
               &to = known_format(c.type);
  const bool fits = left.size() >= 2 && right.size() == left.size() &&
                    left.back() == right[right.size() - 2] && of_a.floats == of_b.floats &&
                    of_a.floats == to.floats && (of_a.floats || of_a.bits <= 8);
  if (!fits) throw Refusal(op.name);
  const auto m = static_cast<std::size_t>(left[left.size() - 2]);
  const auto k = static_cast<std::size_t>(left.back());
  const auto n = static_cast<std::size_t>(right.back());
  const std::size_t batches = a.words.size() / (m * k);
  if (b.words.size() != batches * k * n || c.words.size() != batches * m * n)
    throw Refusal(op.name);
  spend(batches * m * n * k / 4 + a.words.size() + b.words.size());
  const auto numbers = [](const Array& of, bool floats) {
    std::vector<double> all(of.words.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = floats ? double_of(of.words[i]) : static_cast<double>(of.words[i]);
    return all;
  };
  const std::vector<double> x = numbers(a, of_a.floats), y = numbers(b, of_b.floats);
  std::vector<double> sums = numbers(c, to.floats);
  for (std::size_t row = 0; row < batches * m; ++row) {
    double* const into = sums.data() + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = x[row * k + i];
      const double* const from = y.data() + (row / m * k + i) * n;
      for (std::size_t j = 0; j < n; ++j) into[j] += factor * from[j];
    }
  }
  Array made = c;
  for (std::size_t i = 0; i < sums.size(); ++i)
    made.words[i] = to.floats ? word_of(rounded(sums[i], to))
                              : wrapped(static_cast<std::int64_t>(sums[i]), to.bits);
  set(op.results, {std::move(made)});
}

/// Neighbours are combined, then their results, and so on: the region works on all pairs at once.
void Runner::reduce(const Operation& op) {
  Arrays state = taken(op.operands);
  const std::size_t axis = axis_of(op, state);
  for (std::int64_t length = state.front().type.shape[axis]; length > 1; length /= 2) {
    if (length % 2 != 0) throw Refusal("a reduction of an odd number");
    Arrays left = slices_of_all(state, axis, 0, 2, length / 2);
    const Arrays like = left;
    Arrays made = region(op.regions.front(),
                         both_lists(std::move(left), slices_of_all(state, axis, 1, 2, length / 2)));
    same_shapes(op, made, like);
    state = std::move(made);
  }
  Arrays made;
  for (Array& one : state) made.push_back(without_axis(std::move(one), axis));
  set(op.results, std::move(made));
}

/// Each is combined with the one that lies 1, then 2, 4, ... before it.
void Runner::scan(const Operation& op) {
  Arrays state = taken(op.operands);
  const std::size_t axis = axis_of(op, state);
  const std::int64_t length = state.front().type.shape[axis];
  const bool reverse = op.text.find("reverse = true") != op.text.npos;
  if (reverse) state = slices_of_all(state, axis, length - 1, -1, length);
  for (std::int64_t apart = 1; apart < length; apart *= 2) {
    const Arrays like = slices_of_all(state, axis, apart, 1, length - apart);
    const Arrays made = region(op.regions.front(),
                               both_lists(slices_of_all(state, axis, 0, 1, length - apart), like));
    same_shapes(op, made, like);
    for (std::size_t i = 0; i < state.size(); ++i) put_slices(state[i], made[i], axis, apart, 1);
  }
  if (reverse) state = slices_of_all(state, axis, length - 1, -1, length);
  set(op.results, std::move(state));
}

/// The region is run for each element: it may branch.
void Runner::map_elements(const Operation& op) {
  const Arrays in = taken(op.operands);
  if (in.empty() || op.regions.size() != 1 || attribute(op.text, "pack").value_or(1) != 1)
    throw Refusal(op.name);
  Arrays made;
  for (const Type& type : op.types) made.push_back(Array::filled(type, 0));
  for (std::size_t i = 0; i < in.front().words.size(); ++i) {
    Arrays one;
    for (const Array& from : in) {
      if (from.words.size() != in.front().words.size()) throw Refusal(op.name);
      Type scalar = from.type;
      scalar.shape.clear();
      one.emplace_back(std::move(scalar), std::vector<std::int64_t>{from.words[i]});
    }
    const Arrays results = region(op.regions.front(), std::move(one));
    if (results.size() < made.size()) throw Refusal(op.name);
    for (std::size_t j = 0; j < made.size(); ++j) {
      if (made[j].words.size() != in.front().words.size()) throw Refusal(op.name);
      made[j].words[i] = whole(results[j]);
    }
  }
  set(op.results, std::move(made));
}

}  // namespace flopcast::live::triton
