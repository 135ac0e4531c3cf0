// Reads the fields of one message of a setup file. The first mistake is kept; fields that nobody
// asked for are counted by name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "workload/dataflow/setup_text.h"

namespace flopcast::workload::dataflow {

/// Of a whole file.
struct SetupState {
  std::string where;
  std::optional<Diagnostic> error;
  Anomalies* unknown = nullptr;
};

class SetupFields {
 public:
  /// @param path what unknown fields are named with: "system.accelerator"
  SetupFields(const SetupMessage& message, std::string path, SetupState& state)
      : message_(message), path_(std::move(path)), state_(state) {}

  // The last value of a field, as protobuf reads it; `otherwise` where there is none.
  std::int64_t whole(std::string_view name, std::int64_t otherwise = 0);
  std::int64_t natural(std::string_view name, std::int64_t otherwise = 0);  ///< 0 to 2^42
  /// A float of 32 bits: 1342177300.0 is 1342177280.
  double real(std::string_view name, double otherwise = 0);
  std::string text(std::string_view name);
  bool flag(std::string_view name);
  bool has(std::string_view name);
  /// Every message of this name.
  std::vector<SetupFields> messages(std::string_view name);
  /// The last message of this name.
  std::optional<SetupFields> message(std::string_view name);
  /// Is not counted, whatever it holds.
  void ignore(std::string_view name) { asked_.emplace(name); }
  /// Line of the first field, for errors about the message.
  std::size_t line() const { return message_.fields.empty() ? 0 : message_.fields.front().line; }
  void wrong(std::size_t line, std::string what, std::string hint);

  void finish();

 private:
  const SetupField* last(std::string_view name, bool message);

  const SetupMessage& message_;
  std::string path_;
  SetupState& state_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace flopcast::workload::dataflow
