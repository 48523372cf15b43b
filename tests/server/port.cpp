#include <prdist/server/port.hpp>

#include <gtest/gtest.h>

using namespace prdist;

TEST(Port, CountsEachKindOfTrafficApart) {
  Port port(7165, 1, {1, 1});
  EXPECT_TRUE(port.is_sparse());
  Header header;
  header.kind = Kind::hello;
  header.payload = 100;
  port.count_request(header);
  port.count_answer(Kind::hello, 0);
  header.kind = Kind::push_rows;
  header.payload = 12;
  port.count_request(header);
  port.count_request(header);
  port.count_answer(Kind::push_rows, 4);
  EXPECT_EQ(port.of(Traffic::control).requests, 1U);
  EXPECT_EQ(port.of(Traffic::control).received, 188U);
  EXPECT_EQ(port.of(Traffic::dense).requests, 0U);
  EXPECT_EQ(port.of(Traffic::sparse).requests, 2U);
  EXPECT_EQ(port.of(Traffic::sparse).sent, 92U);
  EXPECT_EQ(to_string(port),
            "port 7165 for sparse parameters: 1 control, 0 dense, 2 sparse requests, 388 bytes in, 180 out");
}

TEST(Port, RowsAndChangesAreSparse) {
  for (auto const kind : {Kind::pull_rows, Kind::push_rows, Kind::pull_changed}) {
    EXPECT_EQ(traffic_of(kind), Traffic::sparse);
  }
  for (auto const kind : {Kind::pull_dense, Kind::push_dense, Kind::assign_dense}) {
    EXPECT_EQ(traffic_of(kind), Traffic::dense);
  }
  for (auto const kind : {Kind::hello, Kind::ping, Kind::declare, Kind::meet, Kind::cut, Kind::shrink}) {
    EXPECT_EQ(traffic_of(kind), Traffic::control);
  }
}
