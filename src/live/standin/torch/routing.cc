#include "live/standin/torch/routing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// Multiples of it, modulo 1, are spread as evenly as any number's: their counts follow a law closely.
constexpr double kGoldenRatio = 0.6180339887498949;

std::vector<double> zipf_law(std::int64_t among, double skew) {
  std::vector<double> up_to;
  double sum = 0;
  for (std::int64_t i = 1; i <= among; ++i) {
    sum += std::pow(static_cast<double>(i), -skew);
    up_to.push_back(sum);
  }
  for (double& share : up_to) share /= sum;
  return up_to;
}

void choose(const std::vector<double>& law, double& place, std::int64_t* row, std::int64_t count) {
  const auto among = static_cast<std::int64_t>(law.size());
  for (std::int64_t i = 0; i < count; ++i) {
    place = std::fmod(place + kGoldenRatio, 1.0);
    std::int64_t choice = std::lower_bound(law.begin(), law.end() - 1, place) - law.begin();
    // A row has each choice once: the next one that it has not.
    while (i < among && std::find(row, row + i, choice) != row + i) choice = (choice + 1) % among;
    row[i] = choice;
  }
}

}  // namespace

at::Tensor route(std::int64_t rows, std::int64_t among, std::int64_t count) {
  if (rows == 0 || count == 0 || among == 0) return at::zeros({rows, count}, at::kLong);
  if (flopcast_live_values()->skew == 0)
    return at::arange(rows * count, at::kLong).remainder(among).reshape({rows, count});
  const std::vector<double> law = zipf_law(among, flopcast_live_values()->skew);
  at::Tensor all = at::empty({rows, count}, at::kLong);
  std::int64_t* row = all.mutable_data_ptr<std::int64_t>();
  double place = 0.5;
  for (std::int64_t i = 0; i < rows; ++i, row += count) choose(law, place, row, count);
  return all;
}

}  // namespace flopcast::plugin
