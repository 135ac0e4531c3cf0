#include "base/numeric/divisors.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace flopcast {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % modulus);
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1;
  for (base %= modulus; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = product(result, base, modulus);
    base = product(base, base, modulus);
  }
  return result;
}

/// Miller and Rabin; these bases leave no doubt below 2^64. @param n odd, above 37
bool is_prime(std::uint64_t n) {
  std::uint64_t odd = n - 1;
  int twos = 0;
  for (; (odd & 1) == 0; odd >>= 1) ++twos;
  for (const std::uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    std::uint64_t x = power(base, odd, n);
    bool passes = x == 1 || x == n - 1;
    for (int i = 1; i < twos && !passes; ++i) passes = (x = product(x, x, n)) == n - 1;
    if (!passes) return false;
  }
  return true;
}

/// Pollard's rho: some factor of a composite number.
std::uint64_t factor_of(std::uint64_t n) {
  for (std::uint64_t c = 1;; ++c) {
    const auto next = [&](std::uint64_t x) {
      return static_cast<std::uint64_t>((static_cast<Wide>(x) * x + c) % n);
    };
    std::uint64_t slow = 2, fast = 2, common = 1;
    while (common == 1) {
      slow = next(slow);
      fast = next(next(fast));
      common = std::gcd(slow > fast ? slow - fast : fast - slow, n);
    }
    if (common != n) return common;
  }
}

void add_large_primes(std::uint64_t n, std::vector<std::uint64_t>& primes) {
  if (n == 1) return;
  if (is_prime(n)) return primes.push_back(n);
  const std::uint64_t factor = factor_of(n);
  add_large_primes(factor, primes);
  add_large_primes(n / factor, primes);
}

/// In ascending order, each as often as it divides.
std::vector<std::uint64_t> prime_factors(std::uint64_t n) {
  constexpr std::uint64_t kTried = 1000;
  std::vector<std::uint64_t> primes;
  for (std::uint64_t d = 2; d < kTried && d <= n / d; ++d) {
    for (; n % d == 0; n /= d) primes.push_back(d);
  }
  if (n > 1 && n < kTried * kTried) {
    primes.push_back(n);
  } else {
    add_large_primes(n, primes);
  }
  std::sort(primes.begin(), primes.end());
  return primes;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t n) {
  if (n < 1) return {};
  std::vector<std::int64_t> all = {1};
  std::size_t before = 0;  // how many there were without the last prime's last power
  std::uint64_t last = 0;
  for (const std::uint64_t prime : prime_factors(static_cast<std::uint64_t>(n))) {
    const std::size_t begin = prime == last ? before : 0, end = all.size();
    for (std::size_t i = begin; i < end; ++i)
      all.push_back(all[i] * static_cast<std::int64_t>(prime));
    before = end;
    last = prime;
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace flopcast
