#include "trace/kineto/row_shapes.h"

#include <algorithm>

namespace flopcast::trace {
namespace {

// Files hold some tens of shapes.
constexpr std::size_t kMostNodes = 1024;
constexpr std::size_t kMostTextBytes = std::size_t{64} << 10;
constexpr std::size_t kMostSiblings = 32;
constexpr std::size_t kBlockBytes = 16;

const char* end_of(const JsonSlice& value) {
  return value.data + value.size + (value.is_string() ? 1 : 0);
}

}  // namespace

RowShapes::RowShapes(PassOver pass_over) : pass_over_(pass_over) { forget(); }

void RowShapes::forget() {
  nodes_.clear();
  nodes_.reserve(kMostNodes);
  nodes_.emplace_back();
  texts_.clear();
  texts_.reserve(kMostTextBytes);
}

Scan RowShapes::read(Cursor& cursor) {
  if (recognise(cursor)) {
    ++recognised_;
    return Scan::kOk;
  }
  const char* begin = cursor.at();
  const Scan scan = read_row(cursor, pass_over_, row_, trail_);
  if (scan == Scan::kOk && is_regular()) learn(begin, cursor.at());
  return scan;
}

// --- Recognising -----------------------------------------------------------------------------

FLOPCAST_INLINE RowShapes::Node* RowShapes::child_at(Cursor& cursor, Node& parent) {
  NodeId before = 0;
  for (NodeId id = parent.first_child; id != 0; id = nodes_[id].next_sibling) {
    Node& node = nodes_[id];
    if (cursor.starts_with(node.text, node.size) &&
        (node.then != Then::kScalar || cursor.is_scalar_at(node.size))) {
      cursor.pass(node.size);
      if (before != 0) {  // what came last is tried first
        nodes_[before].next_sibling = node.next_sibling;
        node.next_sibling = parent.first_child;
        parent.first_child = id;
      }
      return &node;
    }
    before = id;
  }
  return nullptr;
}

FLOPCAST_INLINE bool RowShapes::take_value(const Node& node, Cursor& cursor) {
  if (node.then == Then::kString) return cursor.read_rest_of_string(*node.to);
  if (node.then == Then::kNested) return cursor.read_rest_of_nested(*node.to);
  return cursor.read_scalar(*node.to);
}

FLOPCAST_INLINE void RowShapes::finish(const Told& told, bool passed_over) {
  row_.phase = told.phase;
  row_.category = told.category;
  row_.kind = told.kind;
  row_.args_present = told.args_present;
  row_.passed_over = passed_over;
}

bool RowShapes::recognise(Cursor& outer) {
  Cursor cursor = outer;  // a copy can live in registers
  row_.clear();
  for (Node* node = nodes_.data();;) {
    node = child_at(cursor, *node);
    if (node == nullptr) return false;
    bool over = node->then == Then::kPassOver;
    if (node->then < Then::kEnd) {
      if (!take_value(*node, cursor)) return false;
      over = node->is_python_name && is_needless_python(row_.name);
      if (!over) continue;
    }
    if (over && !cursor.skip_rest()) return false;
    finish(node->told, over);
    outer = cursor;
    return true;
  }
}

// --- Learning --------------------------------------------------------------------------------

// Whether the text between the values decides alone how the row is read, but for the name of a
// Python function, which must follow what makes it one.
bool RowShapes::is_regular() const {
  if (!trail_.is_whole) return false;
  bool phase = false, category = false;
  for (const Trail::Value& value : trail_.values) {
    if (value.to == &row_.phase || value.to == &row_.category) {
      bool& seen = value.to == &row_.phase ? phase : category;
      if (seen || !value.slice.is_string()) return false;
      seen = true;
    }
    if (value.to == &row_.name && is_python(row_) && !(phase && category)) return false;
  }
  return true;
}

bool RowShapes::has_room(std::size_t row_bytes) const {
  const std::size_t texts = trail_.values.size() + 3;  // and the end, phase and category
  return nodes_.size() + texts <= kMostNodes &&
         texts_.size() + row_bytes + texts * kBlockBytes <= kMostTextBytes;
}

void RowShapes::learn(const char* begin, const char* end) {
  const auto row_bytes = static_cast<std::size_t>(end - begin);
  if (!has_room(row_bytes)) forget();
  if (!has_room(row_bytes)) return;
  Told told{row_.phase, row_.category, row_.kind, row_.args_present};
  told.phase.data = keep(row_.phase.text());
  told.category.data = keep(row_.category.text());
  NodeId at = 0;
  for (const Trail::Value& value : trail_.values) {
    if (value.to == &row_.phase || value.to == &row_.category) continue;
    const JsonSlice& slice = value.slice;
    const bool nested = slice.kind == JsonSlice::Kind::kNested;
    const Then then = nested ? Then::kNested : slice.is_string() ? Then::kString : Then::kScalar;
    at = grow(at, begin, slice.data + (nested ? 1 : 0), then,
              value.to == nullptr ? &unused_ : value.to);
    begin = end_of(slice);
    if (value.to != &row_.name || !is_python(row_) || pass_over_ != PassOver::kUnusedAndPython) {
      continue;
    }
    nodes_[at].is_python_name = true;
    nodes_[at].told = told;
    if (row_.passed_over && &value == &trail_.values.back()) return;
  }
  if (row_.passed_over) end = end_of(trail_.values.back().slice);
  at = grow(at, begin, end, row_.passed_over ? Then::kPassOver : Then::kEnd, nullptr);
  nodes_[at].told = told;
}

RowShapes::NodeId RowShapes::grow(NodeId parent, const char* begin, const char* end, Then then,
                                  JsonSlice* to) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  std::size_t siblings = 0;
  NodeId before = 0, last = 0;
  for (NodeId id = nodes_[parent].first_child; id != 0; id = nodes_[id].next_sibling) {
    if (std::string_view(nodes_[id].text, nodes_[id].size) == text) return id;
    before = last;
    last = id;
    ++siblings;
  }
  // The search for a child must not take long: one that was not met for long gives way.
  if (siblings == kMostSiblings) nodes_[before].next_sibling = 0;
  Node node;
  node.text = keep(text);
  node.size = static_cast<std::uint32_t>(text.size());
  node.then = then;
  node.to = to;
  node.next_sibling = nodes_[parent].first_child;
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_[parent].first_child = id;
  nodes_.push_back(node);
  return id;
}

const char* RowShapes::keep(std::string_view text) {
  const std::size_t at = texts_.size();
  texts_.insert(texts_.end(), text.begin(), text.end());
  texts_.resize((texts_.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes, 0);
  return texts_.data() + at;
}

}  // namespace flopcast::trace
