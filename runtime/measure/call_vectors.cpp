#include "runtime/measure/call_vectors.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/measure/element_type.h"

namespace cerar::runtime {
namespace {

class HostVectors : public CallVectors {
 public:
  void load(const std::vector<float>& input, const MeasureOptions& options) override {
    type_ = options.type;
    count_ = input.size();
    in_place_ = options.in_place;
    input_ = in_place_ ? std::vector<std::byte>() : packed(type_, input);
    output_ = packed(type_, in_place_ ? input : poison(count_));
  }

  void all_reduce(cerarComm_t comm, cerarRedOp_t op) override {
    require_success(cerarAllReduce(in_place_ ? output_.data() : input_.data(), output_.data(), count_, type_,
                                   op, comm, nullptr));
  }

  void wait(cerarComm_t /*comm*/) override {}

  std::vector<float> result() const override { return unpacked(type_, output_); }

 private:
  std::vector<std::byte> input_, output_;
  std::size_t count_ = 0;
  cerarDataType_t type_ = cerarFloat32;
  bool in_place_ = false;
};

}  // namespace

std::unique_ptr<CallVectors> make_host_vectors() { return std::make_unique<HostVectors>(); }

std::vector<float> poison(std::size_t count) {
  return std::vector<float>(count, std::numeric_limits<float>::quiet_NaN());
}

double time_calls_us(CallVectors& vectors, cerarComm_t comm, const MeasureOptions& options, int warmups,
                     int iterations, const std::function<void()>& meet) {
  using Clock = std::chrono::steady_clock;
  // In place the numbers grow with each call; averages keep them where they are.
  const cerarRedOp_t op = options.in_place ? cerarAverage : options.op;
  meet();
  require_success(cerarCommPrepare(comm, options.count, options.type, op));
  meet();
  for (int i = 0; i < warmups; ++i) vectors.all_reduce(comm, op);
  vectors.wait(comm);
  meet();
  const auto begin = Clock::now();
  for (int i = 0; i < iterations; ++i) vectors.all_reduce(comm, op);
  vectors.wait(comm);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / std::max(iterations, 1);
}

void require_success(cerarResult_t result) {
  if (result != cerarSuccess) throw Error(ErrorCode::invalid_argument, cerarGetLastError());
}

}  // namespace cerar::runtime
