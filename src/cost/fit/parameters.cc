#include "cost/fit/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace flopcast::cost {
namespace {

constexpr double kStep = 1e-3;  // of a log parameter, for the Jacobian

double soft_loss(std::span<const double> r, double scale) {
  double sum = 0;
  for (const double x : r) sum += std::sqrt(1 + x * x / (scale * scale)) - 1;
  return 2 * sum / static_cast<double>(r.size());
}

/// Solves A x = b by Cholesky; A is symmetric and made definite by the damping. @return false: not.
bool solve_symmetric(std::vector<double> a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[j * n + j] = std::sqrt(sum);
      } else {
        a[i * n + j] = sum / a[j * n + j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

class Search {
 public:
  Search(std::span<const Parameter> parameters, std::size_t rows, const Residuals& residuals,
         double scale)
      : parameters_(parameters), residuals_(residuals), scale_(scale), r_(rows), trial_r_(rows) {
    for (const Parameter& p : parameters) log_.push_back(std::log(p.start));
    cost_ = evaluate(log_, r_);
    jacobian_.assign(log_.size(), std::vector<double>(rows));
  }

  ParameterFit run() {
    constexpr int kMostRounds = 60;
    double damping = 1e-2;
    for (int round = 0; round < kMostRounds; ++round) {
      linearise();
      double gain = 0;
      for (int attempt = 0; attempt < 8; ++attempt) {
        gain = try_step(damping);
        damping = std::clamp(gain > 0 ? damping / 4 : damping * 5, 1e-8, 1e8);
        if (gain > 0) break;
      }
      if (gain <= 1e-6 * cost_) break;
    }
    return {natural(log_), cost_};
  }

 private:
  static std::vector<double> natural(std::span<const double> log) {
    std::vector<double> values(log.begin(), log.end());
    for (double& v : values) v = std::exp(v);
    return values;
  }
  double evaluate(std::span<const double> log, std::span<double> r) const {
    residuals_(natural(log), r);
    return soft_loss(r, scale_);
  }
  /// The normal equations at log_, rows weighted by their robust weight.
  void linearise() {
    const std::size_t n = log_.size();
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> moved = log_;
      const double step = moved[j] + kStep <= std::log(parameters_[j].high) ? kStep : -kStep;
      moved[j] += step;
      residuals_(natural(moved), jacobian_[j]);
      for (std::size_t i = 0; i < r_.size(); ++i) {
        jacobian_[j][i] = (jacobian_[j][i] - r_[i]) / step;
      }
    }
    normal_.assign(n * n, 0.0);
    gradient_.assign(n, 0.0);
    for (std::size_t i = 0; i < r_.size(); ++i) {
      const double w = 1 / std::sqrt(1 + r_[i] * r_[i] / (scale_ * scale_));
      for (std::size_t j = 0; j < n; ++j) {
        const double wj = w * jacobian_[j][i];
        gradient_[j] -= wj * r_[i];
        for (std::size_t k = 0; k <= j; ++k) normal_[j * n + k] += wj * jacobian_[k][i];
      }
    }
  }
  /// @return how much the loss fell; 0: it did not, and nothing changed.
  double try_step(double damping) {
    const std::size_t n = log_.size();
    std::vector<double> a = normal_, x = gradient_;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < j; ++k) a[k * n + j] = a[j * n + k];
      a[j * n + j] += damping * (a[j * n + j] + 1e-6 * static_cast<double>(r_.size()));
    }
    if (!solve_symmetric(std::move(a), x)) return 0;
    for (std::size_t j = 0; j < n; ++j) {
      x[j] = std::clamp(log_[j] + std::clamp(x[j], -1.0, 1.0), std::log(parameters_[j].low),
                        std::log(parameters_[j].high));
    }
    const double cost = evaluate(x, trial_r_);
    if (!(cost < cost_)) return 0;
    const double gain = cost_ - cost;
    log_ = std::move(x);
    r_.swap(trial_r_);
    cost_ = cost;
    return gain;
  }

  std::span<const Parameter> parameters_;
  const Residuals& residuals_;
  double scale_;
  std::vector<double> log_, r_, trial_r_, normal_, gradient_;
  std::vector<std::vector<double>> jacobian_;
  double cost_ = 0;
};

}  // namespace

ParameterFit fit_parameters(std::span<const Parameter> parameters, std::size_t rows,
                            const Residuals& residuals, double scale) {
  return Search(parameters, rows, residuals, scale).run();
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::vector<std::size_t> sample_rows(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> index(rows);
  std::iota(index.begin(), index.end(), 0U);
  if (rows <= most) return index;
  std::sort(index.begin(), index.end(),
            [](std::size_t a, std::size_t b) { return mix(a) < mix(b); });
  index.resize(most);
  std::sort(index.begin(), index.end());
  return index;
}

}  // namespace flopcast::cost
