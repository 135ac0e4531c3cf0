// Private to the validation: errors of many forecasts, by group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flopcast/measured/network.h"

namespace flopcast::measured {

class ErrorTable {
 public:
  /// One forecast of a measured sample.
  void add(const CollectiveSample& sample, const CollectiveFit::Answer& forecast);
  void add_unanswered(const CollectiveSample& sample, std::string_view why);
  CollectiveValidation take() &&;

 private:
  struct Group {
    std::vector<double> errors;  // forecast / measured - 1
    std::uint64_t covered = 0;
  };
  void add(const std::string& group, double error, bool covered);
  static CollectiveErrors summarise(const std::string& name, Group& group);

  std::map<std::string, Group> groups_;
  std::uint64_t unanswered_ = 0;
  Anomalies anomalies_;
};

}  // namespace flopcast::measured
