// Protobuf's text format, as far as setup files use it: nested messages, repeated fields, numbers,
// strings, names of enumerations, comments.
//
//   kernels { name: "Q"  id: 3  type: SYSTOLIC }   # one message with three fields
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::workload::dataflow {

struct SetupMessage;

struct SetupField {
  std::string name;
  std::size_t line = 0;
  std::string value;                   ///< as written, strings without quotes; of a scalar
  std::vector<SetupMessage> messages;  ///< one, or none: then it is a scalar
};

struct SetupMessage {
  std::vector<SetupField> fields;  ///< in the order of the text
};

/// Errors: where it stops to be the format, as "file:line".
Result<SetupMessage> parse_setup_text(std::string_view text, const std::string& where);

}  // namespace flopcast::workload::dataflow
