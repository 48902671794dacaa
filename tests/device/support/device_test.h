#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/software_gpu/application.h"
#include "tests/software_gpu/software_gpu.h"

namespace cerar::test {

/// What the stand-in has counted so far.
SoftwareGpuCounters counted();

/// A test on eight software devices. Their contexts stay open until the test has looked at what is left in
/// them: a context takes everything with it when it goes.
class DeviceTest : public ::testing::Test {
 public:
  /// Expects that communicators, memory, streams, events and modules are all gone.
  static void expect_nothing_left();

 protected:
  void SetUp() override { start_anew(); }

  /// Expects that nothing is left, and that nothing was touched that should not be.
  void TearDown() override;

  /// Forgets devices, communicators, plans and counters, whatever state they are in.
  void start_anew();

 private:
  std::vector<runtime::CuContext> contexts_;
};

}  // namespace cerar::test
