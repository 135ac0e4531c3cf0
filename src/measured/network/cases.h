// Private to the validation: forecasts of measured cases from any source.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "flopcast/measured/network.h"

namespace flopcast::measured {

class CollectiveForecast {
 public:
  CollectiveForecast(const CollectiveFit& fit, const Catalog& catalog,
                     const ValidateOptions& options)
      : fit_(fit), catalog_(catalog), options_(options) {}

  /// A case made ready to be asked for many sizes.
  class Case {
   public:
    Result<CollectiveFit::Answer> at(Bytes size) const;

   private:
    friend class CollectiveForecast;
    std::optional<CollectiveFit::Curve> curve_;
    const CollectiveModel* model_ = nullptr;
    CollectiveQuery query_;
  };
  Result<Case> prepare(const CollectiveCase& what);

 private:
  Result<const CollectiveModel*> model(const std::string& node, unsigned nodes);

  const CollectiveFit& fit_;
  const Catalog& catalog_;
  ValidateOptions options_;
  std::map<std::pair<std::string, unsigned>, CollectiveModel> models_;
};

}  // namespace flopcast::measured
