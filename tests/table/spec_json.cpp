#include <prdist/table/spec_json.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../optim/every_optimizer.hpp"
#include "../support/random.hpp"
#include "../support/thrown.hpp"

using namespace prdist;
using test::holds;
using test::Random;

namespace {

SparseSpec sparse() {
  return {.name = "embedding", .dim = 8, .optimizer = Adam{}, .init = Initializer::uniform(-1, 1)};
}

/// With all that an optimizer can be given.
SparseSpec more() {
  return {.name = "more",
          .dim = 8,
          .optimizer = {Sgd{.rate = 0.5F}, Penalty{.l2 = 0.25F}, Bounds{-10, 10}, Schedule::cosine(1000)}};
}

DenseSpec dense() {
  return {.name = "tower", .parts = {{"w", 100, Initializer::normal(0, 1)}, {"b", 10, {}}}};
}

/// Any finite float at all.
float any_float(Random& random) {
  for (;;) {
    auto const value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    if (std::isfinite(value)) return value;
  }
}

Initializer any_initializer(Random& random) {
  return {static_cast<Initializer::Kind>(random.below(3)), any_float(random) / 2, any_float(random) / 2};
}

/// A number of any size and precision that the rule can work with.
float any_fraction(Random& random) {
  auto const size = std::abs(any_float(random));
  return size < 1 && size > 0 ? size : 0.5F;
}

template <class Part>
void fill_fields(Part& part, Random& random) {
  Part::fields(part, [&](char const*, auto& value, Limit) {
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      value = random.below(2) == 1;
    } else if constexpr (std::is_integral_v<Value>) {
      value = static_cast<Value>(1 + random.below(1000000));
    } else {
      value = any_fraction(random);
    }
  });
}

Schedule any_schedule(Random& random) {
  Schedule schedule{.kind = static_cast<Schedule::Kind>(random.below(7))};
  fill_fields(schedule, random);
  if (schedule.kind == Schedule::Kind::piecewise) {
    schedule.piece_count = static_cast<std::uint32_t>(random.below(Schedule::most_pieces + 1));
    for (std::uint32_t i = 0; i < schedule.piece_count; ++i) schedule.pieces[i] = {10 * i + 3, any_fraction(random)};
  }
  return schedule;
}

Optimizer any_optimizer(Random& random) {
  auto const all = test::every_optimizer();
  auto optimizer = all[random.below(all.size())];
  std::visit([&](auto& rule) { fill_fields(rule, random); }, optimizer.rule);
  if (random.below(2) == 0) fill_fields(optimizer.penalty, random);
  if (random.below(2) == 0) optimizer.bounds.low = -any_fraction(random);
  if (random.below(2) == 0) optimizer.bounds.high = any_fraction(random);
  if (random.below(2) == 0) optimizer.schedule = any_schedule(random);
  return optimizer;
}

std::string any_name(Random& random) {
  static constexpr std::string_view letters[]{"a",  "Z", "0", "/",        "_",           "\"",
                                              "\\", " ", "~", "\xc3\xa9", "\xe8\xa1\xa8"};
  std::string name = "t";
  for (auto left = random.below(40); left > 0; --left) name += letters[random.below(std::size(letters))];
  return name;
}

AnySpec any_spec(Random& random) {
  auto const apply = random.below(2) == 0 ? ApplyRule::immediate : ApplyRule::gather;
  if (random.below(2) == 0) {
    return SparseSpec{any_name(random), 1 + random.below(65536), any_optimizer(random), any_initializer(random), apply,
                      random.bits()};
  }
  DenseSpec spec{.name = any_name(random)};
  for (auto left = 1 + random.below(5); left > 0; --left) {
    auto const rows = 1 + random.below(1000), columns = 1 + random.below(1000);
    spec.parts.push_back({concat(left, any_name(random)), rows * columns, any_initializer(random)});
    if (random.below(2) == 0) spec.parts.back().shape = {rows, columns};
  }
  spec.optimizer = any_optimizer(random);
  spec.apply = apply;
  spec.seed = random.bits();
  return spec;
}

/// The text of a good declaration with one stretch of it replaced.
std::string edited(AnySpec const& spec, std::string const& from, std::string const& to) {
  auto text = to_json(spec);
  auto const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

Error error_of(std::string const& text) {
  auto const spec = spec_from_json(text);
  EXPECT_FALSE(spec) << text;
  return spec ? Error() : spec.error();
}

}  // namespace

TEST(SpecJson, EveryDeclarationReadsBackAsItself) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    auto const spec = any_spec(random);
    auto const text = to_json(spec);
    auto const back = spec_from_json(text);
    ASSERT_TRUE(back) << text << ": " << back.error().what();
    ASSERT_EQ(*back, spec) << text;
    ASSERT_EQ(difference(*back, spec), "");
    ASSERT_EQ(name_of(*back), name_of(spec));
  }
}

TEST(SpecJson, AWireNeighbourCanReadIt) {
  EXPECT_EQ(to_json(SparseSpec{.name = "e", .dim = 8, .optimizer = Sgd{.rate = 0.5F}, .seed = ~std::uint64_t{0}}),
            R"({"name":"e","kind":"sparse","dim":8,"optimizer":{"name":"sgd","rate":5E-1},)"
            R"("init":{"kind":"constant","first":0E0,"second":0E0},"apply":"immediate","seed":18446744073709551615,)"
            R"("precision":"fp32","admission":{"kind":"all","pushes":1,"probability":1E0,"capacity":1048576,)"
            R"("false_positives":1E-2},"statistics":{"kept":false,"nonclick_weight":1.0000000149011612E-1,)"
            R"("click_weight":1E0,"decay":1E0,"delete_below":0E0,"unseen_days":30},"eviction":"none"})");
}

TEST(SpecJson, PoliciesAreOptional) {
  auto text = to_json(sparse());
  auto const from = text.find(R"(,"precision")");
  text = text.substr(0, from) + "}";
  auto const read = spec_from_json(text);
  ASSERT_TRUE(read) << read.error().what();
  EXPECT_EQ(*read, AnySpec(sparse()));
}

TEST(SpecJson, PoliciesComeBackAndDiffer) {
  auto spec = sparse();
  spec.precision = Precision::bf16;
  spec.admission = {.kind = Admission::Kind::bloom,
                    .pushes = 3,
                    .probability = 0.3,
                    .capacity = std::uint64_t{1} << 33,
                    .false_positives = 0.001};
  spec.statistics = {
      .kept = true, .nonclick_weight = 0.3F, .click_weight = 4, .decay = 0.98F, .delete_below = 0.8F, .unseen_days = 7};
  spec.eviction = Eviction::score;
  auto const back = spec_from_json(to_json(spec));
  ASSERT_TRUE(back) << back.error().what();
  EXPECT_EQ(*back, AnySpec(spec));
  auto const with = [](auto const& change) {
    auto it = sparse();
    change(it);
    return difference(sparse(), it);
  };
  EXPECT_EQ(with([](auto& it) { it.precision = Precision::fp16; }),
            R"(precision is "fp32" here and "fp16" on the server)");
  EXPECT_EQ(with([](auto& it) { it.eviction = Eviction::lru; }), R"(eviction is "none" here and "lru" on the server)");
  EXPECT_TRUE(holds(with([](auto& it) { it.admission = Admission::after(4); }), R"(admission is {"kind":"all")"));
  EXPECT_TRUE(
      holds(with([](auto& it) { it.statistics.kept = true; }), "statistics.kept is false here and true on the server"));
}

TEST(SpecJson, APolicyThatIsWrongIsNamedWithItsTable) {
  struct Case {
    char const* from;
    char const* to;
    char const* text;
  };
  for (auto const& [from, to, text] : std::vector<Case>{
           {R"("precision":"fp32")", R"("precision":"fp8")", ".precision 'fp8' is none of fp32, bf16, fp16"},
           {R"("precision":"fp32")", R"("precision":16)", ".precision is not a text"},
           {R"("eviction":"none")", R"("eviction":"all")", ".eviction 'all' is none of none, lru, unseen, score"},
           {R"("kind":"all")", R"("kind":"some")", ".admission.kind 'some' is none of all, count, probability, bloom"},
           {R"("kind":"all",)", "", ".admission.kind is missing"},
           {R"("pushes":1)", R"("pushes":-1)", ".admission.pushes is not a number in range"},
           {R"("probability":1E0)", R"("probability":"p")", ".admission.probability is not a number in range"},
           {R"("capacity":1048576)", R"("capacity":1.5)", ".admission.capacity is not a number in range"},
           {R"("false_positives":1E-2)", R"("false_positives":[])", ".admission.false_positives is not a number"},
           {R"("kept":false)", R"("kept":0)", ".statistics.kept is not true or false"},
           {R"("decay":1E0)", R"("decay":"x")", ".statistics.decay is not a number in range"},
           {R"("unseen_days":30)", R"("unseen_days":-1)", ".statistics.unseen_days is not a number in range"}}) {
    auto json = to_json(sparse());
    auto const at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    json.replace(at, std::string_view(from).size(), to);
    auto const read = spec_from_json(json);
    ASSERT_FALSE(read) << json;
    EXPECT_TRUE(holds(read.error().what(), concat("table 'embedding'", text)));
  }
}

TEST(SpecJson, APolicyThatCannotWorkIsRefused) {
  using Kind = Admission::Kind;
  auto const says = [](auto const& change) {
    auto spec = sparse();
    change(spec);
    auto const checked = check(spec);
    return checked ? std::string() : std::string(checked.error().message());
  };
  EXPECT_EQ(says([](auto& it) { it.admission = Admission::after(0); }),
            "table 'embedding': admission.pushes is 0, between 1 and 4294967295 are allowed");
  EXPECT_EQ(says([](auto& it) { it.admission = {.kind = Kind::bloom, .pushes = 256}; }),
            "table 'embedding': admission.pushes is 256, between 1 and 255 are allowed");
  EXPECT_EQ(says([](auto& it) { it.admission = {.kind = Kind::count, .pushes = 2, .capacity = 0}; }),
            "table 'embedding': admission.capacity is 0, between 1 and 68719476736 keys are allowed");
  EXPECT_EQ(says([](auto& it) { it.admission = Admission::by_chance(0); }),
            "table 'embedding': admission.probability is 0, it must be above 0 and at most 1");
  EXPECT_EQ(says([](auto& it) { it.admission = {.kind = Kind::bloom, .pushes = 2, .false_positives = 0.9}; }),
            "table 'embedding': admission.false_positives is 0.9, between 1e-7 and 0.5 are allowed");
  EXPECT_EQ(says([](auto& it) { it.statistics.click_weight = std::numeric_limits<float>::infinity(); }),
            "table 'embedding': a number of its statistics is not finite");
  EXPECT_EQ(says([](auto& it) { it.statistics.decay = 1.5F; }),
            "table 'embedding': statistics.decay is 1.5, between 0 and 1 are allowed");
  EXPECT_EQ(says([](auto& it) { it.eviction = Eviction::score; }),
            "table 'embedding': eviction is score, which needs statistics.kept");
  EXPECT_EQ(says([](auto& it) { it.eviction = Eviction::lru; }), "");
}

TEST(SpecJson, WhatAnOptimizerIsGivenBesidesStandsInIt) {
  EXPECT_TRUE(holds(to_json(more()), R"("optimizer":{"name":"sgd","rate":5E-1,"penalty":{"l1":0E0,"l2":2.5E-1},)"
                                     R"("bounds":{"low":-1E1,"high":1E1},"schedule":{"kind":"cosine","steps":1000,)"
                                     R"("last":0E0,"warmup":0,"warmup_from":0E0}})"))
      << to_json(more());
  auto one_sided = more();
  one_sided.optimizer = {Sgd{}, Bounds{.low = 0}, Schedule::piecewise({{10, 0.5F}})};
  EXPECT_TRUE(holds(to_json(one_sided), R"("bounds":{"low":0E0},"schedule":{"kind":"piecewise",)"
                                        R"("pieces":[{"from":10,"factor":5E-1}],)"))
      << to_json(one_sided);
}

TEST(SpecJson, AFieldThatIsWrongIsNamedWithItsTable) {
  struct Case {
    AnySpec spec;
    char const* from;
    char const* to;
    char const* text;
  };
  for (auto const& [spec, from, to, text] : std::vector<Case>{
           {sparse(), R"("name":"embedding",)", "", "declaration.name is missing"},
           {sparse(), R"("name":"embedding")", R"("name":7)", "declaration.name is not a text"},
           {sparse(), R"("kind":"sparse",)", "", "table 'embedding'.kind is missing"},
           {sparse(), R"("kind":"sparse")", R"("kind":"fast")", "table 'embedding'.kind 'fast' is not sparse or dense"},
           {sparse(), R"("dim":8,)", "", "table 'embedding'.dim is missing"},
           {sparse(), R"("dim":8)", R"("dim":"8")", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("dim":8)", R"("dim":-8)", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("dim":8)", R"("dim":8.5)", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("dim":8)", R"("dim":1e300)", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("dim":8)", R"("dim":99999999999999999999)", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("dim":8)", R"("dim":null)", "table 'embedding'.dim is not a number in range"},
           {sparse(), R"("seed":0)", R"("seed":-1)", "table 'embedding'.seed is not a number in range"},
           {sparse(), R"("apply":"immediate")", R"("apply":"later")",
            "table 'embedding'.apply 'later' is not immediate, gather or add"},
           {sparse(), R"("name":"adam")", R"("name":"magic")",
            "table 'embedding'.optimizer.name 'magic' is no optimizer of this program, which was built without it"},
           {sparse(), R"("beta1":)", R"("beta":)", "table 'embedding'.optimizer.beta1 is missing"},
           {more(), R"("l1":0E0,)", "", "table 'more'.optimizer.penalty.l1 is missing"},
           {more(), R"("penalty":{)", R"("penalty":1,"x":{)", "table 'more'.optimizer.penalty is not an object"},
           {more(), R"("low":-1E1)", R"("low":"-10")", "table 'more'.optimizer.bounds.low is not a number in range"},
           {more(), R"("kind":"cosine")", R"("kind":"magic")",
            "table 'more'.optimizer.schedule.kind 'magic' is no schedule of this server"},
           {more(), R"("steps":1000)", R"("steps":-1)",
            "table 'more'.optimizer.schedule.steps is not a number in range"},
           {more(), R"("kind":"cosine")", R"("kind":"piecewise")", "table 'more'.optimizer.schedule.pieces is missing"},
           {more(), R"("kind":"cosine")", R"("kind":"piecewise","pieces":7)",
            "table 'more'.optimizer.schedule.pieces is not a list"},
           {more(), R"("kind":"cosine")", R"("kind":"piecewise","pieces":[0,0,0,0,0,0,0,0,0])",
            "table 'more'.optimizer.schedule.pieces has 9, at most 8 are possible"},
           {more(), R"("kind":"cosine")", R"("kind":"piecewise","pieces":[{"from":1}])",
            "table 'more'.optimizer.schedule.pieces.factor is missing"},
           {sparse(), R"("kind":"uniform")", R"("kind":"magic")",
            "table 'embedding'.init.kind 'magic' is not constant, uniform or normal"},
           {sparse(), R"("first":-1E0)", R"("first":true)", "table 'embedding'.init.first is not a number in range"},
           {sparse(), R"("optimizer":{)", R"("optimizer":[],"x":{)", "table 'embedding'.optimizer is not an object"},
           {sparse(), R"("init":{)", R"("init":3,"x":{)", "table 'embedding'.init is not an object"},
           {dense(), R"("parts":[)", R"("parts":1,"x":[)", "table 'tower'.parts is not a list"},
           {dense(), R"("parts":[)", R"("x":[)", "table 'tower'.parts is missing"},
           {dense(), R"([{"name":"w")", R"([7,{"name":"w")", "table 'tower'.parts is not an object"},
           {dense(), R"("size":100)", R"("size":-1)", "table 'tower'.parts.size is not a number in range"},
           {dense(), R"("kind":"normal")", R"("kind":"odd")",
            "table 'tower'.parts.init.kind 'odd' is not constant, uniform or normal"},
           {dense(), R"("size":100)", R"("size":100,"shape":"10x10")", "table 'tower'.parts.shape is not a list"},
           {dense(), R"("size":100)", R"("size":100,"shape":[10,-10])",
            "table 'tower'.parts.shape has something that is not a number in range"},
       }) {
    auto const error = error_of(edited(spec, from, to));
    EXPECT_EQ(error.code(), Errc::wire_message) << to;
    EXPECT_EQ(error.what(), concat("prdist[wire.message] ", text));
  }
  auto const nesterov = error_of(edited(SparseSpec{.name = "e", .dim = 1, .optimizer = Momentum{}}, "false", "0"));
  EXPECT_STREQ(nesterov.what(), "prdist[wire.message] table 'e'.optimizer.nesterov is not true or false");
}

TEST(SpecJson, WhatIsNotJsonOrNotAnObjectIsSaidToBe) {
  for (auto const* text : {"", "{", "nonsense", R"({"name":"e"} trailing)", "{\"name\":\"\xff\"}"}) {
    auto const error = error_of(text);
    EXPECT_EQ(error.code(), Errc::wire_message);
    EXPECT_TRUE(holds(error.what(), "a table declaration is not JSON: ")) << text;
  }
  for (auto const* text : {"[]", "7", "null", "\"sparse\""}) {
    EXPECT_STREQ(error_of(text).what(), "prdist[wire.message] declaration is not an object");
  }
}

TEST(SpecJson, DeepAndHugeTextsAreRefusedOrReadButNeverCrash) {
  std::string const deep(1000000, '[');
  EXPECT_TRUE(holds(error_of(deep).what(), "is not JSON"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(holds(error_of(objects).what(), "is not JSON"));
  auto const long_name = error_of(edited(sparse(), "embedding", std::string(5000000, 'x')));
  EXPECT_EQ(long_name.code(), Errc::table_shape);
  EXPECT_LT(std::string_view(long_name.what()).size(), 1000U) << "the message must not carry the whole name";
  auto const digits = error_of(edited(sparse(), R"("dim":8)", "\"dim\":" + std::string(1000000, '9')));
  EXPECT_EQ(digits.code(), Errc::wire_message);
}

TEST(SpecJson, EveryTruncationIsRefused) {
  for (auto const& text : {to_json(sparse()), to_json(dense())}) {
    for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(spec_from_json(text.substr(0, size)));
  }
}

TEST(SpecJson, RandomDamageIsReadOrRefusedButNeverCrashes) {
  Random random(2);
  std::size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto text = to_json(any_spec(random));
    for (auto left = 1 + random.below(4); left > 0; --left) {
      text[random.below(text.size())] = static_cast<char>(random.bits());
    }
    refused += spec_from_json(text) ? 0 : 1;
  }
  EXPECT_GT(refused, 1000U);
}

TEST(SpecJson, CheckNamesTheTableAndWhatIsWrong) {
  auto const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto const wrong = [](AnySpec const& spec) {
    auto const result = check(spec);
    EXPECT_FALSE(result);
    EXPECT_TRUE(result || result.error().code() == Errc::table_shape);
    return result ? std::string() : std::string(result.error().message());
  };
  auto const sparse_with = [&](auto const& change) {
    auto spec = sparse();
    change(spec);
    return wrong(spec);
  };
  auto const dense_with = [&](auto const& change) {
    auto spec = dense();
    change(spec);
    return wrong(spec);
  };
  EXPECT_EQ(sparse_with([](auto& it) { it.name = ""; }),
            "table '': its name has 0 characters, between 1 and 256 are allowed");
  EXPECT_TRUE(holds(sparse_with([](auto& it) { it.name = std::string(257, 'x'); }),
                    "its name has 257 characters, between 1 and 256 are allowed"));
  EXPECT_EQ(sparse_with([](auto& it) { it.dim = 0; }), "table 'embedding': dim is 0, between 1 and 65536 are allowed");
  EXPECT_EQ(sparse_with([](auto& it) { it.dim = 65537; }),
            "table 'embedding': dim is 65537, between 1 and 65536 are allowed");
  for (auto const bad : {nan, inf, -inf}) {
    EXPECT_EQ(sparse_with([&](auto& it) { it.optimizer = Sgd{.rate = bad}; }),
              concat("table 'embedding': of its optimizer, rate is ", bad, ": it must be a finite number"));
    EXPECT_EQ(sparse_with([&](auto& it) { it.optimizer = Adam{.epsilon = bad}; }),
              concat("table 'embedding': of its optimizer, epsilon is ", bad, ": it must be above 0"));
    EXPECT_EQ(sparse_with([&](auto& it) { it.init.first = bad; }),
              "table 'embedding': a number of its initializer is not finite");
    EXPECT_EQ(dense_with([&](auto& it) { it.parts[1].init.second = bad; }),
              "table 'tower': a number of the initializer of part 'b' is not finite");
  }
  EXPECT_TRUE(holds(sparse_with([](auto& it) { it.init = Initializer::uniform(-3e38F, 3e38F); }),
                    "a number of its initializer is not finite"));
  EXPECT_EQ(sparse_with([](auto& it) { it.name = "a\nb\xff"; }),
            R"(table 'a\nb\xff': its name has control characters or is not UTF-8: rename it)");
  EXPECT_EQ(dense_with([](auto& it) { it.parts[0].name = ""; }),
            "table 'tower': part '': its name has 0 characters, between 1 and 256 are allowed");
  EXPECT_EQ(dense_with([](auto& it) { it.parts[1].name = "w"; }), "table 'tower': two parts have the name 'w'");
  EXPECT_EQ(dense_with([](auto& it) { it.parts.clear(); }), "table 'tower': it has no elements");
  EXPECT_EQ(dense_with([](auto& it) { it.parts = {{"w", 0, {}}}; }), "table 'tower': it has no elements");
  EXPECT_EQ(dense_with([](auto& it) { it.parts.resize(65537); }),
            "table 'tower': 65537 parts, at most 65536 are allowed");
  auto const too_large = "table 'tower': part 'b' makes it larger than 68719476736 floats";
  EXPECT_EQ(dense_with([](auto& it) { it.parts[1].size = std::size_t{1} << 36; }), too_large);
  EXPECT_EQ(dense_with([](auto& it) {
              it.parts[0].shape = {10, 11};
            }),
            "table 'tower': part 'w': shape 10x11 has 110 elements and the part 100");
  EXPECT_EQ(dense_with([](auto& it) {
              it.parts[0].shape = {1UL << 40, 1UL << 40};
            }),
            "table 'tower': part 'w': shape 1099511627776x1099511627776 is larger than 68719476736 floats");
  EXPECT_EQ(dense_with([](auto& it) { it.parts[0].shape.assign(33, 1); }),
            "table 'tower': part 'w': its shape has 33 extents, at most 32 are allowed");
  // A size that makes the sum wrap around.
  EXPECT_EQ(dense_with([](auto& it) { it.parts[1].size = std::numeric_limits<std::size_t>::max() - 99; }), too_large);
}

TEST(SpecJson, CheckTakesTheLimitsThemselves) {
  auto spec = sparse();
  spec.name = std::string(256, 'x');
  spec.dim = 65536;
  EXPECT_TRUE(check(spec));
  spec.dim = 1;
  EXPECT_TRUE(check(spec));
  EXPECT_TRUE(check(DenseSpec{.name = "d", .parts = {{"w", std::size_t{1} << 36, {}}}}));
}

TEST(SpecJson, NumbersThatAreNotFiniteDoNotComeThroughTheWire) {
  for (auto const* number : {"1e39", "-1e39", "1e308", "1e400"}) {
    auto const error = error_of(edited(sparse(), R"("first":-1E0)", concat("\"first\":", number)));
    EXPECT_TRUE(error.code() == Errc::table_shape || error.code() == Errc::wire_message) << number;
    EXPECT_TRUE(holds(error.what(), "embedding"));
  }
  EXPECT_EQ(error_of(edited(sparse(), R"("first":-1E0)", R"("first":NaN)")).code(), Errc::wire_message);
}

TEST(SpecJson, DifferenceSaysWhatIsDifferentOnBothSides) {
  auto const with = [](auto spec, auto const& change) {
    change(spec);
    return AnySpec(spec);
  };
  EXPECT_EQ(difference(sparse(), sparse()), "");
  EXPECT_EQ(difference(sparse(), with(sparse(), [](auto& it) { it.dim = 16; })), "dim is 8 here and 16 on the server");
  EXPECT_EQ(difference(sparse(), with(sparse(), [](auto& it) { it.seed = 5; })), "seed is 0 here and 5 on the server");
  EXPECT_EQ(difference(sparse(), with(sparse(), [](auto& it) { it.apply = ApplyRule::gather; })),
            R"(apply is "immediate" here and "gather" on the server)");
  EXPECT_TRUE(holds(difference(sparse(), with(sparse(), [](auto& it) { it.optimizer = Sgd{}; })),
                    R"(optimizer is {"name":"adam",)"));
  EXPECT_TRUE(holds(difference(sparse(), with(sparse(), [](auto& it) { it.optimizer = Sgd{}; })),
                    R"( here and {"name":"sgd",)"));
  EXPECT_TRUE(
      holds(difference(sparse(), with(sparse(), [](auto& it) { it.init = {}; })), R"(init is {"kind":"uniform")"));
  // Of one rule, the number that differs; and what only one of the two has.
  auto const with_optimizer = [&](Optimizer const& optimizer) {
    return with(sparse(), [&](auto& it) { it.optimizer = optimizer; });
  };
  EXPECT_EQ(difference(sparse(), with_optimizer(Adam{.rate = 0.5F})),
            "optimizer.rate is 1.0000000474974513E-3 here and 5E-1 on the server");
  EXPECT_EQ(difference(sparse(), with_optimizer({Adam{}, Bounds{-1, 1}})),
            R"(optimizer.bounds is absent here and {"low":-1E0,"high":1E0} on the server)");
  EXPECT_EQ(difference(with_optimizer({Adam{}, Penalty{.l1 = 1}}), sparse()),
            R"(optimizer.penalty is {"l1":1E0,"l2":0E0} here and absent on the server)");
  EXPECT_EQ(difference(with_optimizer({Adam{}, Schedule::cosine(5)}), with_optimizer({Adam{}, Schedule::cosine(6)})),
            "optimizer.schedule.steps is 5 here and 6 on the server");
  EXPECT_TRUE(holds(
      difference(with_optimizer({Adam{}, Schedule::cosine(5)}), with_optimizer({Adam{}, Schedule::polynomial(5)})),
      R"(optimizer.schedule is {"kind":"cosine",)"));
  auto other = dense();
  other.name = "embedding";
  EXPECT_EQ(difference(sparse(), other), R"(kind is "sparse" here and "dense" on the server)");
  EXPECT_TRUE(holds(difference(dense(), with(dense(), [](auto& it) { it.parts[1].size = 11; })), "parts is ["));
}

TEST(SpecJson, AShapeTravelsAndADeclarationWithoutOneIsWhatItWas) {
  EXPECT_FALSE(holds(to_json(dense()), "shape"));
  auto shaped = dense();
  shaped.parts[0].shape = {20, 5};
  EXPECT_TRUE(holds(to_json(shaped), R"("shape":[20,5])"));
  EXPECT_EQ(spec_from_json(to_json(shaped)).value(), AnySpec(shaped));
  EXPECT_EQ(shaped.parts[0].extents(), (std::vector<std::size_t>{20, 5}));
  EXPECT_EQ(shaped.parts[1].extents(), std::vector<std::size_t>{10});
  EXPECT_TRUE(holds(difference(shaped, dense()), R"("shape":[20,5])"));
}

TEST(SpecJson, ABoundOfStalenessTravelsAndNoBoundTakesNoRoom) {
  EXPECT_FALSE(holds(to_json(sparse()), "stale"));
  auto bounded = sparse();
  bounded.staleness = {7, Stale::refuse};
  EXPECT_EQ(spec_from_json(to_json(bounded)).value(), AnySpec(bounded));
  auto other = dense();
  other.staleness = {0, Stale::drop};
  EXPECT_EQ(spec_from_json(to_json(other)).value(), AnySpec(other));
  EXPECT_EQ(difference(sparse(), bounded), "max_staleness is absent here and 7 on the server");
  EXPECT_EQ(difference(bounded, sparse()), "max_staleness is 7 here and absent on the server");
  EXPECT_TRUE(holds(error_of(edited(bounded, R"("stale":"refuse")", R"("stale":"perhaps")")).what(),
                    "stale 'perhaps' is not drop or refuse"));
}

TEST(SpecJson, ATableThatAddsHasNoOtherRule) {
  auto adds = sparse();
  adds.apply = ApplyRule::add;
  EXPECT_STREQ(check(adds).error().what(),
               "prdist[table.shape] table 'embedding': it adds differences, so its optimizer is sgd with rate -1 and "
               "nothing else");
  adds.optimizer = adding;
  EXPECT_TRUE(check(adds));
  EXPECT_EQ(spec_from_json(to_json(adds)).value(), AnySpec(adds));
}

TEST(SpecJson, ATableThatAddsSaysByWhichRuleItsTrainersLearn) {
  auto adds = sparse();
  adds.apply = ApplyRule::add;
  adds.optimizer = adding;
  auto silent = adds;
  adds.learned_by = Optimizer{Adam{.rate = 0.5F}, Bounds{-1, 1}, Schedule::cosine(10)};
  EXPECT_EQ(spec_from_json(to_json(adds)).value(), AnySpec(adds));
  auto whole = dense();
  whole.apply = ApplyRule::add;
  whole.optimizer = adding;
  whole.learned_by = Optimizer{Adagrad{.rate = 0.5F}};
  EXPECT_EQ(spec_from_json(to_json(whole)).value(), AnySpec(whole));
  auto other = adds;
  other.learned_by->bounds.high = 2;
  EXPECT_EQ(difference(adds, other), "learned_by.bounds.high is 1E0 here and 2E0 on the server");
  EXPECT_TRUE(holds(difference(silent, adds), "learned_by is absent here and {\"name\":\"adam\""));

  adds.learned_by = Adam{.beta1 = 2};
  EXPECT_STREQ(check(adds).error().what(),
               "prdist[table.shape] table 'embedding': of its optimizer, beta1 is 2: it must be from 0 to below 1");
  adds.learned_by = Adam{};
  adds.admission = Admission::after(3);
  EXPECT_STREQ(check(adds).error().what(),
               "prdist[table.shape] table 'embedding': trainers learn on copies of its rows (geo), and what a server "
               "does not admit or lets go would be lost: take another strategy, or neither admission nor eviction");
  adds.admission = {};
  adds.eviction = Eviction::lru;
  EXPECT_FALSE(check(adds));
  adds.eviction = Eviction::none;
  adds.staleness.most = 3;
  EXPECT_STREQ(check(adds).error().what(),
               "prdist[table.shape] table 'embedding': trainers learn on copies of its rows (geo), whose differences "
               "no one overtakes: take another strategy, or no bound of staleness");
  whole.learned_by = Ftrl{};
  EXPECT_STREQ(check(whole).error().what(),
               "prdist[table.shape] table 'tower': ftrl computes weights from its own state, so a trainer would undo "
               "what others add (geo): take another optimizer, such as adagrad, or another strategy");
  whole.apply = ApplyRule::immediate;
  EXPECT_STREQ(check(whole).error().what(),
               "prdist[table.shape] table 'tower': it is applied by servers (immediate) and has learned_by, too");
}
