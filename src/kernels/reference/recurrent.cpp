#include <algorithm>
#include <vector>

#include "kernels/reference/recurrent_cell.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace {

/// One sample, step and unit at a time. Row g * hidden + j of the weights is gate g of unit j; the
/// saved gates are [n, t, block, hidden]. A step is named by its row n * t + position in x and y.
template <class T>
class RecurrentRun {
 public:
  RecurrentRun(const Recurrent& op, const Arguments& a)
      : op_(op),
        a_(a),
        at_(op),
        steps_(a.shape(at_.x)[1]),
        inputs_(a.shape(at_.x)[2]),
        hidden_(op.hidden),
        gates_(gates_of(op.kind)),
        w_ih_(a.value<const T>(at_.w_ih)),
        w_hh_(a.value<const T>(at_.w_hh)) {}

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
    return at_.lengths < 0
               ? steps_
               : std::min<std::int64_t>(a_.value<const std::int32_t>(at_.lengths)[n], steps_);
  }
  /// The row of x and y that the k-th step of sample n has.
  std::int64_t row_of_step(std::int64_t n, std::int64_t k) const {
    return n * steps_ + (op_.reverse ? length(n) - 1 - k : k);
  }

  std::span<const T> x_row(std::int64_t at) const {
    return a_.value<const T>(at_.x).subspan(at * inputs_, inputs_);
  }
  auto hidden_row(auto all, std::int64_t row) const { return all.subspan(row * hidden_, hidden_); }
  Row start(int slot, std::int64_t n) const {
    return slot < 0 ? Row(hidden_) : copy(hidden_row(a_.value<const T>(slot), n));
  }
  /// The state before step k: a row of `states` (y or cells) that forward saved, or the start.
  Row before(int states, int first, std::int64_t n, std::int64_t k) const {
    return k == 0 ? start(first, n)
                  : copy(hidden_row(a_.value<const T>(states), row_of_step(n, k - 1)));
  }

  void forward_sample(std::int64_t n) const {
    Row h = start(at_.h0, n), c = start(at_.c0, n);
    for (std::int64_t k = 0; k < length(n); ++k) forward_step(row_of_step(n, k), h, c);
    std::ranges::copy(h, hidden_row(a_.value<T>(at_.h_last), n).begin());
    if (at_.c_last >= 0) std::ranges::copy(c, hidden_row(a_.value<T>(at_.c_last), n).begin());
  }

  void forward_step(std::int64_t at, Row& h, Row& c) const {
    // A copy: h is overwritten unit by unit, and every unit needs all of the old state.
    Row h_before = h;
    for (std::int64_t j = 0; j < hidden_; ++j) {
      CellUnit<T> u{.h_before = h_before[j], .c_before = c[j]};
      for (std::int64_t gate = 0; gate < gates_; ++gate) {
        std::int64_t row = gate * hidden_ + j;
        for (std::int64_t i = 0; i < inputs_; ++i)
          u.from_x[gate] += w_ih_[row * inputs_ + i] * x_row(at)[i];
        for (std::int64_t i = 0; i < hidden_; ++i)
          u.from_h[gate] += w_hh_[row * hidden_ + i] * h_before[i];
      }
      auto bias = a_.value<const T>(at_.bias);
      for (std::int64_t block = 0; block < biases_of(op_.kind); ++block)
        u.bias[block] = bias[block * hidden_ + j];
      cell_forward(op_.kind, u);
      h[j] = u.h, c[j] = u.c;
      keep(at, j, u);
    }
  }

  void keep(std::int64_t at, std::int64_t j, const CellUnit<T>& u) const {
    a_.value<T>(at_.y)[at * hidden_ + j] = u.h;
    if (at_.cells >= 0) a_.value<T>(at_.cells)[at * hidden_ + j] = u.c;
    for (std::int64_t block = 0; block < saved_of(op_.kind); ++block)
      a_.value<T>(at_.gates)[(at * saved_of(op_.kind) + block) * hidden_ + j] = u.saved[block];
  }

  void backward_sample(std::int64_t n) const {
    // Starts with the gradient of the last state; each step adds that of its own row of y.
    Row dh = copy(hidden_row(a_.gradient<const T>(at_.h_last), n)), dc(hidden_);
    if (at_.c_last >= 0) dc = copy(hidden_row(a_.gradient<const T>(at_.c_last), n));
    for (std::int64_t k = length(n); k-- > 0;) {
      Row h_before = before(at_.y, at_.h0, n, k);
      Row c_before = at_.cells < 0 ? Row(hidden_) : before(at_.cells, at_.c0, n, k);
      backward_step(row_of_step(n, k), h_before, c_before, dh, dc);
    }
    if (at_.h0 >= 0) std::ranges::copy(dh, hidden_row(a_.gradient<T>(at_.h0), n).begin());
    if (at_.c0 >= 0) std::ranges::copy(dc, hidden_row(a_.gradient<T>(at_.c0), n).begin());
  }

  /// Takes dh and dc from after the step to before it.
  void backward_step(std::int64_t at, const Row& h_before, const Row& c_before, Row& dh,
                     Row& dc) const {
    // Separate from dh, because every unit adds to all elements of it through w_hh.
    Row dh_before(hidden_);
    for (std::int64_t j = 0; j < hidden_; ++j) {
      CellUnit<T> u{.h_before = h_before[j],
                    .c_before = c_before[j],
                    .h = a_.value<const T>(at_.y)[at * hidden_ + j]};
      if (at_.cells >= 0) u.c = a_.value<const T>(at_.cells)[at * hidden_ + j];
      for (std::int64_t block = 0; block < saved_of(op_.kind); ++block)
        u.saved[block] =
            a_.value<const T>(at_.gates)[(at * saved_of(op_.kind) + block) * hidden_ + j];
      u.dh = dh[j] + a_.gradient<const T>(at_.y)[at * hidden_ + j];
      u.dc = dc[j];
      cell_backward(op_.kind, u);
      dh_before[j] += u.dh_before;
      dc[j] = u.dc_before;
      spread(at, j, u, h_before, dh_before);
    }
    dh = dh_before;
  }

  /// Carries the gradients of one unit's gates to x, h, weights and bias.
  void spread(std::int64_t at, std::int64_t j, const CellUnit<T>& u, const Row& h_before,
              Row& dh_before) const {
    auto dx = a_.gradient<T>(at_.x).subspan(at * inputs_, inputs_);
    auto dw_ih = a_.gradient<T>(at_.w_ih), dw_hh = a_.gradient<T>(at_.w_hh),
         dbias = a_.gradient<T>(at_.bias);
    for (std::int64_t gate = 0; gate < gates_; ++gate) {
      std::int64_t row = gate * hidden_ + j;
      for (std::int64_t i = 0; i < inputs_; ++i) {
        dx[i] += u.dfrom_x[gate] * w_ih_[row * inputs_ + i];
        dw_ih[row * inputs_ + i] += u.dfrom_x[gate] * x_row(at)[i];
      }
      for (std::int64_t i = 0; i < hidden_; ++i) {
        dh_before[i] += u.dfrom_h[gate] * w_hh_[row * hidden_ + i];
        dw_hh[row * hidden_ + i] += u.dfrom_h[gate] * h_before[i];
      }
    }
    for (std::int64_t block = 0; block < biases_of(op_.kind); ++block)
      dbias[block * hidden_ + j] += u.dbias[block];
  }

  const Recurrent& op_;
  const Arguments& a_;
  RecurrentSlots at_;
  std::int64_t steps_, inputs_, hidden_, gates_;
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
