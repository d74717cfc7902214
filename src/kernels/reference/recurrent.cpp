#include <algorithm>
#include <vector>

#include "kernels/reference/recurrent_cell.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace {

/// One sample, step and unit at a time. A step is named by its row n * t + position in x and y. `j`
/// counts the units of the tile. The hidden state is held whole, with those units from first_ on;
/// a tile that has not all of them has one step.
template <class T>
class RecurrentRun {
 public:
  RecurrentRun(const Recurrent& op, const Arguments& a)
      : op_(op),
        a_(a),
        at_(op),
        begin_(a.position[0]),
        first_(a.position[1]),
        steps_(a.shape(at_.x)[1]),
        inputs_(op.projected ? 0 : a.shape(at_.x)[2]),
        hidden_(op.hidden),
        units_(units_of(op)),
        gates_(gates_of(op.kind)),
        w_hh_(a.value<const T>(at_.w_hh)) {
    if (!op.projected) w_ih_ = a.value<const T>(at_.w_ih);
  }

  void forward() const {
    // Steps beyond the length of a sample are not visited and must read as zero.
    for (int slot : a_.signature().slots_of(Role::output))
      std::ranges::fill(a_.value<T>(slot), T{0});
    for (int slot : a_.signature().slots_of(Role::saved))
      std::ranges::fill(a_.value<T>(slot), T{0});
    for (std::int64_t n = 0; n < a_.shape(at_.x)[0]; ++n) forward_sample(n);
  }

  void backward() const {
    for (int slot = 0; slot < at_.y; ++slot) {
      if (slot != at_.lengths) std::ranges::fill(a_.gradient<T>(slot), T{0});
    }
    for (std::int64_t n = 0; n < a_.shape(at_.x)[0]; ++n) backward_sample(n);
  }

 private:
  using Row = std::vector<T>;
  static std::vector<T> copy(std::span<const T> row) { return {row.begin(), row.end()}; }

  std::int64_t length(std::int64_t n) const {
    if (at_.lengths < 0) return steps_;
    std::int64_t length = a_.value<const std::int32_t>(at_.lengths)[n];
    return std::clamp<std::int64_t>(length - begin_, 0, steps_);
  }
  /// The row of x and y that the k-th step of sample n has.
  std::int64_t row_of_step(std::int64_t n, std::int64_t k) const {
    return n * steps_ + (op_.reverse ? length(n) - 1 - k : k);
  }

  std::span<const T> x_row(std::int64_t at) const {
    return a_.value<const T>(at_.x).subspan(at * inputs_, inputs_);
  }
  auto state_row(auto all, std::int64_t row) const { return all.subspan(row * hidden_, hidden_); }
  auto unit_row(auto all, std::int64_t row) const { return all.subspan(row * units_, units_); }
  /// The tile's own units of the whole hidden state.
  auto own(auto& state) const { return std::span(state).subspan(first_, units_); }
  Row start_h(std::int64_t n) const {
    return at_.h0 < 0 ? Row(hidden_) : copy(state_row(a_.value<const T>(at_.h0), n));
  }
  Row start_c(std::int64_t n) const {
    return at_.c0 < 0 ? Row(units_) : copy(unit_row(a_.value<const T>(at_.c0), n));
  }
  /// The state before step k: a row that forward saved, or the start.
  Row h_before(std::int64_t n, std::int64_t k) const {
    return k == 0 ? start_h(n) : copy(state_row(a_.value<const T>(at_.y), row_of_step(n, k - 1)));
  }
  Row c_before(std::int64_t n, std::int64_t k) const {
    if (at_.cells < 0) return Row(units_);
    return k == 0 ? start_c(n)
                  : copy(unit_row(a_.value<const T>(at_.cells), row_of_step(n, k - 1)));
  }

  void forward_sample(std::int64_t n) const {
    Row h = start_h(n), c = start_c(n);
    for (std::int64_t k = 0; k < length(n); ++k) forward_step(row_of_step(n, k), h, c);
    std::ranges::copy(own(h), unit_row(a_.value<T>(at_.h_last), n).begin());
    if (at_.c_last >= 0) std::ranges::copy(c, unit_row(a_.value<T>(at_.c_last), n).begin());
  }

  void forward_step(std::int64_t at, Row& h, Row& c) const {
    // A copy: h is overwritten unit by unit, and every unit needs all of the old state.
    Row h_before = h;
    for (std::int64_t j = 0; j < units_; ++j) {
      CellUnit<T> u{.h_before = h_before[first_ + j], .c_before = c[j]};
      for (std::int64_t gate = 0; gate < gates_; ++gate) {
        u.from_x[gate] = input_sum(at, gate, j);
        for (std::int64_t i = 0; i < hidden_; ++i)
          u.from_h[gate] += w_hh_[(gate * units_ + j) * hidden_ + i] * h_before[i];
      }
      auto bias = a_.value<const T>(at_.bias);
      for (std::int64_t block = 0; block < biases_of(op_.kind); ++block)
        u.bias[block] = bias[block * units_ + j];
      cell_forward(op_.kind, u);
      h[first_ + j] = u.h, c[j] = u.c;
      keep(at, j, u);
    }
  }

  /// The input projection of one gate of a unit.
  T input_sum(std::int64_t at, std::int64_t gate, std::int64_t j) const {
    if (op_.projected) return a_.value<const T>(at_.x)[(at * gates_ + gate) * units_ + j];
    T sum = 0;
    for (std::int64_t i = 0; i < inputs_; ++i)
      sum += w_ih_[(gate * units_ + j) * inputs_ + i] * x_row(at)[i];
    return sum;
  }

  void keep(std::int64_t at, std::int64_t j, const CellUnit<T>& u) const {
    a_.value<T>(at_.y)[at * units_ + j] = u.h;
    if (at_.cells >= 0) a_.value<T>(at_.cells)[at * units_ + j] = u.c;
    for (std::int64_t block = 0; block < saved_of(op_.kind); ++block)
      a_.value<T>(at_.gates)[(at * saved_of(op_.kind) + block) * units_ + j] = u.saved[block];
  }

  void backward_sample(std::int64_t n) const {
    // Starts with the gradient of the last state; each step adds that of its own row of y.
    Row dh(hidden_), dc(units_);
    std::ranges::copy(unit_row(a_.gradient<const T>(at_.h_last), n), own(dh).begin());
    if (at_.c_last >= 0) dc = copy(unit_row(a_.gradient<const T>(at_.c_last), n));
    for (std::int64_t k = length(n); k-- > 0;)
      backward_step(row_of_step(n, k), h_before(n, k), c_before(n, k), dh, dc);
    if (at_.h0 >= 0) std::ranges::copy(dh, state_row(a_.gradient<T>(at_.h0), n).begin());
    if (at_.c0 >= 0) std::ranges::copy(dc, unit_row(a_.gradient<T>(at_.c0), n).begin());
  }

  /// Takes dh and dc from after the step to before it.
  void backward_step(std::int64_t at, const Row& h_before, const Row& c_before, Row& dh,
                     Row& dc) const {
    // Separate from dh, because every unit adds to all elements of it through w_hh.
    Row dh_before(hidden_);
    for (std::int64_t j = 0; j < units_; ++j) {
      CellUnit<T> u{.h_before = h_before[first_ + j],
                    .c_before = c_before[j],
                    .h = a_.value<const T>(at_.y)[at * units_ + j]};
      if (at_.cells >= 0) u.c = a_.value<const T>(at_.cells)[at * units_ + j];
      for (std::int64_t block = 0; block < saved_of(op_.kind); ++block)
        u.saved[block] =
            a_.value<const T>(at_.gates)[(at * saved_of(op_.kind) + block) * units_ + j];
      u.dh = dh[first_ + j] + a_.gradient<const T>(at_.y)[at * units_ + j];
      u.dc = dc[j];
      cell_backward(op_.kind, u);
      dh_before[first_ + j] += u.dh_before;
      dc[j] = u.dc_before;
      spread(at, j, u, h_before, dh_before);
    }
    dh = dh_before;
  }

  /// Carries the gradients of one unit's gates to x, h, weights and bias.
  void spread(std::int64_t at, std::int64_t j, const CellUnit<T>& u, const Row& h_before,
              Row& dh_before) const {
    auto dw_hh = a_.gradient<T>(at_.w_hh), dbias = a_.gradient<T>(at_.bias);
    for (std::int64_t gate = 0; gate < gates_; ++gate) {
      std::int64_t row = gate * units_ + j;
      spread_to_input(at, gate, j, u.dfrom_x[gate]);
      for (std::int64_t i = 0; i < hidden_; ++i) {
        dh_before[i] += u.dfrom_h[gate] * w_hh_[row * hidden_ + i];
        dw_hh[row * hidden_ + i] += u.dfrom_h[gate] * h_before[i];
      }
    }
    for (std::int64_t block = 0; block < biases_of(op_.kind); ++block)
      dbias[block * units_ + j] += u.dbias[block];
  }

  void spread_to_input(std::int64_t at, std::int64_t gate, std::int64_t j, T gradient) const {
    auto all = a_.gradient<T>(at_.x);
    if (op_.projected) {
      all[(at * gates_ + gate) * units_ + j] = gradient;
      return;
    }
    auto dx = all.subspan(at * inputs_, inputs_), dw_ih = a_.gradient<T>(at_.w_ih);
    std::int64_t row = gate * units_ + j;
    for (std::int64_t i = 0; i < inputs_; ++i) {
      dx[i] += gradient * w_ih_[row * inputs_ + i];
      dw_ih[row * inputs_ + i] += gradient * x_row(at)[i];
    }
  }

  const Recurrent& op_;
  const Arguments& a_;
  RecurrentSlots at_;
  std::int64_t begin_, first_;  // of the tile: step and unit
  std::int64_t steps_, inputs_, hidden_, units_, gates_;
  std::span<const T> w_ih_, w_hh_;
};

}  // namespace

void run_reference(const Recurrent& op, const Arguments& a) {
  dispatch(a.spec(0).dtype, [&]<class T>() {
    RecurrentRun<T> run(op, a);
    if (a.phase() == Phase::forward)
      run.forward();
    else
      run.backward();
  });
}

}  // namespace troika
