#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/host/local.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;

template <typename Body>
void on_all(std::vector<std::unique_ptr<Transport>>& transports, Body body) {
  std::vector<std::thread> threads;
  for (auto& transport : transports) threads.emplace_back([&] { body(*transport); });
  for (auto& thread : threads) thread.join();
}

TEST(LocalTransport, MessagesOfALaneArriveInOrderWhateverTheTiming) {
  auto transports = make_local_transports(3, 30s);
  on_all(transports, [](Transport& transport) {
    std::minstd_rand random(static_cast<unsigned>(transport.rank()) + 1);
    std::array<std::array<int, 2>, 4> in{}, out{};
    for (int i = 0; i < 500; ++i) {
      for (int lane = 0; lane < 4; ++lane) {
        auto& [first, second] = out[static_cast<std::size_t>(lane)];
        first = i;
        second = transport.rank() * 10 + lane;
        if (random() % 7 == 0) std::this_thread::sleep_for(20us);
        transport.post_receive(lane, std::as_writable_bytes(std::span(in[static_cast<std::size_t>(lane)])));
        transport.post_send(lane, std::as_bytes(std::span(out[static_cast<std::size_t>(lane)])));
      }
      for (int lane = 3; lane >= 0; --lane) {
        transport.wait_received(lane);
        transport.wait_sent(lane);
        EXPECT_EQ(in[static_cast<std::size_t>(lane)][0], i);
        EXPECT_EQ(in[static_cast<std::size_t>(lane)][1], (transport.rank() + 2) % 3 * 10 + lane);
      }
    }
  });
}

TEST(LocalTransport, DisagreementNamesBothValuesOnEveryRankAndGoesOn) {
  auto transports = make_local_transports(4, 30s);
  on_all(transports, [](Transport& transport) {
    for (std::uint64_t operation = 0; operation < 100; ++operation) {
      const std::uint64_t count = operation % 10 == 3 && transport.rank() == 2 ? 7 : 5;
      const auto calls = transport.exchange(describe_call(operation, count, "f32", "sum", "abc"));
      ASSERT_EQ(calls.size(), 4u);
      EXPECT_EQ(calls[2].count, operation % 10 == 3 ? 7u : 5u);
      if (operation % 10 != 3) {
        require_agreement(calls);
        continue;
      }
      try {
        require_agreement(calls);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::mismatch);
        EXPECT_NE(std::string(error.what()).find("counts 5 and 7"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("ranks 0 and 2"), std::string::npos) << error.what();
      }
    }
  });
}

TEST(LocalTransport, ASilentPeerIsNamedWithinTheTimeout) {
  auto transports = make_local_transports(3, 50ms);
  on_all(transports, [](Transport& transport) {
    if (transport.rank() == 1) return;
    try {
      transport.exchange(describe_call(4, 1, "f32", "sum", "abc"));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank(s) 1"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("number 4"), std::string::npos) << error.what();
    }
  });
}

TEST(LocalTransport, AnAbortReachesWaitingRanksWithItsReason) {
  auto transports = make_local_transports(3, 30s);
  on_all(transports, [](Transport& transport) {
    if (transport.rank() == 0) {
      std::this_thread::sleep_for(5ms);
      transport.abort("rank 0 has had enough.");
      return;
    }
    int in = 0;
    try {  // the reason may come before the call or during the wait
      transport.post_receive(0, std::as_writable_bytes(std::span(&in, 1)));
      transport.wait_received(0);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::peer_failed);
      EXPECT_STREQ(error.what(), "rank 0 has had enough.");
      transport.abort(error.what());  // gives the buffer back
    }
  });
}

TEST(LocalTransport, MessagesOfDifferentLengthAreAnError) {
  auto transports = make_local_transports(2, 1s);
  std::atomic<int> errors = 0;
  on_all(transports, [&](Transport& transport) {
    std::array<int, 4> in{}, out{};
    try {
      transport.post_receive(0, std::as_writable_bytes(std::span(in.data(), 2)));
      transport.post_send(0, std::as_bytes(std::span(out.data(), transport.rank() == 0 ? 2 : 3)));
      transport.wait_received(0);
      transport.wait_sent(0);
    } catch (const Error& error) {
      transport.abort(error.what());
      ++errors;
    }
  });
  EXPECT_GE(errors.load(), 1);
}

}  // namespace
}  // namespace cerar::runtime
