// Which address a rank offers to the others, on hosts of all kinds.
#include "runtime/gloo/interface.h"

#include <gmock/gmock.h>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

using testing::HasSubstr;

std::vector<Endpoint> endpoints(const std::vector<std::string>& addresses) {
  std::vector<Endpoint> result;
  for (const auto& address : addresses) result.push_back(*parse_address(address, 0));
  return result;
}

Host host(std::vector<Interface> interfaces, const std::vector<std::string>& name_leads_to,
          const std::string& route = "") {
  return {.name = "node7",
          .interfaces = std::move(interfaces),
          .addresses_of_name =
              [name_leads_to](std::string& reason) {
                reason = "Name or service not known";
                return endpoints(name_leads_to);
              },
          .default_route =
              [route](int family) {
                const auto address = parse_address(route, 0);
                return address && address->family() == family ? address : std::nullopt;
              }};
}

Interface loopback() { return {"lo", true, true, endpoints({"127.0.0.1", "::1"})}; }
Interface up(const std::string& name, const std::vector<std::string>& addresses) {
  return {name, true, false, endpoints(addresses)};
}

std::string reachable(const Host& host) {
  const Offer offer = reachable_offer(host);
  return offer.endpoint.address() + " " + offer.interface_name;
}

TEST(Interfaces, AHostWhoseNameLeadsToLoopbackOffersItsNetwork) {
  EXPECT_EQ(reachable(host({loopback(), up("eth0", {"10.0.0.7", "fe80::7"})}, {"127.0.1.1"})),
            "10.0.0.7 eth0");
}

TEST(Interfaces, TheNameDecidesBetweenSeveral) {
  EXPECT_EQ(
      reachable(host({loopback(), up("docker0", {"172.17.0.1"}), up("eth0", {"10.0.0.7"})}, {"10.0.0.7"})),
      "10.0.0.7 eth0");
}

TEST(Interfaces, TheDefaultRouteDecidesWhereTheNameLeadsToLoopback) {
  const std::vector<Interface> interfaces = {loopback(), up("docker0", {"172.17.0.1"}),
                                             up("eth0", {"10.0.0.7"})};
  EXPECT_EQ(reachable(host(interfaces, {"127.0.1.1"}, "10.0.0.7")), "10.0.0.7 eth0");
  EXPECT_EQ(reachable(host(interfaces, {"127.0.1.1"}, "127.0.0.1")), "172.17.0.1 docker0");
  EXPECT_EQ(reachable(host(interfaces, {"192.168.9.9"}, "10.0.0.7")), "10.0.0.7 eth0");  // of another host
}

TEST(Interfaces, IPv4BeforeIPv6AndNeverLinkLocal) {
  EXPECT_EQ(reachable(host({loopback(), up("eth1", {"2001:db8::7"}), up("eth0", {"10.0.0.7"})}, {})),
            "10.0.0.7 eth0");
  EXPECT_EQ(reachable(host({loopback(), up("eth0", {"169.254.3.3"}), up("eth1", {"2001:db8::7"})}, {})),
            "2001:db8::7 eth1");
}

TEST(Interfaces, NoneSaysWhereTheNameLeadsAndWhatThereIs) {
  try {
    reachable(host({loopback(), {"eth0", false, false, endpoints({"10.0.0.7"})}}, {"127.0.1.1"}));
    ADD_FAILURE() << "an address was offered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_THAT(error.what(), HasSubstr("its name 'node7' resolves to 127.0.1.1"));
    EXPECT_THAT(error.what(), HasSubstr("lo (127.0.0.1, ::1), eth0 (down)"));
  }
}

TEST(Interfaces, ANamedOneThatCannotBeUsedIsRefusedWithTheReason) {
  const Host here = host({loopback(), {"eth0", false, false, endpoints({"10.0.0.7"})}, up("eth1", {})}, {});
  const auto refusal = [&](const std::string& name) -> std::string {
    try {
      named_offer(here, name);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("eth0"), HasSubstr("the interface is 'eth0' but it is down"));
  EXPECT_THAT(refusal("eth1"), HasSubstr("it has no address"));
  EXPECT_THAT(refusal("pigeon7"),
              HasSubstr("no interface or address of that name; this host has lo (127.0.0.1"));
  EXPECT_THAT(refusal("192.0.2.7"), HasSubstr("this host has no such address"));
  EXPECT_EQ(named_offer(here, "lo").endpoint.address(), "127.0.0.1");
}

TEST(Interfaces, LoopbackThatIsDownIsSaid) {
  Interface down = loopback();
  down.up = false;
  EXPECT_THROW(loopback_offer(host({down}, {})), Error);
  EXPECT_EQ(loopback_offer(host({loopback()}, {})).endpoint.address(), "127.0.0.1");
}

TEST(Interfaces, ThisHostHasThem) {
  EXPECT_FALSE(this_host(Deadline(std::chrono::seconds(5))).interfaces.empty());
}

}  // namespace
}  // namespace cerar::runtime
