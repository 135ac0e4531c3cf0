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
  const std::string_view row(begin, static_cast<std::size_t>(cursor.at() - begin));
  if (scan == Scan::kOk && is_regular(row)) learn(row);
  return scan;
}

// --- Recognising -----------------------------------------------------------------------------

namespace {

/// Behind the opening bracket at `p`: behind the closing one; null where there is none. Not inline, and on
/// places of text: a cursor whose address is known lives in memory, and every step of it waits for the last.
__attribute__((noinline)) const char* take_nested(const char* p, const char* end, JsonSlice& to) {
  Cursor cursor(p, end);
  return cursor.read_rest_of_nested(to) ? cursor.at() : nullptr;
}

}  // namespace

/// Behind the node's text and value where they stand at `p`, else null.
FLOPCAST_INLINE const char* RowShapes::take(const Node& node, const char* p, const char* end) {
  // No text of a node holds a zero byte: none is found across the end of what the cursor is in.
  if (!equal_blocks(node.text, p, node.size)) return nullptr;
  p += node.size;
  if (node.then == Then::kNested) return take_nested(p, end, *node.to);
  Cursor cursor(p, end);
  bool taken = true;
  if (node.then == Then::kScalar) taken = cursor.read_scalar(*node.to);
  if (node.then == Then::kString) taken = cursor.read_rest_of_string(*node.to);
  return taken ? cursor.at() : nullptr;
}

// The child whose text and value stand at `p`, which is then behind them.
FLOPCAST_INLINE RowShapes::Node* RowShapes::take_child(Node& parent, const char*& p,
                                                       const char* end) {
  Node* before = nullptr;
  for (Node* node = parent.first_child; node != nullptr; node = node->next_sibling) {
    if (const char* behind = take(*node, p, end)) {
      p = behind;
      if (before != nullptr) {  // what came last is tried first
        before->next_sibling = node->next_sibling;
        node->next_sibling = parent.first_child;
        parent.first_child = node;
      }
      return node;
    }
    before = node;
  }
  return nullptr;
}

FLOPCAST_INLINE void RowShapes::finish(const Told& told, bool passed_over) {
  row_.phase = told.phase;
  row_.category = told.category;
  row_.kind = told.kind;
  row_.args_present = told.args_present;
  row_.passed_over = passed_over;
}

bool RowShapes::recognise(Cursor& cursor) {
  row_.clear();
  const char* p = cursor.at();
  Node* node = nodes_.data();
  bool over = false;
  do {
    node = take_child(*node, p, cursor.end());
    if (node == nullptr) return false;
    over = node->then == Then::kPassOver || (node->is_python_name && is_needless_python(row_.name));
  } while (!over && node->then != Then::kEnd);
  if (over) {
    Cursor rest(p, cursor.end());
    if (!rest.skip_rest()) return false;
    p = rest.at();
  }
  finish(node->told, over);
  cursor.pass(static_cast<std::size_t>(p - cursor.at()));
  return true;
}

// --- Learning --------------------------------------------------------------------------------

// Whether the text between the values decides alone how the row is read, but for the name of a
// Python function, which must follow what makes it one.
bool RowShapes::is_regular(std::string_view row) const {
  if (!trail_.is_whole || row.find('\0') != std::string_view::npos) return false;
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

void RowShapes::learn(std::string_view row) {
  if (!has_room(row.size())) forget();
  if (!has_room(row.size())) return;
  Told told{row_.phase, row_.category, row_.kind, row_.args_present};
  told.phase.data = keep(row_.phase.text());
  told.category.data = keep(row_.category.text());
  Node* at = nodes_.data();
  const char* begin = row.data();
  for (const Trail::Value& value : trail_.values) {
    if (value.to == &row_.phase || value.to == &row_.category) continue;
    const JsonSlice& slice = value.slice;
    const bool nested = slice.kind == JsonSlice::Kind::kNested;
    const Then then = nested ? Then::kNested : slice.is_string() ? Then::kString : Then::kScalar;
    at = &grow(*at, begin, slice.data + (nested ? 1 : 0), then,
               value.to == nullptr ? &unused_ : value.to);
    begin = end_of(slice);
    if (value.to != &row_.name || !is_python(row_) || pass_over_ != PassOver::kUnusedAndPython) {
      continue;
    }
    at->is_python_name = true;
    at->told = told;
    if (row_.passed_over && &value == &trail_.values.back()) return;
  }
  const bool over = row_.passed_over;
  const char* end = over ? end_of(trail_.values.back().slice) : row.data() + row.size();
  grow(*at, begin, end, over ? Then::kPassOver : Then::kEnd, nullptr).told = told;
}

RowShapes::Node& RowShapes::grow(Node& parent, const char* begin, const char* end, Then then,
                                 JsonSlice* to) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  std::size_t siblings = 0;
  Node *before = nullptr, *last = nullptr;
  for (Node* node = parent.first_child; node != nullptr; node = node->next_sibling) {
    if (std::string_view(node->text, node->size) == text) return *node;
    before = last;
    last = node;
    ++siblings;
  }
  // The search for a child must not take long: one that was not met for long gives way.
  if (siblings == kMostSiblings) before->next_sibling = nullptr;
  Node& node = nodes_.emplace_back();
  node.text = keep(text);
  node.size = static_cast<std::uint32_t>(text.size());
  node.then = then;
  node.to = to;
  node.next_sibling = parent.first_child;
  parent.first_child = &node;
  return node;
}

const char* RowShapes::keep(std::string_view text) {
  const std::size_t at = texts_.size();
  texts_.insert(texts_.end(), text.begin(), text.end());
  texts_.resize((texts_.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes, 0);
  return texts_.data() + at;
}

}  // namespace flopcast::trace
