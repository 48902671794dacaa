// The server of a tcp store beside connections that follow no rule, byte by byte.
#include "runtime/gloo/meeting/meeting_server.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Kind = Message::Kind;

const Deadline kSoon(20s);

class Client {
 public:
  explicit Client(const Endpoint& server) : socket_(connect_to(server, Deadline(20s)).first) {}

  void say(std::string_view bytes) const { ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void hello(int rank, int ranks) const {
    say(std::string(kGreeting) + encode(Kind::hello, {std::to_string(rank), std::to_string(ranks), "here"}));
  }
  /// The next message; nothing once the server has ended the connection.
  std::optional<Message> hear() {
    for (;;) {
      Message message;
      if (reader_.next(message, 1 << 22) == MessageReader::State::complete) return message;
      char block[4096];
      if (!await_ready(socket_.get(), POLLIN, -1, Deadline(20s)))
        throw std::runtime_error("nothing was said");
      const ssize_t got = ::recv(socket_.get(), block, sizeof(block), 0);
      if (got <= 0) return std::nullopt;
      reader_.add({block, static_cast<std::size_t>(got)});
    }
  }
  /// The server knows it as a member: it answers members alone.
  std::string hear_missing() {
    say(encode(Kind::missing, {}));
    const auto answer = hear();
    return answer && answer->kind == Kind::missing ? answer->fields.at(0) : "dropped";
  }

 private:
  Descriptor socket_;
  MessageReader reader_;
};

class Serving : public testing::Test {
 protected:
  void serve(int ranks) {
    auto [listener, error] = listen_at(*parse_address("127.0.0.1", 0));
    place = local_endpoint(listener.get());
    std::vector<Descriptor> listeners;
    listeners.push_back(std::move(listener));
    server.emplace("tcp:here", std::move(listeners), ranks);
  }
  std::future<Meeting> meet(std::chrono::milliseconds limit = 20s) {
    return std::async(std::launch::async, [this, limit] { return server->meet(Deadline(limit)); });
  }

  Endpoint place;
  std::optional<MeetingServer> server;
};

TEST_F(Serving, ASecondProcessOfARankAndAnotherNumberOfRanksAreRefused) {
  serve(3);
  auto meeting = meet();
  Client one(place);
  one.hello(1, 3);
  EXPECT_EQ(one.hear_missing(), "2");
  Client again(place), other_job(place);
  again.hello(1, 3);
  other_job.hello(2, 4);
  const auto answer = again.hear(), other_answer = other_job.hear();
  ASSERT_TRUE(answer && other_answer);
  EXPECT_EQ(answer->kind, Kind::refused);
  EXPECT_THAT(answer->fields.at(0),
              HasSubstr("a rank 1 has come to the store tcp:here already, from 127.0.0.1:"));
  EXPECT_EQ(other_answer->kind, Kind::refused);
  EXPECT_THAT(other_answer->fields.at(0),
              HasSubstr("for 4 ranks, but its rank 0 began a meeting of 3 ranks"));
  EXPECT_FALSE(again.hear());
  Client two(place);
  two.hello(2, 3);
  EXPECT_EQ(meeting.get().id, one.hear()->fields.at(0));
  EXPECT_EQ(two.hear()->kind, Kind::go);
  // A rank of the next communicator comes again later.
  Client late(place);
  late.hello(2, 3);
  EXPECT_EQ(late.hear()->kind, Kind::later);
}

TEST_F(Serving, WhoSaysAnythingElseIsDropped) {
  serve(2);
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n"), std::string("CERARst2") + encode(Kind::bye, {}),
        std::string(kGreeting) + std::string(4, '\xff'),                      // longer than any message
        std::string(kGreeting) + encode(Kind::set, {"key", "before hello"}),  //
        std::string(kGreeting) + encode(Kind::hello, {"1", "2"}),             // a field is missing
        std::string(kGreeting) + encode(Kind::hello, {"one", "2", "here"}),
        std::string(kGreeting) + encode(Kind::hello, {"-1", "2", "here"}),
        std::string(kGreeting) + encode(Kind::hello, {"1", "2", std::string(5000, 'x')}),
        std::string(kGreeting) +
            std::string("\5\0\0\0h\xff\xff\xff\xff", 9),  // a field longer than the message
        std::string(kGreeting) + std::string("\0\0\0\0", 4)}) {
    Client client(place);
    client.say(words);
    while (const auto answer = client.hear()) EXPECT_EQ(answer->kind, Kind::refused) << words;
  }
}

TEST_F(Serving, StrangersAreBoundedAndDelayNobody) {
  serve(2);
  std::vector<Client> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.emplace_back(place);
    strangers.back().say(std::string_view("CERAR").substr(0, static_cast<std::size_t>(i % 5)));
  }
  auto meeting = meet();
  Client one(place);
  one.hello(1, 2);
  EXPECT_EQ(one.hear()->kind, Kind::go);
  meeting.get();
  EXPECT_FALSE(strangers.front().hear());  // made room
}

TEST_F(Serving, ValuesComeOnceTheyAreThere) {
  serve(3);
  auto meeting = meet();
  Client one(place), two(place);
  one.hello(1, 3);
  two.hello(2, 3);
  meeting.get();
  EXPECT_EQ(one.hear()->kind, Kind::go);
  one.say(encode(Kind::await, {"key"}));
  const std::string bytes(900000, 'v');
  two.say(encode(Kind::set, {"key", bytes}));
  EXPECT_EQ(one.hear()->fields.at(0), bytes);
  EXPECT_EQ(server->await("key", kSoon), bytes);
  one.say(encode(Kind::await, {"never"}));
  one.say(encode(Kind::cancel, {}));
  EXPECT_TRUE(one.hear()->fields.empty());
  EXPECT_EQ(server->await("never", Deadline(10ms)), std::nullopt);
  server->wake();
  EXPECT_EQ(server->await("", kSoon), std::nullopt);
}

TEST_F(Serving, AMemberThatEndsIsToldToAll) {
  serve(3);
  auto meeting = meet();
  Client one(place);
  one.hello(1, 3);
  {
    Client two(place);
    two.hello(2, 3);
    meeting.get();
  }
  EXPECT_EQ(one.hear()->kind, Kind::go);
  const auto failure = one.hear();
  ASSERT_EQ(failure->kind, Kind::failed);
  EXPECT_THAT(failure->fields.at(0), HasSubstr("rank 2 at 127.0.0.1:"));
  EXPECT_THROW(server->await("key", kSoon), Error);
}

TEST_F(Serving, WhoDoesNotComeIsNamedAndToldToThoseThatCame) {
  serve(4);
  Client one(place), gone(place);
  one.hello(1, 4);
  EXPECT_EQ(one.hear_missing(), "2, 3");
  {
    Client gone_again(place);
    gone_again.hello(2, 4);
    EXPECT_EQ(gone_again.hear_missing(), "3");
  }
  // Rank 2 has left again, but rank 3 never came.
  try {
    server->meet(Deadline(100ms));
    ADD_FAILURE() << "they met";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_THAT(error.what(), HasSubstr("rank(s) 3 did not come to the store tcp:here within 100 ms"));
  }
  server.reset();
  const auto failure = one.hear();
  ASSERT_EQ(failure->kind, Kind::failed);
  EXPECT_THAT(failure->fields.at(0), HasSubstr("rank(s) 3 did not come"));
}

// The server of a name with two addresses begins to listen after a rank was refused at the first one, and
// before it tries the second one. All ranks must come to the first.
TEST(ConnectToFirst, ARankThatWasRefusedTriesTheEarlierAddressesOnceMore) {
  const auto listen = [](const Endpoint& place) { return std::move(listen_at(place).first); };
  Endpoint first = local_endpoint(listen(*parse_address("127.0.0.1", 0)).get());
  Descriptor second_listener = listen(*parse_address("127.0.0.1", 0)), first_listener;
  const Endpoint second = local_endpoint(second_listener.get());
  std::vector<std::string> attempts;
  const Connect connect = [&](const Endpoint& to, const Deadline& deadline) {
    attempts.push_back(to.text());
    if (attempts.size() == 2) first_listener = listen(first);
    return connect_to(to, deadline);
  };
  const Reached reached = connect_to_first({first, second}, kSoon, connect);
  ASSERT_TRUE(first_listener) << "another process took the port";
  ASSERT_TRUE(reached.socket);
  EXPECT_THAT(attempts, testing::ElementsAre(first.text(), second.text(), first.text()));
  EXPECT_EQ(reached.server.text(), first.text());
  EXPECT_EQ(remote_endpoint(reached.socket.get())->text(), first.text());
  EXPECT_THAT(reached.errors, testing::ElementsAre(ECONNREFUSED));
}

// A refusal that lasts, as of an address of another family at which the server does not listen.
TEST(ConnectToFirst, TheSecondAddressServesWhereTheFirstKeepsRefusing) {
  const auto listen = [](const Endpoint& place) { return std::move(listen_at(place).first); };
  const Endpoint first = local_endpoint(listen(*parse_address("127.0.0.1", 0)).get());
  const Descriptor listener = listen(*parse_address("127.0.0.1", 0));
  const Endpoint second = local_endpoint(listener.get());
  const Reached reached = connect_to_first({first, second}, kSoon);
  ASSERT_TRUE(reached.socket);
  EXPECT_EQ(reached.server.text(), second.text());
  EXPECT_EQ(remote_endpoint(reached.socket.get())->text(), second.text());
  EXPECT_FALSE(connect_to_first({first}, kSoon).socket);
}

}  // namespace
}  // namespace cerar::runtime
