#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "tap.h"

#include <errno.h>

static void test_buf(void)
{
	struct ovl_buf b = {0};

	is_str(ovl_buf_str(&b), "", "an empty buffer reads as an empty string");
	for (int i = 0; i < 1000; i++)
		ovl_buf_printf(&b, "%d,", i);
	is_int(b.n, 3890, "1000 numbers take 3890 bytes");
	ok(!b.failed, "no failure");
	ovl_buf_clear(&b);
	is_str(ovl_buf_str(&b), "", "cleared");
	ovl_buf_puts(&b, "again");
	is_str(ovl_buf_str(&b), "again", "reused");
	ovl_buf_fini(&b);
	is_int(b.cap, 0, "released");
}

static void test_err(void)
{
	struct ovl_err err = OVL_ERR_INIT;

	is_int(ovl_err_set(&err, OVL_EXIT_INPUT, -ENOENT, "no %s", "file"), -ENOENT,
	       "rc comes back");
	is_str(err.text, "no file", "the sentence is kept");
	is_int(err.exit, OVL_EXIT_INPUT, "the exit code is kept");
	is_int(ovl_err_set(NULL, OVL_EXIT_INPUT, -EIO, "x"), -EIO, "no error wanted: fine");
	is_str(ovl_exit_name(4), "rights", "exit codes have names");
}

static void test_str(void)
{
	char small[4];
	unsigned long long v = 0;

	ok(ovl_str_copy(small, sizeof(small), "abc"), "three characters fit in four bytes");
	ok(!ovl_str_copy(small, sizeof(small), "abcd"), "four do not");
	is_str(small, "abc", "and are cut");
	ok(ovl_str_u64("42", 1, 100, &v) && v == 42, "a number");
	ok(!ovl_str_u64("42x", 1, 100, &v), "rubbish after a number");
	ok(!ovl_str_u64("-1", 0, 100, &v), "a sign");
	ok(!ovl_str_u64("", 0, 100, &v), "nothing");
	ok(!ovl_str_u64("99999999999999999999999", 0, ~0ull, &v), "too large for 64 bits");
	ok(!ovl_str_u64("101", 1, 100, &v), "out of range");
}

static void test_vec(void)
{
	OVL_VEC(int) v = {0};
	long sum = 0;

	for (int i = 0; i < 100; i++)
		*ovl_vec_push(&v) = i;
	ovl_vec_each(it, &v)
		sum += *it;
	is_int(sum, 4950, "100 elements pushed and walked");
	ovl_vec_fini(&v);
	is_int(v.n, 0, "released");
	ovl_vec_each(it, &v)
		sum++;
	is_int(sum, 4950, "an empty vector has no elements");
}

int main(void)
{
	test_buf();
	test_err();
	test_str();
	test_vec();
	return tap_done();
}
