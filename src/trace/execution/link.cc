// Matches the rows of a profiler trace with the nodes of an execution trace of the same run.
//
// From PyTorch 2.5 on, both carry the id of the recorded function. Before, nothing is shared but
// the order in which functions began: External ids and rf_ids both count up with it. Threads
// interleave differently in the two recordings (their counters are taken at different moments), so
// each thread is matched on its own, by a longest common sequence of names.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/numeric/sequence_match.h"
#include "flopcast/trace/io.h"

namespace flopcast {

namespace {

namespace dom = simdjson::dom;

struct Pair {
  std::uint32_t row;
  std::uint32_t node;
};

bool is_recorded_function(Category category) {
  return category == Category::kCpuOp || category == Category::kUserAnnotation;
}

// --- Which row is which node --------------------------------------------------------------------

const OpDetail* op_of(const Trace& trace, std::uint32_t row) {
  if (trace.events.category[row] != Category::kCpuOp) return nullptr;
  const std::uint32_t detail = trace.events.detail[row];
  return detail < trace.ops.size() ? &trace.ops[detail] : nullptr;
}

// Id 0 stands for "not recorded" in profiler traces.
std::vector<Pair> pairs_by_id(const Trace& trace, const std::vector<std::uint32_t>& rows,
                              const ExecutionTrace& execution) {
  std::unordered_map<std::int64_t, std::uint32_t> node_of;
  for (std::uint32_t i = 0; i < execution.nodes.size(); ++i) {
    if (execution.nodes[i].rf_id > 0) node_of.emplace(execution.nodes[i].rf_id, i);
  }
  std::vector<Pair> pairs;
  for (const std::uint32_t row : rows) {
    const OpDetail* op = op_of(trace, row);
    if (op == nullptr || op->record_function_id <= 0) continue;
    const auto node = node_of.find(op->record_function_id);
    if (node == node_of.end()) continue;
    if (execution.nodes[node->second].name != trace.events.name[row]) continue;
    pairs.push_back({row, node->second});
  }
  return pairs;
}

/// Rows or nodes in the order of their beginning, and the names a match compares.
struct Sequence {
  std::vector<std::uint32_t> items;
  std::vector<std::uint32_t> names;
};

using Threads = std::map<std::int64_t, Sequence>;

void append(Sequence& to, std::uint32_t item, std::uint32_t name) {
  to.items.push_back(item);
  to.names.push_back(name);
}

Threads rows_by_thread(const Trace& trace, std::vector<std::uint32_t> rows, bool apart) {
  const Events& events = trace.events;
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return events.external_id[a] < events.external_id[b];
  });
  Threads threads;
  for (const std::uint32_t row : rows) {
    append(threads[apart ? events.track[row] : 0], row, events.name[row]);
  }
  return threads;
}

Threads nodes_by_thread(const ExecutionTrace& execution, bool apart) {
  std::vector<std::uint32_t> order(execution.nodes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return execution.nodes[a].rf_id < execution.nodes[b].rf_id;
  });
  Threads threads;
  for (const std::uint32_t i : order) {
    append(threads[apart ? execution.nodes[i].thread : 0], i, execution.nodes[i].name);
  }
  return threads;
}

// How many names two sequences share, whatever their order: an upper bound of what a match can
// find.
std::size_t shared_names(const Sequence& a, const Sequence& b) {
  std::vector<std::uint32_t> left = a.names, right = b.names, both;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(both));
  return both.size();
}

void match_threads(const Sequence& rows, const Sequence& nodes, std::vector<Pair>& pairs) {
  for (const auto& [a, b] : match_sequences(rows.names, nodes.names)) {
    pairs.push_back({rows.items[a], nodes.items[b]});
  }
}

// The threads of both sides have unrelated numbers: those that share most names belong together.
std::vector<Pair> pairs_by_order(const Threads& rows, const Threads& nodes) {
  struct Candidate {
    std::size_t shared;
    std::int64_t row_thread, node_thread;
  };
  std::vector<Candidate> candidates;
  for (const auto& [row_thread, row_sequence] : rows) {
    for (const auto& [node_thread, node_sequence] : nodes) {
      const std::size_t shared = shared_names(row_sequence, node_sequence);
      if (shared > 0) candidates.push_back({shared, row_thread, node_thread});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.shared > b.shared; });
  std::vector<std::int64_t> rows_taken, nodes_taken;
  const auto is_in = [](const std::vector<std::int64_t>& list, std::int64_t thread) {
    return std::find(list.begin(), list.end(), thread) != list.end();
  };
  std::vector<Pair> pairs;
  for (const Candidate& candidate : candidates) {
    if (is_in(rows_taken, candidate.row_thread)) continue;
    if (is_in(nodes_taken, candidate.node_thread)) continue;
    rows_taken.push_back(candidate.row_thread);
    nodes_taken.push_back(candidate.node_thread);
    match_threads(rows.at(candidate.row_thread), nodes.at(candidate.node_thread), pairs);
  }
  return pairs;
}

std::vector<Pair> best_by_order(const Trace& trace, const std::vector<std::uint32_t>& rows,
                                const ExecutionTrace& execution) {
  std::vector<std::uint32_t> candidates;
  for (const std::uint32_t row : rows) {
    if (trace.events.external_id[row] != kNoId) candidates.push_back(row);
  }
  if (candidates.empty()) candidates = rows;  // no ids at all: rows are in time order already
  std::vector<Pair> apart =
      pairs_by_order(rows_by_thread(trace, candidates, true), nodes_by_thread(execution, true));
  // Files without thread numbers put all nodes into one sequence. Worth a try unless little is
  // missing.
  const std::size_t possible = std::min(candidates.size(), execution.nodes.size());
  if (apart.size() + possible / 50 >= possible) return apart;
  std::vector<Pair> together =
      pairs_by_order(rows_by_thread(trace, candidates, false), nodes_by_thread(execution, false));
  return together.size() > apart.size() ? together : apart;
}

// --- Arguments in the form of Kineto files ------------------------------------------------------

bool is_tensor(std::string_view type) { return type.starts_with("Tensor("); }
bool is_list(std::string_view type) { return type.starts_with("GenericList["); }
bool is_scalar(std::string_view type) {
  return type == "Int" || type == "Double" || type == "Bool" || type == "SymInt";
}
bool has_tensors(std::string_view type) {
  return is_list(type) && type.find("Tensor(") != std::string_view::npos;
}
// A list of plain numbers, the empty list among them.
bool is_scalar_list(std::string_view type) { return is_list(type) && !has_tensors(type); }

std::string element_type(std::string_view type) {
  const std::size_t at = type.find("Tensor(");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = type.substr(at + 7);
  return std::string(rest.substr(0, rest.find(')')));
}

std::string kineto_type(std::string_view type) {
  if (is_tensor(type)) return element_type(type);
  if (is_scalar(type)) return "Scalar";
  if (has_tensors(type)) return "TensorList";
  return is_list(type) ? "ScalarList" : "";
}

// Kineto puts a blank after each comma.
std::string spaced(const dom::element& value) {
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return simdjson::minify(value);
  std::string out = "[";
  for (const dom::element item : list) {
    if (out.size() > 1) out += ", ";
    out += spaced(item);
  }
  return out + "]";
}

std::string kineto_value(const dom::element& value, std::string_view type) {
  if (type == "Bool") return std::string_view(simdjson::minify(value)) == "true" ? "True" : "False";
  if (is_scalar(type)) return simdjson::minify(value);
  return is_scalar_list(type) ? spaced(value) : std::string();
}

/// One input of an operator.
struct Input {
  std::string_view type;
  dom::element shape, value;
};

/// The inputs of a node; empty if its three lists do not fit together.
class NodeInputs {
 public:
  NodeInputs(const ExecutionNode& node, const StringTable& strings) {
    const auto list = [&](dom::parser& parser, std::uint32_t id, dom::array& out) {
      const std::string_view text = strings[id];
      return parser.parse(text.data(), text.size(), true).get(out) == simdjson::SUCCESS;
    };
    dom::array shapes, types, values;
    if (!list(parsers_[0], node.input_shapes, shapes)) return;
    if (!list(parsers_[1], node.input_types, types)) return;
    if (!list(parsers_[2], node.input_values, values)) return;
    if (shapes.size() != types.size() || values.size() != types.size()) return;
    auto shape = shapes.begin();
    auto value = values.begin();
    for (const dom::element type : types) {
      std::string_view name;
      if (type.get(name) != simdjson::SUCCESS) name = {};
      inputs_.push_back({name, *shape, *value});
      ++shape;
      ++value;
    }
  }

  const std::vector<Input>& list() const { return inputs_; }

  /// A JSON list of what `print` makes of each input.
  template <typename Print>
  std::string joined(Print&& print) const {
    std::string out = "[";
    for (const Input& input : inputs_) {
      if (out.size() > 1) out += ", ";
      out += print(input);
    }
    return out + "]";
  }

 private:
  dom::parser parsers_[3];
  std::vector<Input> inputs_;
};

std::string in_quotes(const std::string& plain) {
  std::string out = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

// --- Collectives --------------------------------------------------------------------------------

std::int64_t elements(const dom::element& shape) {
  dom::array list;
  std::int64_t size = 0;
  if (shape.get(size) == simdjson::SUCCESS) return size;
  if (shape.get(list) != simdjson::SUCCESS) return 0;
  std::int64_t product = 1, sum = 0;
  bool nested = false;
  for (const dom::element item : list) {
    nested |= item.is_array();
    const std::int64_t n = elements(item);
    if (__builtin_mul_overflow(product, n, &product)) return 0;
    if (__builtin_add_overflow(sum, n, &sum)) return 0;
  }
  return nested ? sum : product;
}

// "c10::Half" → "Half", "long int" → "Long": as Kineto names the type of a message.
std::string message_type(const std::string& element) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"float", "Float"},     {"double", "Double"},      {"int", "Int"},
      {"long int", "Long"},   {"unsigned char", "Byte"}, {"bool", "Bool"},
      {"short int", "Short"}, {"signed char", "Char"},
  };
  for (const auto& [from, to] : kNames) {
    if (element == from) return to;
  }
  const std::size_t colon = element.rfind(':');
  return colon == std::string::npos ? element : element.substr(colon + 1);
}

std::optional<std::int64_t> first_integer(const dom::element& value) {
  std::int64_t integer = 0;
  if (value.get(integer) == simdjson::SUCCESS) return integer;
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return std::nullopt;
  for (const dom::element item : list) return first_integer(item);
  return std::nullopt;
}

// Inputs of record_param_comms: a tensor (collectives only), the sequence number, the group, the
// rank, the name of the collective, ...; a wait begins with the number of the collective it waits
// for.
void fill_collective(const std::vector<Input>& inputs, StringTable& strings,
                     CollectiveDetail& out) {
  if (inputs.empty()) return;
  const bool has_tensor = is_tensor(inputs[0].type) || has_tensors(inputs[0].type);
  const std::size_t at = has_tensor ? 1 : 0;
  if (out.sequence == kNoId && at < inputs.size()) {
    out.sequence = first_integer(inputs[at].value).value_or(kNoId);
  }
  for (const Input& input : inputs) {
    std::string_view name;
    if (out.name != 0 || input.type != "String") continue;
    if (input.value.get(name) != simdjson::SUCCESS) continue;
    out.name = strings.intern(name);
    out.is_wait = name == "wait";
    break;
  }
  if (!has_tensor) return;
  if (out.dtype == 0) out.dtype = strings.intern(message_type(element_type(inputs[0].type)));
  if (out.in_elements == 0) out.in_elements = elements(inputs[0].shape);
}

// --- Filling in ---------------------------------------------------------------------------------

OpDetail& op_to_fill(Trace& trace, std::uint32_t row) {
  std::uint32_t& detail = trace.events.detail[row];
  if (detail >= trace.ops.size()) {
    detail = static_cast<std::uint32_t>(trace.ops.size());
    trace.ops.emplace_back();
  }
  return trace.ops[detail];
}

CollectiveDetail& collective_to_fill(Trace& trace, std::uint32_t row) {
  std::uint32_t& index = trace.events.collective[row];
  if (index >= trace.collectives.size()) {
    index = static_cast<std::uint32_t>(trace.collectives.size());
    trace.collectives.emplace_back();
  }
  return trace.collectives[index];
}

void fill_row(Trace& trace, std::uint32_t row, const ExecutionNode& node, StringTable& strings) {
  if (trace.events.category[row] != Category::kCpuOp) return;
  OpDetail& op = op_to_fill(trace, row);
  if (op.record_function_id == kNoId) op.record_function_id = node.rf_id;
  const bool is_collective = strings[trace.events.name[row]] == "record_param_comms";
  const bool lacks_any = op.input_dims == 0 || op.input_types == 0 || op.concrete_inputs == 0;
  if (!lacks_any && !is_collective) return;
  const NodeInputs inputs(node, strings);
  if (inputs.list().empty()) return;
  if (op.input_dims == 0) {
    op.input_dims = strings.intern(inputs.joined([](const Input& input) {
      return is_scalar_list(input.type) ? std::string("[]") : spaced(input.shape);
    }));
  }
  if (op.input_types == 0) {
    op.input_types = strings.intern(
        inputs.joined([](const Input& input) { return in_quotes(kineto_type(input.type)); }));
  }
  if (op.concrete_inputs == 0) {
    op.concrete_inputs = strings.intern(inputs.joined(
        [](const Input& input) { return in_quotes(kineto_value(input.value, input.type)); }));
  }
  if (is_collective) fill_collective(inputs.list(), strings, collective_to_fill(trace, row));
}

}  // namespace

LinkReport link_execution_trace(Trace& trace, const ExecutionTrace& execution,
                                StringTable& strings) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < trace.events.size(); ++row) {
    if (is_recorded_function(trace.events.category[row])) rows.push_back(row);
  }
  LinkReport report;
  report.rows = rows.size();
  report.nodes = execution.nodes.size();
  std::vector<Pair> pairs = pairs_by_id(trace, rows, execution);
  report.by = "record function id";
  if (pairs.empty()) {
    pairs = best_by_order(trace, rows, execution);
    report.by = "order";
  }
  report.linked = pairs.size();
  for (const Pair& pair : pairs) fill_row(trace, pair.row, execution.nodes[pair.node], strings);
  return report;
}

}  // namespace flopcast
