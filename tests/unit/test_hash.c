/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 against the examples of FIPS 180-4. */
#include <criterion/criterion.h>

#include "base/hash.h"

static void expect(const char *text, const char *hex)
{
	unsigned char digest[HASH_BYTES];
	char got[HASH_HEX_SIZE];

	hash_buffer(text, strlen(text), digest);
	hash_hex(digest, sizeof(digest), got);
	cr_assert_str_eq(got, hex, "'%s' gave %s", text, got);
}

Test(hash, published_examples)
{
	expect("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

Test(hash, pieces_are_the_whole)
{
	unsigned char whole[HASH_BYTES], pieces[HASH_BYTES];
	struct hash h;

	hash_buffer("hello world", 11, whole);
	hash_init(&h);
	hash_add(&h, "hello", 5);
	hash_add(&h, "", 0);
	hash_add(&h, " world", 6);
	hash_final(&h, pieces);
	cr_assert_arr_eq(whole, pieces, HASH_BYTES);
}
