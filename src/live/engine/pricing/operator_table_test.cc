// Operators of extensions by data: the built-in table, a user's own, and what is refused.
#include "live/engine/pricing/operator_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "live/engine/pricing/kernels.h"
#include "live/engine/pricing/told_work.h"

namespace flopcast::live {
namespace {

KernelPrices prices_with(OperatorTable table = OperatorTable::builtin()) {
  const Catalog& catalog = Catalog::builtin();
  const Chip chip = *catalog.chip("h100-sxm");
  return KernelPrices(std::move(*Machine::of(chip, catalog)), *Rates::make(chip, catalog), {},
                      std::move(table));
}

double amount(const std::string& expression, const std::string& call) {
  const auto parsed = Expression::parse(expression);
  EXPECT_TRUE(parsed) << expression;
  const auto read = parse_operator_call(call);
  EXPECT_TRUE(read) << call;
  const Evaluated value = parsed->evaluate({&*read});
  EXPECT_TRUE(value.amount) << expression << ": " << value.name;
  return value.amount && value.amount->numbers.size() == 1 ? value.amount->numbers[0] : -1;
}

TEST(LiveOperatorTable, ExpressionsSpeakOfArguments) {
  const std::string call =
      "my::op q=bf16:96x32x128,cu=i32:4@0+32^3;100,late=i32:2,causal=#1,x=bf16:8*3 =0,fp32:7 1000 "
      "k";
  EXPECT_EQ(amount("q[0] * q[-1] + 2 * (3 - 1)", call), 96 * 128 + 4);
  EXPECT_EQ(amount("q.bytes - q.elements", call), 96 * 32 * 128);
  EXPECT_EQ(amount("sum(steps(cu))", call), 100);
  EXPECT_EQ(amount("max(steps(cu), 1)", call), 36);
  EXPECT_EQ(amount("count(cu) - 1 + causal", call), 4);
  EXPECT_EQ(amount("x.bytes", call), 48);
  EXPECT_EQ(amount("result[0] + result.element_bytes", call), 11);
  EXPECT_EQ(amount("-7 % 4 + ceil(1.5) - floor(2.5e0)", call), -3);
}

TEST(LiveOperatorTable, WhatIsLackingIsNamed) {
  const auto call = parse_operator_call("my::op q=bf16:96,late=i32:2 - 1000 k");
  ASSERT_TRUE(call);
  const auto lack = [&call](const char* text) {
    return Expression::parse(text)->evaluate({&*call});
  };
  EXPECT_EQ(lack("k[0]").lack, Lack::kArgument);
  EXPECT_EQ(lack("q[1]").name, "q[1]");
  EXPECT_EQ(lack("sum(late)").lack, Lack::kValues);
  EXPECT_FALSE(lack("1 / (q[0] - 96)").amount);  // never priced at zero, nor for ever
}

std::string repeated(std::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(LiveOperatorTable, MistakesInExpressionsHaveTheirColumn) {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "column 1"},
           {"q[0", "column 4"},
           {"q.size", "bytes, elements"},
           {"sqrt(q)", "sum, max"},
           {"(1", "')'"},
           {"1 2", "an operator in column 3"},
           {"2 *", "a name"},
           {"1e999", "a number"},
           {std::string(100, '(') + "1", "fewer parentheses"},
           {repeated("1+", 300'000) + "1", "fewer signs"},
           {"max(" + repeated("1,", 300'000) + "1)", "fewer arguments"}}) {
    const auto parsed = Expression::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().what.find(said), std::string::npos) << parsed.error().what;
  }
}

TEST(LiveOperatorTable, MistakesInFilesHaveTheirPlace) {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"[[operater]]\nname = 'a'", "neither [[operator]] nor"},
           {"[[operator]]\ncounts = 'rows'", "has no name"},
           {"[[operator]]\nname = 'a b'", "is no name"},
           {"[[operator]]\nname = 'a{b'", "is no name"},
           {"[[operator]]\nname = '{a}}{'", "is no name"},
           {"operator = [1]", "is no table"},
           {"[[operator]]\nname = 'a'\nread = nan", "neither a number"},
           {"[[operator]]\nname = 'a'\nread = [[1]]", "neither a number"},
           {"[[operator]]\nname = 'a'\nreed = '1'", "'reed' is not known"},
           {"[[operator]]\nname = 'a'\ncounts = 'lines'", "is none of moves"},
           {"[[operator]]\nname = 'a'\nas = 'sofmax'", "no kind of kernel"},
           {"[[operator]]\nname = 'a'\nread = 'q['", "column 3"},
           {"[[operator]]\nname = 'a'\n[[operator.product]]\nm = 1", "m, n, k and type"},
           {"[[operator]]\nname = 'a'\n[operator.attention]\nkeys = 1", "queries, keys"},
           {"[[operator]]\nname = 'a'\ncounts = "
            "'rows'\n[[operator.product]]\nm=1\nn=1\nk=1\ntype='bf16'",
            "one of them"},
           {"[[kernel]]\nname = 7", "is no name"},
           {"[[kernel]]\nname = 'a'\narguments = { rows = 'f32 0' }", "rows is no argument"},
           {"[[kernel]]\nname = 'a'\narguments = { rows = 'i32' }", "rows is no argument"},
           {"[[kernel]]\nname = 'a'\narguments = { rows = 'i32 -1' }", "rows is no argument"},
           {"[[kernel]]\nname = 'a'\narguments = { rows = 'i32 0 99999' }", "rows is no argument"},
           {"[[kernel]]\nname = 'a'\narguments = { rows = 7 }", "rows is no argument"},
           {"[[kernel]]\nname = 'a;b'", "is no name"},
           {"[[kernel]]\nname = 'a'\narguments = { 'a=b' = 'i32 0' }", "a=b is no argument"}}) {
    const auto table = OperatorTable::parse(text, "my.toml");
    ASSERT_FALSE(table) << text;
    EXPECT_NE(table.error().what.find(said), std::string::npos) << table.error().what;
    EXPECT_EQ(table.error().where.rfind("my.toml:", 0), 0u) << table.error().where;
  }
}

TEST(LiveOperatorTable, PatternsFitWholeNames) {
  const auto table = *OperatorTable::parse(
      "[[kernel]]\nname = ['*gemm*ILj0ELj{n}ELj{k}E*', 'ends*d']\nread = 'n * k'", "my.toml");
  const auto found = table.of_kernel("_ZN4deep9gemm_implILj0ELj4096ELj7168ELj1EEEvv");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->numbers.at("n"), 4096);  // behind the first pair that fits to the end
  EXPECT_EQ(found->numbers.at("k"), 7168);
  EXPECT_TRUE(table.of_kernel("ends and"));
  EXPECT_FALSE(table.of_kernel("ends andy"));
  EXPECT_FALSE(table.of_kernel("gemm_implELj1x"));
}

TEST(LiveOperatorTable, KernelsTakeWhatTheirArgumentsSay) {
  const auto table = *OperatorTable::parse(
      "[[kernel]]\nname = 'plain'\n[[kernel]]\nname = '*norm*'\nread = '2 * rows * cols'\n"
      "arguments = { rows = 'i32 0 8', cols = 'i64 1', by = 'pointer 2' }",
      "my.toml");
  EXPECT_EQ(table.wanted_arguments(), "plain;*norm* by=pointer:2:0 cols=i64:1:0 rows=i32:0:8");
  KernelPrices prices = prices_with(table);
  const double seconds = prices.price("told my_norm rows=8192 cols=65536 by=0", 256).seconds();
  EXPECT_GT(seconds, 2.0 * 8192 * 65536 / 3.35e12);
  EXPECT_LT(seconds, 3.0 * 8192 * 65536 / 3.35e12);
  EXPECT_TRUE(prices.unknown().empty());
  prices.price("told my_norm rows=8192", 256);  // what was not told is lacking
  EXPECT_EQ(prices.unknown().size(), 1u);
}

/// What flash_ext does: vLLM's FlashAttention 3, 4 sequences of 8,192 tokens, 32 heads of 128.
std::string flash(const std::string& lengths, const std::string& outputs = "=0") {
  return "operator _vllm_fa3_C::fwd q=bf16:32768x32x128,k=bf16:32768x32x128,v=bf16:32768x32x128,"
         "cu_seqlens_q=i32:5" +
         lengths + ",cu_seqlens_k=i32:5" + lengths +
         ",max_seqlen_q=#8192,max_seqlen_k=#8192,softmax_scale=#0.088,is_causal=#1,"
         "window_size_left=#-1,window_size_right=#0 " +
         outputs + " 1000 _ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90E";
}

TEST(LiveOperatorTable, FlashAttention3OfPackedSequencesTakesWhatWasPublished) {
  KernelPrices prices = prices_with();
  const double flops = 4.0 * 4 * 8192 * 8192 / 2 * 32 * 128;
  const double seconds = prices.price(flash("@0+8192^5"), 1 << 20).seconds();
  EXPECT_NEAR(flops / seconds / 1e12, 600, 40);  // figure 5: 602 TFLOP/s at 8,192 tokens
  EXPECT_EQ(prices.by_basis().count("unknown"), 0u);
  EXPECT_EQ(prices.by_basis().count("assumed"), 0u);
  // Lengths that nobody knows are the longest, and that is told.
  const double assumed = prices.price(flash(""), 1 << 20).seconds();
  EXPECT_NEAR(assumed / seconds, 1, 0.01);
  EXPECT_EQ(prices.by_basis().at("assumed").kernels, 1u);
}

TEST(LiveOperatorTable, UnevenSequencesTakeTheSumOfTheirs) {
  KernelPrices prices = prices_with();
  const double even = prices.price(flash("@0+8192^5"), 1 << 20).seconds();
  // One of 28,672 tokens and three of 1,365: the pairs of tokens of 3.1 times as many.
  const double uneven = prices.price(flash("@0;28672;30037;31402;32768"), 1 << 20).seconds();
  const double pairs = (28672.0 * 28672 + 3 * 1365.0 * 1365) / (4 * 8192.0 * 8192);
  EXPECT_NEAR(uneven / even, pairs, 0.15 * pairs);
}

/// PyTorch's attention of 16,384 tokens in 16 heads, given to cuDNN.
std::string packed(const std::string& ends) {
  return "operator aten::_cudnn_attention_forward query=bf16:16384x16x128,key=bf16:16384x16x128,"
         "value=bf16:16384x16x128,cum_seq_q=i32:" +
         ends + ",cum_seq_k=i32:" + ends +
         ",max_q=#12288,max_k=#12288,is_causal=#1 bf16:16384x16x128 1000 cudnn attention forward";
}

TEST(LiveOperatorTable, PackedSequencesOfALibraryTakeTheSumOfTheirs) {
  KernelPrices prices = prices_with();
  const double longest =
      prices.price("attention bf16 1 12288 12288 16 16 128 1 0 cudnn attention forward", 1)
          .seconds();
  EXPECT_NEAR(prices.price(packed("3@0;12288;16384"), 1).seconds() / longest, 10.0 / 9, 0.05);
  EXPECT_EQ(prices.by_basis().count("assumed"), 0u);
  // Without an operator they are as long as the longest, which is said.
  const double unknown =
      prices.price("packed bf16 2 12288 12288 16 16 128 1 0 cudnn attention forward", 1).seconds();
  EXPECT_NEAR(unknown / longest, 2, 0.05);
  EXPECT_EQ(prices.by_basis().at("assumed").kernels, 1u);
}

TEST(LiveOperatorTable, AProductThatNoRuleTellsIsUnknown) {
  KernelPrices prices = prices_with();
  const std::string tensors = " bf16:8192x8192,bf16:8192x8192 bf16:8192x8192 1000 ";
  prices.price("operator aten::_of_tomorrow" + tensors + "cutlass::GemmUniversal", 1 << 20);
  ASSERT_EQ(prices.unknown().size(), 1u);
  EXPECT_EQ(prices.by_basis().at("unknown").kernels, 1u);
  prices.price("operator aten::_of_tomorrow" + tensors + "vectorized_elementwise_kernel", 1 << 20);
  EXPECT_EQ(prices.unknown().size(), 1u);
}

TEST(LiveOperatorTable, DecodingReadsTheKeysThatSequencesHave) {
  KernelPrices prices = prices_with();
  const Chip chip = *Catalog::builtin().chip("h100-sxm");
  const auto decode = [&prices](const std::string& lengths) {
    return prices
        .price(
            "operator _vllm_fa3_C::fwd q=bf16:64x32x128,k=bf16:100000x16x8x128,"
            "v=bf16:100000x16x8x128,out=bf16:64x32x128,cu_seqlens_q=i32:65@0+1^65,seqused_k=i32:"
            "64" +
                lengths +
                ",max_seqlen_q=#1,max_seqlen_k=#8192,page_table=i32:64x512,is_causal=#1,"
                "window_size_left=#-1 =3 1000 FlashAttnFwdSm90",
            1 << 15)
        .seconds();
  };
  const double bytes = 64 * 4096.0 * 8 * 128 * 2 * 2;
  const double known = decode("@4096+0^64");
  EXPECT_GE(known, bytes / chip.hbm_bandwidth.value);
  EXPECT_LE(known, 2 * bytes / chip.hbm_bandwidth.value + 20e-6);
  // Not of the whole cache, which is 6.5 GB.
  EXPECT_NEAR(decode("") / known, 2, 0.2);  // the longest: 8,192
}

TEST(LiveOperatorTable, NothingOfAnExtensionIsBelowTheChip) {
  KernelPrices prices = prices_with();
  const Chip chip = *Catalog::builtin().chip("h100-sxm");
  // In no table, and by rows, and by a product: 4.3 GB each.
  for (const char* const text :
       {"operator nobody::knows x=bf16:32768x32768,y!=#1 bf16:32768x32768 1000 k",
        "operator _C::rms_norm result=bf16:32768x32768,input=bf16:32768x32768 =0 1000 k",
        "operator _C::cutlass_scaled_mm out=bf16:32768x32768,a=fp8:32768x16,b=fp8:16x32768 =0 1000 "
        "k"})
    EXPECT_GE(prices.price(text, 1).seconds(), 2e9 / chip.hbm_bandwidth.value) << text;
  const double flops = 2.0 * 8192 * 8192 * 8192;
  EXPECT_GE(prices
                .price("operator _C::cutlass_scaled_mm out=bf16:8192x8192,a=fp8:8192x8192,"
                       "b=fp8:8192x8192 =0 1000 k",
                       1)
                .seconds(),
            flops / peak_rate(chip, DataType::kFp8).value);
}

TEST(LiveOperatorTable, AnExtensionThatNobodyKnowsIsToldWithItsTensors) {
  KernelPrices prices = prices_with();
  prices.price("operator nobody::knows x=bf16:1048576,out=bf16:1048576 =1 500 k", 1);
  prices.price("operator nobody::knows x=bf16:1048576,out=bf16:1048576 =1 500 other", 1);
  const Unknown& one = prices.unknown().at("nobody::knows");
  EXPECT_EQ(one.priced.kernels, 2u);
  EXPECT_EQ(one.bytes, 4u << 20);
  EXPECT_GE(one.floor, one.priced.time);
  EXPECT_EQ(prices.by_basis().at("unknown").kernels, 2u);
  // One whose rule asks for what is not there, too, and says why.
  prices.price("operator _C::marlin_gemm a=bf16:16x16,size_m=#16,size_n=#16 bf16:16x16 1000 k", 1);
  EXPECT_EQ(prices.unknown().count("_C::marlin_gemm (k: there is no 'size_k')"), 1u);
}

TEST(LiveOperatorTable, TheUsersRulesGoFirstAndUnusedOnesAreTold) {
  const auto path = std::filesystem::temp_directory_path() / "flopcast_operators_test.toml";
  std::ofstream(path) << "[[operator]]\nname = ['my::mm', 'my::other']\n[[operator.product]]\n"
                         "m = 'a[0]'\nn = 'b[1]'\nk = 'a[1]'\ntype = 'a'\n"
                         "[[operator]]\nname = 'aten::silu'\nread = 1e9\n"
                         "[[kernel]]\nname = 'mine*'\nread = 'threads * 1000'\n";
  const auto table = OperatorTable::make(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(table) << table.error().text();
  KernelPrices prices = prices_with(*table);
  const double own =
      prices.price("operator my::mm a=bf16:8192x8192,b=bf16:8192x8192 bf16:8192x8192 1000 k", 1)
          .seconds();
  const double library = prices.price("gemm bf16 8192 8192 8192 1 cublas", 1).seconds();
  EXPECT_NEAR(own / library, 1, 1e-9);
  EXPECT_GT(prices.price("operator aten::silu bf16:16 bf16:16 1000 k", 1).seconds(), 1e9 / 3.4e12);
  EXPECT_GT(prices.price("kernel mine_own", 1000000).seconds(), 1e9 / 3.4e12);
  ASSERT_EQ(prices.unmatched().size(), 1u);
  EXPECT_NE(prices.unmatched()[0].find("my::other"), std::string::npos);
}

TEST(LiveOperatorTable, SomeKernelsOfAnOperatorMayDoOtherThings) {
  KernelPrices prices = prices_with(OperatorTable::builtin());
  const std::string call =
      "operator bitsandbytes::gemm_4bit "
      "A=bf16:4x1024x4096,B=u8:8388608x1,absmax=fp32:262144,blocksize=#64 "
      "bf16:4x1024x4096 1000 ";
  const double unpacks =
      prices.price(call + "_Z20kDequantizeBlockwiseI13__nv_bfloat16Li512E", 1).seconds();
  const double multiplies = prices.price(call + "_Z11kgemm_4bitI13__nv_bfloat16E", 1).seconds();
  EXPECT_GT(unpacks, 8388608 * 5.0 / 3.4e12);
  EXPECT_LT(unpacks, 8388608 * 5.0 / 1e12);
  EXPECT_GT(multiplies, 2.0 * 4096 * 4096 * 4096 / 990e12);
  EXPECT_TRUE(prices.unmatched().empty());
}

TEST(LiveOperatorTable, EveryRuleOfTheCatalogueIsReached) {
  // No rule stands behind another that takes all of its names.
  for (const char* const name :
       {"_vllm_fa3_C::fwd", "flash_attn::_flash_attn_forward",
        "flash_attn::_flash_attn_varlen_backward", "_C::rms_norm", "_C::rms_norm_static_fp8_quant",
        "_C_cache_ops::reshape_and_cache_flash", "_C::fused_add_rms_norm", "_moe_C::topk_softmax",
        "aten::native_layer_norm", "aten::add"})
    EXPECT_TRUE(OperatorTable::builtin().of_operator(name, "k")) << name;
  EXPECT_EQ(OperatorTable::builtin().of_operator("_C::fused_add_rms_norm", "k")->rule->op,
            MemoryOp::kRmsNorm);
  EXPECT_FALSE(OperatorTable::builtin().of_operator("nobody::knows", "k"));
  for (const auto& [name, read] : std::vector<std::pair<std::string, double>>{
           {"&::te::rmsnorm_fwd_tuned_kernel<::te::Kernel_traits<::te::bf16,::te::bf16,::te::bf16,:"
            ":te::fp32,4096>>",
            2},
           {"&::te::rmsnorm_bwd_finalize_tuned_kernel<::te::Kernel_traits<::te::bf16,::te::bf16>>",
            4},
           {"&::te::ln_bwd_tuned_kernel<::te::Kernel_traits<::te::fp32,::te::fp32,::te::fp32>>", 8},
           {"_ZN18transformer_engine16gated_act_kernelILi8ELb1Ef13__nv_bfloat16S1_EEvPKT2_", 4}}) {
    const auto found = OperatorTable::builtin().of_kernel(name);
    ASSERT_TRUE(found) << name;
    auto numbers = found->numbers;
    for (const ArgumentRule& one : found->rule->arguments) numbers[one.name] = 1 << 12;
    EXPECT_NEAR(
        found->rule->read.at(0).evaluate({nullptr, numbers}).amount->numbers.at(0) / (1 << 24),
        read, 0.01)
        << name;
  }
}

RC_GTEST_PROP(LiveOperatorTable, DamagedCallsOfExtensionsAreReadOrRefused, ()) {
  std::string text = flash("@0+8192^5").substr(9);
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::elementOf(std::string("=*~x:,.#@;^+- 0-9?"));
  const Signature signature = parse_signature("operator " + text, 256);
  RC_ASSERT(std::isfinite(kernel_bytes(signature.kernel).value));
}

}  // namespace
}  // namespace flopcast::live
