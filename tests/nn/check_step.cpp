#include <prdist/nn/check_step.hpp>

#include <gtest/gtest.h>

#include "../data/error_text.hpp"

using namespace prdist;

TEST(CheckStep, ABatchOfAnotherShapeIsNamed) {
  Batch batch;
  batch.slots = 3;
  batch.dense_dim = 13;
  EXPECT_EQ(error_of([&] { nn::check_batch("CtrDnn", 3, 13, batch); }), "no error");
  EXPECT_EQ(error_of([&] { nn::check_batch("CtrDnn", 26, 13, batch); }),
            "prdist[config.contradiction] CtrDnn of 26 slots and 13 dense features was given a batch of 3 slots and 13 "
            "features: make the reader's format and the model agree");
  EXPECT_NE(error_of([&] { nn::check_batch("CtrDnn", 3, 12, batch); }), "no error");
}

TEST(CheckStep, AWrongNumberOfValuesIsNamed) {
  EXPECT_EQ(error_of([] { nn::check_size("CtrDnn", "dense weights", 5, 5); }), "no error");
  EXPECT_EQ(error_of([] { nn::check_size("CtrDnn", "dense weights", 5, 4); }),
            "prdist[table.shape] CtrDnn needs 5 dense weights for this batch and was given 4: give what "
            "sparse_inputs(), dense_parts() and keys() ask for");
}
