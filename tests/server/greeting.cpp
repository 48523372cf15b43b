#include <prdist/server/greeting.hpp>

#include <gtest/gtest.h>

using namespace prdist;

namespace {

Hello const hello{.trainer = 1, .trainers = 2, .server = 0, .servers = 3, .release = "r", .ports = {1, 1}, .link = 1};

}  // namespace

TEST(Greeting, ThePlaceMustFit) {
  EXPECT_TRUE(fits_place(hello, "p", 0, 3));
  EXPECT_EQ(fits_place(hello, "p", 1, 3).error().message(),
            "trainer 1 at p takes this for server 0 of 3, but it is 1 of 3: PADDLE_PSERVERS_IP_PORT_LIST must be the "
            "same everywhere, and PADDLE_INIT_PSERVERS too");
  EXPECT_FALSE(fits_place(hello, "p", 0, 2));
}

TEST(Greeting, TheNumberOfTrainersMustFit) {
  EXPECT_TRUE(fits_trainers(hello, "p", "server 0", 2));
  EXPECT_EQ(
      fits_trainers(hello, "p", "server 0", 3).error().message(),
      "trainer 1 at p knows of 2 trainers, server 0 of 3: PADDLE_TRAINERS_NUM must be the same everywhere, and so "
      "must --num_gradient_servers");
}

TEST(Greeting, ThePortMustBeTheOneThatIsMeant) {
  Port const dense(7164, 0, {1, 1}), sparse(7165, 1, {1, 1}), other(7165, 1, {2, 1});
  EXPECT_TRUE(fits_port(hello, "p", &sparse));
  EXPECT_FALSE(fits_port(hello, "p", &dense));
  EXPECT_FALSE(fits_port(hello, "p", nullptr)) << "a server with one port";
  EXPECT_EQ(fits_port(hello, "p", &other).error().message(),
            "trainer 1 at p takes this for port 1 of 1 dense and 1 sparse ports, but it is 1 of 2 dense and 1 sparse "
            "ports: PADDLE_INIT_PORT, PADDLE_INIT_PORTS_NUM and PADDLE_INIT_PORTS_NUM_FOR_SPARSE of trainers must be "
            "the server's --port, --ports_num and --ports_num_for_sparse");
}

TEST(Greeting, WhoKnowsOfOnePortMayUseAny) {
  Hello const plain{.trainer = 1, .trainers = 2, .server = 0, .servers = 3, .release = "r"};
  Port const sparse(7165, 1, {1, 1});
  EXPECT_TRUE(fits_port(plain, "p", &sparse));
  EXPECT_TRUE(fits_port(plain, "p", nullptr));
}
