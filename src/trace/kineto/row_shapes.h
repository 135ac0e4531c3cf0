// Rows of a file come in a few shapes: the same keys in the same order with the same blanks, and only
// the values differ. A shape that was seen is recognised by its text between the values, compared
// whole, which takes a fraction of the time that reading it token by token takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/kineto/row_fields.h"

namespace flopcast::trace {

/// Reads rows as read_row() does, to the same outcome whatever the text, and faster where shapes
/// recur.
///
/// The shapes form a tree: a node is a stretch of text that ends where a value begins, and its
/// children are what may follow the value. What `ph` and `cat` say is part of such stretches, as it
/// decides what else a row holds. A row that leaves the tree is read by read_row() and adds its
/// shape. Equal text in an equal place is equal tokens, so a row that stays in the tree is one that
/// read_row() would have read in the same way.
class RowShapes {
 public:
  explicit RowShapes(PassOver pass_over);
  RowShapes(const RowShapes&) = delete;  // the tree points into the row
  RowShapes& operator=(const RowShapes&) = delete;

  /// Reads the row object at the cursor into row().
  Scan read(Cursor& cursor);
  const RawRow& row() const { return row_; }
  /// How many rows had a shape that was seen before.
  std::uint64_t recognised() const { return recognised_; }

 private:
  enum class Then : std::uint8_t {
    kString,  ///< the text ends behind an opening quote
    kScalar,
    kNested,  ///< the text ends behind an opening bracket
    kEnd,
    kPassOver,  ///< the row is needless, and what is left of it is passed over
  };
  /// What the text up to some node says of a row.
  struct Told {
    JsonSlice phase, category;
    Category kind = Category::kOther;
    std::uint64_t args_present = 0;
  };
  struct Node {
    const char* text = nullptr;  // in whole blocks
    std::uint32_t size = 0;
    Then then = Then::kEnd;
    bool is_python_name = false;  // the value tells whether the row is needless
    JsonSlice* to = nullptr;      // where the value goes
    Node *first_child = nullptr, *next_sibling = nullptr;
    Told told;  // where a row may end
  };

  bool recognise(Cursor& cursor);
  static const char* take(const Node& node, const char* p, const char* end);
  static Node* take_child(Node& parent, const char*& p, const char* end);
  void finish(const Told& told, bool passed_over);

  bool is_regular(std::string_view row) const;
  bool has_room(std::size_t row_bytes) const;
  void learn(std::string_view row);
  Node& grow(Node& parent, const char* begin, const char* end, Then then, JsonSlice* to);
  const char* keep(std::string_view text);
  void forget();

  PassOver pass_over_;
  RawRow row_;
  JsonSlice unused_;  // where values go that nobody reads
  Trail trail_;
  // Both of constant capacity, for nodes point into them.
  std::vector<Node> nodes_;  // the first is the root
  std::vector<char> texts_;
  std::uint64_t recognised_ = 0;
};

}  // namespace flopcast::trace
