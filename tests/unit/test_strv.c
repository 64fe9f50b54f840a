/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of strings and environments. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/strv.h"

Test(strv, stays_terminated)
{
	_cleanup_strv_ struct strv list = { 0 };

	cr_assert_eq(strv_add(&list, "a"), 0);
	cr_assert_null(list.items[1]);
	cr_assert_eq(strv_addf(&list, "%s%d", "b", 7), 0);
	cr_assert_eq(list.count, 2);
	cr_assert_str_eq(list.items[1], "b7");
	cr_assert_null(list.items[2]);
	cr_assert_eq(strv_take(&list, NULL), -ENOMEM);
	cr_assert_eq(list.count, 2);
}

Test(strv, environment_replaces_whole_names)
{
	_cleanup_strv_ struct strv env = { 0 };

	cr_assert_eq(strv_set_env(&env, "AB=1"), 0);
	cr_assert_eq(strv_set_env(&env, "A=2"), 0);
	cr_assert_eq(strv_set_env(&env, "AB=3=4"), 0);
	cr_assert_eq(env.count, 2);
	cr_assert_str_eq(strv_get_env(&env, "AB"), "3=4");
	cr_assert_str_eq(strv_get_env(&env, "A"), "2");
	cr_assert_null(strv_get_env(&env, "B"));
}

Test(strv, clear_twice)
{
	struct strv list = { 0 };

	cr_assert_eq(strv_add(&list, "x"), 0);
	strv_clear(&list);
	strv_clear(&list);
	cr_assert_eq(list.count, 0);
	cr_assert_null(list.items);
}
