// What operations make of values: shapes, integers, addresses, and what is counted of floating-point numbers.
#include <algorithm>

#include "live/standin/triton/counter.h"

namespace flopcast::live::triton {
namespace {

std::vector<std::int64_t> shape_of(const Value& value) {
  return {value.shape.begin(), value.shape.begin() + value.rank};
}

/// A value of another shape, dimension by dimension: from[i] is the old one's number, -1: none.
Value arranged(const Value& old, const std::vector<std::int64_t>& shape,
               const std::vector<int>& from) {
  Value made = old;
  made.rank = static_cast<unsigned>(shape.size());
  made.shape = made.step = made.from = made.to = {};
  made.varies = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    made.shape[i] = shape[i];
    made.to[i] = shape[i];
    if (from[i] < 0) continue;
    const auto j = static_cast<std::size_t>(from[i]);
    made.step[i] = old.step[j];
    if ((old.varies >> j & 1) != 0) made.varies |= static_cast<std::uint8_t>(1u << i);
    if (!old.truth) continue;
    // A dimension of one that is repeated is true everywhere or nowhere.
    const bool repeats = old.shape[j] == 1 && shape[i] != 1;
    made.from[i] = old.from[j];
    made.to[i] = repeats && old.to[j] > old.from[j] ? shape[i] : old.to[j];
  }
  return made;
}

Value shifted(const Value& a, const Value& b, bool left) {
  if (!b.constant() || b.low < 0 || b.low > 58) return either(Value::unknown(shape_of(a)), a);
  const Value by = Value::number(std::int64_t{1} << b.low);
  return left ? multiply(a, by) : divide(a, by, true);
}
Value joined_bits(const Value& a, const Value& b, bool exclusive) {
  if (a.constant() && b.constant())
    return Value::filled(shape_of(a.rank >= b.rank ? a : b),
                         exclusive ? a.low ^ b.low : a.low | b.low);
  return either(Value::unknown(shape_of(a)), b);
}

/// Of two integers, or of two truth values of a bit.
struct Binary {
  std::string_view name;
  Value (*of)(const Value&, const Value&);
  Value (*of_truths)(const Value&, const Value&) = nullptr;  ///< where it is another
};
Value toward_zero(const Value& a, const Value& b) { return divide(a, b, false); }
Value downward(const Value& a, const Value& b) { return divide(a, b, true); }
Value upward(const Value& a, const Value& b) {
  return divide(subtract(add(a, b), Value::number(1)), b, true);
}
Value shifted_left(const Value& a, const Value& b) { return shifted(a, b, true); }
Value shifted_right(const Value& a, const Value& b) { return shifted(a, b, false); }
Value inclusive(const Value& a, const Value& b) { return joined_bits(a, b, false); }
Value exclusive(const Value& a, const Value& b) { return joined_bits(a, b, true); }
Value differing(const Value& a, const Value& b) {
  return b.full()   ? opposite(a)
         : a.full() ? opposite(b)
                    : either(Value::truth_of(shape_of(a), true), b);
}
constexpr Binary kBinaries[] = {
    {"arith.addi", add},
    {"arith.subi", subtract},
    {"arith.muli", multiply},
    {"arith.divsi", toward_zero},
    {"arith.divui", toward_zero},
    {"arith.floordivsi", downward},
    {"arith.ceildivsi", upward},
    {"arith.ceildivui", upward},
    {"arith.remsi", remainder},
    {"arith.remui", remainder},
    {"arith.minsi", smaller},
    {"arith.minui", smaller},
    {"arith.maxsi", larger},
    {"arith.maxui", larger},
    {"arith.shli", shifted_left},
    {"arith.shrsi", shifted_right},
    {"arith.shrui", shifted_right},
    {"arith.andi", both_bits, both},
    {"arith.ori", inclusive, any},
    {"arith.xori", exclusive, differing},
};

/// A truth value as the number 0 or 1.
Value as_number(const Value& a) {
  if (!a.truth) return a;
  Value made = Value::unknown(shape_of(a));
  made.low = 0;
  made.high = 1;
  return made;
}

Value compared(const Operation& op, const Value& a, const Value& b) {
  std::string_view text = op.text;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return compare(text.substr(0, text.find(',')), a, b);
}

/// Moves or converts numbers.
constexpr std::string_view kFree[] = {"arith.truncf",
                                      "arith.extf",
                                      "arith.sitofp",
                                      "arith.uitofp",
                                      "arith.fptosi",
                                      "arith.fptoui",
                                      "arith.bitcast",
                                      "tt.fp_to_fp",
                                      "tt.reshape",
                                      "tt.join",
                                      "tt.split",
                                      "tt.cat",
                                      "tt.unsplat",
                                      "ub.poison",
                                      "arith.cmpf",
                                      "tt.mulhiui",
                                      "arith.mulsi_extended",
                                      "arith.mului_extended"};
/// Says something to whoever compiles or debugs.
constexpr std::string_view kSilent[] = {"tt.assert",   "tt.print",    "llvm.intr.assume",
                                        "gpu.barrier", "ttg.barrier", "tt.debug_barrier"};
/// Count for each element that goes in.
constexpr std::string_view kOfInputs[] = {
    "tt.reduce", "tt.scan",         "tt.gather",      "tt.histogram", "tt.extern_elementwise",
    "tt.clampf", "tt.precise_sqrt", "tt.precise_divf"};

}  // namespace

bool Counter::shapes(const Operation& op) {
  const std::string& name = op.name;
  if (op.types.empty()) return false;
  const std::vector<std::int64_t>& shape = op.types.front().shape;
  const Value& old = operand(op, 0);
  std::vector<int> from(shape.size(), -1);
  if (name == "tt.splat") {
    Value made = old;
    if (op.types.front().element == "i1" && old.rank == 0) {
      made = Value::truth_of(shape, !old.empty());
      made.sure = old.empty() || old.full();
    } else {
      made = arranged(old, shape, from);
    }
    give(op, made);
    return true;
  }
  if (name == "tt.expand_dims") {
    const std::int64_t axis = attribute(op.text, "axis").value_or(0);
    if (shape.size() != old.rank + 1) return opaque(op), true;
    for (std::size_t i = 0, j = 0; i < shape.size(); ++i)
      if (static_cast<std::int64_t>(i) != axis) from[i] = static_cast<int>(j++);
  } else if (name == "tt.broadcast" || name == "ttg.convert_layout") {
    if (shape.size() != old.rank) return opaque(op), true;
    for (std::size_t i = 0; i < shape.size(); ++i) from[i] = static_cast<int>(i);
  } else if (name == "tt.trans") {
    std::size_t at = op.text.find("array<i32:");
    if (at == op.text.npos || shape.size() != old.rank) return opaque(op), true;
    at += 9;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      while (at < op.text.size() && (op.text[at] < '0' || op.text[at] > '9')) ++at;
      if (at >= op.text.size() || op.text[at] - '0' >= static_cast<int>(old.rank))
        return opaque(op), true;
      from[i] = op.text[at++] - '0';
    }
  } else {
    return false;
  }
  Value made = arranged(old, shape, from);
  // What is repeated along a dimension of one does not step along it.
  for (unsigned i = 0; i < made.rank; ++i) {
    if (from[i] >= 0 && old.shape[static_cast<std::size_t>(from[i])] == 1 && shape[i] != 1) {
      made.step[i] = 0;
      made.varies &= static_cast<std::uint8_t>(~(1u << i));
    }
  }
  give(op, made);
  return true;
}

void Counter::constant(const Operation& op) {
  const Type& type = op.types.front();
  std::string_view text = op.text;
  const std::size_t dense = text.find("dense<");
  text.remove_prefix(dense == text.npos ? 0 : dense + 6);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (type.element == "i1" && (text.starts_with("true") || text.starts_with("false")))
    return give(op, Value::truth_of(type.shape, text.starts_with("true")));
  const auto number = attribute("c = " + std::string(text.substr(0, 24)), "c");
  if (type.kind == Type::Kind::kInteger && number && !text.starts_with("0x"))
    return give(op, Value::filled(type.shape, *number));
  give(op, Value::unknown(type.shape));
}

/// Places in the grid, and addresses.
std::optional<Value> Counter::placed(const Operation& op) {
  const std::string& name = op.name;
  const Value &a = operand(op, 0), &b = operand(op, 1);
  const auto axis = [&op](const std::int64_t* of) {
    const std::string_view text = op.text;
    return of[text.find(" z") != text.npos ? 2 : text.find(" y") != text.npos ? 1 : 0];
  };
  const std::int64_t sizes[] = {grid_.x, grid_.y, grid_.z};
  const Type& type = op.types.front();
  if (name == "tt.get_program_id") return Value::number(axis(place_));
  if (name == "tt.get_num_programs") return Value::number(axis(sizes));
  if (name == "tt.make_range" && type.shape.size() == 1) {
    Value made = Value::filled(type.shape, attribute(op.text, "start").value_or(0));
    made.step[0] = 1;
    return made;
  }
  if (name == "tt.addptr") {
    Value offset = multiply(b, Value::number(bytes_of(type.element)));
    offset.root = -1;
    Value made = add(a, offset);
    made.root = a.root >= 0 ? a.root : root_at(a);
    return made;
  }
  if (name == "tt.int_to_ptr" || name == "tt.ptr_to_int" || name == "tt.bitcast") {
    Value made = a;
    if (name == "tt.int_to_ptr" && made.root < 0) made.root = root_at(a);
    return made;
  }
  return std::nullopt;
}

bool Counter::integers(const Operation& op) {
  const std::string& name = op.name;
  if (op.types.empty()) return false;
  if (name == "arith.constant") return constant(op), true;
  const Type& type = op.types.front();
  const Value &a = operand(op, 0), &b = operand(op, 1);
  std::optional<Value> made = placed(op);
  const auto* const binary = std::find_if(std::begin(kBinaries), std::end(kBinaries),
                                          [&name](const Binary& one) { return one.name == name; });
  if (binary != std::end(kBinaries)) {
    const bool truths = type.element == "i1" && binary->of_truths;
    made = within(truths ? binary->of_truths(a, b) : binary->of(a, b), bits_of(type.element));
  } else if (name == "arith.extsi" || name == "arith.index_cast" || name == "arith.trunci") {
    made = within(a, bits_of(type.element));
  } else if (name == "arith.extui") {
    made = as_number(a);
  } else if (name == "arith.cmpi") {
    made = compared(op, a, b);
  } else if (name == "arith.select") {
    const Value& otherwise = operand(op, 2);
    made = a.full() ? b : a.empty() ? otherwise : either(b, otherwise);
  }
  if (made) give(op, *made);
  return made.has_value();
}

/// Nothing is known of what it makes but what went into it.
void Counter::opaque(const Operation& op) {
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    Value made =
        Value::unknown(i < op.types.size() ? op.types[i].shape : std::vector<std::int64_t>());
    for (const int number : op.operands) made.take_flags(value(number));
    if (i < op.types.size() && op.types[i].element == "i1" && made.rank > 0) {
      made.truth = true;
      made.sure = false;
      made.to = made.shape;
    }
    give(op, made, i);
  }
}

void Counter::floats(const Operation& op, double weight) {
  const std::string& name = op.name;
  const auto in = [&name](const auto& list) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  if (in(kSilent)) return;
  opaque(op);
  if (in(kFree)) return;
  const bool inlined =
      name == "tt.elementwise_inline_asm" && op.text.find("pure = true") != op.text.npos;
  if (!name.starts_with("math.") && !name.starts_with("arith.") && !in(kOfInputs) && !inlined)
    return note(name);
  const Value &a = operand(op, 0), &b = operand(op, 1);
  double elements = 1;
  for (unsigned i = 0; i < a.rank; ++i) elements *= static_cast<double>(a.shape[i]);
  operations_ += weight * elements;
  if (name == "tt.reduce" && !op.types.empty() && op.types[0].kind == Type::Kind::kFloat) {
    Rows& rows = reductions_[&op];
    rows.rows += weight * static_cast<double>(op.types[0].elements());
    rows.elements += weight * elements;
  }
  if (op.results.empty()) return;
  Value& made = value(op.results.front());
  const bool exponential = name.starts_with("math.exp") ||
                           (name == "tt.extern_elementwise" && op.text.find("exp") != op.text.npos);
  if (exponential) exponentials_ = true;
  if (exponential && a.of_product) made.of_weights = true;
  const auto alone = [](const Value& one) { return one.of_product && !one.of_weights; };
  if (name == "arith.mulf" && ((a.of_weights && alone(b)) || (b.of_weights && alone(a))))
    made.of_gradient = true;
}

}  // namespace flopcast::live::triton
