// Bands of forecasts of deployments: catalog/serving/bands.toml.
#pragma once

#include "flopcast/serving/measured.h"

namespace flopcast::serving {

/// 10-90 % bands as factors of a forecast, found from measured points by engine and kind of serving.
struct ServingBands {
  IterationModel::Band ttft, tpot;
};
ServingBands bands_of(const ServingPoint& point, Basis basis);

}  // namespace flopcast::serving
