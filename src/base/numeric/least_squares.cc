#include "base/numeric/least_squares.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/linear.h"

namespace flopcast {
namespace {

constexpr double kStep = 1e-3;  // of a log parameter, for the Jacobian

double soft_loss(std::span<const double> r, double scale) {
  double sum = 0;
  for (const double x : r) sum += std::sqrt(1 + x * x / (scale * scale)) - 1;
  return 2 * sum / static_cast<double>(r.size());
}

class LogSearch {
 public:
  LogSearch(std::span<const Parameter> parameters, std::size_t rows, const Residuals& residuals,
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
    normal_ = SquareMatrix(n);
    gradient_.assign(n, 0.0);
    for (std::size_t i = 0; i < r_.size(); ++i) {
      const double w = 1 / std::sqrt(1 + r_[i] * r_[i] / (scale_ * scale_));
      for (std::size_t j = 0; j < n; ++j) {
        const double wj = w * jacobian_[j][i];
        gradient_[j] -= wj * r_[i];
        for (std::size_t k = 0; k <= j; ++k) normal_.at(j, k) += wj * jacobian_[k][i];
      }
    }
  }
  /// @return how much the loss fell; 0: it did not, and nothing changed.
  double try_step(double damping) {
    const std::size_t n = log_.size();
    SquareMatrix damped = normal_;
    for (std::size_t j = 0; j < n; ++j) {
      damped.at(j, j) += damping * (damped.at(j, j) + 1e-6 * static_cast<double>(r_.size()));
    }
    const std::optional<Cholesky> factor = Cholesky::of_definite(std::move(damped));
    if (!factor) return 0;
    std::vector<double> x = factor->solve(gradient_);
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
  std::vector<double> log_, r_, trial_r_, gradient_;
  SquareMatrix normal_{0};  // the lower half
  std::vector<std::vector<double>> jacobian_;
  double cost_ = 0;
};

}  // namespace

ParameterFit fit_parameters(std::span<const Parameter> parameters, std::size_t rows,
                            const Residuals& residuals, double scale) {
  return LogSearch(parameters, rows, residuals, scale).run();
}

}  // namespace flopcast
