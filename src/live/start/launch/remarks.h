// What processes of a run remark besides their records: functions that are not there.
#pragma once

#include <string>
#include <vector>

#include "live/wire/socket.h"

namespace flopcast::live {

/// A file without a place, which processes add lines to: nothing of it is left, however the run ends.
class Remarks {
 public:
  static constexpr const char* kVariable = "FLOPCAST_LIVE_LOG";
  /// Stays closed where the caller has named a file for it already.
  Remarks();
  bool is_open() const { return static_cast<bool>(file_); }
  /// Where processes of this user find it while this one runs.
  std::string path() const;
  /// Functions that they called and that are not there, each once.
  std::vector<std::string> unsupported() const;

 private:
  Descriptor file_;
};

}  // namespace flopcast::live
