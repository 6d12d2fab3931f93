/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys, values, numbers and HMACs of the wire formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pmi2.h"
#include "pmi2/auth.h"
#include "pmi2/wire.h"

static struct pmi2_slice slice_of(const char *text)
{
    return (struct pmi2_slice){text, strlen(text)};
}

static void pmi2_81_booleans(void **state)
{
    bool value = false;

    assert_true(pmi2_slice_bool(slice_of("TRUE"), &value) && value);
    assert_true(pmi2_slice_bool(slice_of("false"), &value) && !value);
    assert_true(pmi2_slice_bool(slice_of("True"), &value) && value);
    assert_false(pmi2_slice_bool(slice_of("1"), &value));
    assert_false(pmi2_slice_bool(slice_of("TRUEx"), &value));
    assert_false(pmi2_slice_bool((struct pmi2_slice){NULL, 0}, &value));
}

static void integers(void **state)
{
    int64_t value;

    assert_true(pmi2_slice_int(slice_of("-1"), -1, 5, &value));
    assert_int_equal(value, -1);
    assert_true(pmi2_slice_int(slice_of("+007"), -1, 7, &value));
    assert_int_equal(value, 7);
    assert_true(pmi2_slice_int(slice_of("9223372036854775807"), 0, INT64_MAX, &value));
    assert_false(pmi2_slice_int(slice_of("9223372036854775808"), 0, INT64_MAX, &value));
    assert_false(pmi2_slice_int(slice_of("8"), -1, 7, &value));
    assert_false(pmi2_slice_int(slice_of("-2"), -1, 7, &value));
    assert_false(pmi2_slice_int(slice_of(""), 0, 7, &value));
    assert_false(pmi2_slice_int(slice_of("-"), -1, 7, &value));
    assert_false(pmi2_slice_int(slice_of("1 "), 0, 7, &value));
    assert_false(pmi2_slice_int(slice_of("1x"), 0, 7, &value));
    assert_false(pmi2_slice_int((struct pmi2_slice){NULL, 0}, 0, 7, &value));
}

static void pmi2_26_keys_and_values(void **state)
{
    char text[PMI2_VALUE_MAX + 2];

    memset(text, 'k', sizeof(text));
    assert_int_equal(pmi2_key_check((struct pmi2_slice){text, 64}), PMI2_SUCCESS);
    assert_int_equal(pmi2_key_check((struct pmi2_slice){text, 65}), PMI2_ERR_INVALID_KEY_LENGTH);
    assert_int_equal(pmi2_key_check(slice_of("")), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_key_check(slice_of("-bcast-1-0-seg-1/3")), PMI2_SUCCESS); /* T-8 */
    assert_int_equal(pmi2_key_check(slice_of("\xc3\xa4")), PMI2_SUCCESS);
    assert_int_equal(pmi2_key_check(slice_of("a b")), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_key_check(slice_of("a=b")), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_key_check(slice_of("a;b")), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_key_check(slice_of("a\n")), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_key_check((struct pmi2_slice){"a\0b", 3}), PMI2_ERR_INVALID_KEY);
    assert_int_equal(pmi2_value_check((struct pmi2_slice){text, 1024}), PMI2_SUCCESS);
    assert_int_equal(pmi2_value_check((struct pmi2_slice){text, 1025}),
                     PMI2_ERR_INVALID_VAL_LENGTH);
    assert_int_equal(pmi2_value_check((struct pmi2_slice){"a\0b", 3}), PMI2_ERR_INVALID_VAL);
    assert_int_equal(pmi2_value_check((struct pmi2_slice){NULL, 0}), PMI2_SUCCESS);
}

static void pmi2_88_35_utf8(void **state)
{
    static const char euro[] = "a\xe2\x82\xac\xf0\x9f\x98\x80";
    static const char *const invalid[] = {"\x80",
                                          "\xc0\x80",
                                          "\xc3",
                                          "\xe2\x82",
                                          "\xe0\x80\x80",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xf0\x80\x80\x80",
                                          "\xff",
                                          "a\xc3z"};
    static const size_t cuts[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    size_t i;

    assert_true(pmi2_utf8_valid(slice_of(euro)));
    assert_true(pmi2_utf8_valid(slice_of("")));
    for (i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        assert_false(pmi2_utf8_valid(slice_of(invalid[i])));
    for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
        assert_int_equal(pmi2_utf8_cut(slice_of(euro), i), cuts[i]);
    assert_int_equal(pmi2_utf8_cut(slice_of("\x80\x80\x80\x80\x80\x80"), 5), 5); /* no characters */
}

/* ---- HMAC-SHA-256: the vectors of RFC 4231 ----------------------------------------------------
 */

static void expect_hmac(const void *key, size_t key_bytes, const void *data, size_t length,
                        const char *wanted)
{
    uint8_t digest[PMI2_SHA256_BYTES];
    char text[PMI2_AUTH_ANSWER];
    size_t cut, i;

    for (cut = 0; cut <= length; cut += 7) { /* however it is divided */
        const struct pmi2_slice parts[] = {{data, cut}, {(const char *)data + cut, length - cut}};

        pmi2_hmac_sha256(key, key_bytes, parts, 2, digest);
        for (i = 0; i < sizeof(digest); i++)
            snprintf(text + 2 * i, 3, "%02x", digest[i]);
        assert_string_equal(text, wanted);
    }
}

static void pmi2_111_hmac_of_rfc_4231(void **state)
{
    uint8_t key[131], data[50];
    size_t i;

    memset(key, 0x0b, 20);
    expect_hmac(key, 20, "Hi There", 8,
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect_hmac("Jefe", 4, "what do ya want for nothing?", 28,
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    memset(data, 0xdd, sizeof(data));
    expect_hmac(key, 20, data, 50,
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    memset(data, 0xcd, sizeof(data));
    for (i = 0; i < 25; i++)
        key[i] = (uint8_t)(i + 1);
    expect_hmac(key, 25, data, 50,
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    memset(key, 0xaa, sizeof(key));
    expect_hmac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    expect_hmac(key, 131,
                "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm.",
                152, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

/* What one rank of one job answers is no answer of another: 1.2 rank 34 is not 1.23 rank 4. */
static void pmi2_111_answers_name_job_and_rank(void **state)
{
    static const uint8_t key[32] = {1};
    static const struct {
        const char *nonce, *job;
        uint32_t rank;
    } who[] = {
        {"n", "1.2", 34}, {"n", "1.23", 4}, {"n1", ".23", 4}, {"n", "1.2", 3}, {"m", "1.2", 34}};
    char answers[5][PMI2_AUTH_ANSWER];
    size_t i, j;

    for (i = 0; i < 5; i++) {
        pmi2_auth_answer(key, sizeof(key), slice_of(who[i].nonce), slice_of(who[i].job),
                         who[i].rank, answers[i]);
        for (j = 0; j < i; j++)
            assert_string_not_equal(answers[i], answers[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_81_booleans),
        cmocka_unit_test(integers),
        cmocka_unit_test(pmi2_26_keys_and_values),
        cmocka_unit_test(pmi2_88_35_utf8),
        cmocka_unit_test(pmi2_111_hmac_of_rfc_4231),
        cmocka_unit_test(pmi2_111_answers_name_job_and_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
