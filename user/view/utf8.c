#include "view/utf8.h"

#include <stddef.h>

uint32_t ovl_utf8_next(const char **s)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)*s;
	uint32_t ch = p[0];
	int more;

	if (!ch)
		return 0;
	(*s)++;
	if (ch < 0x80)
		return ch;
	if (ch >= 0xf8 || ch < 0xc0)
		return OVL_UTF8_BAD;
	more = ch >= 0xf0 ? 3 : ch >= 0xe0 ? 2 : 1;
	ch &= 0x3fu >> more;
	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return OVL_UTF8_BAD; /* resynchronises at the next byte */
		ch = ch << 6 | (p[i] & 0x3f);
	}
	if (ch < least[more] || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000))
		return OVL_UTF8_BAD;
	*s += more;
	return ch;
}

void ovl_utf8_put(struct ovl_buf *out, uint32_t ch)
{
	char s[4];
	size_t n = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;

	if (n == 1) {
		s[0] = (char)ch;
	} else {
		for (size_t i = n - 1; i > 0; i--, ch >>= 6)
			s[i] = (char)(0x80 | (ch & 0x3f));
		s[0] = (char)((0xf00 >> n) | ch);
	}
	ovl_buf_put(out, s, n);
}

bool ovl_utf8_narrow(uint32_t ch)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{0x20, 0x7e},	  {0xa1, 0xac},	    {0xae, 0x2ff},    {0x370, 0x482},
		{0x48a, 0x52f},	  {0x2010, 0x2027}, {0x2030, 0x205e}, {0x2190, 0x21ff},
		{0x2200, 0x22ff}, {0x2500, 0x259f}, {0x25a0, 0x25fc},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ch >= ranges[i].from && ch <= ranges[i].to)
			return true;
	return false;
}

const char *ovl_utf8_ascii(uint32_t ch)
{
	static const struct {
		uint32_t ch;
		const char *ascii;
	} table[] = {
		{0xb1, "+-"},	{0xb5, "u"},	 {0xb7, "."},	 {0xd7, "x"},	 {0x3bc, "u"},
		{0x2013, "-"},	{0x2014, "-"},	 {0x2018, "'"},	 {0x2019, "'"},	 {0x201c, "\""},
		{0x201d, "\""}, {0x2026, "..."}, {0x2190, "<-"}, {0x2192, "->"}, {0x2212, "-"},
		{0x2248, "~"},	{0x2264, "<="},	 {0x2265, ">="},
	};
	static const char one[0x7f - 0x20][2] = {
		" ", "!", "\"", "#", "$", "%", "&", "'", "(", ")", "*", "+", ",",  "-", ".", "/",
		"0", "1", "2",	"3", "4", "5", "6", "7", "8", "9", ":", ";", "<",  "=", ">", "?",
		"@", "A", "B",	"C", "D", "E", "F", "G", "H", "I", "J", "K", "L",  "M", "N", "O",
		"P", "Q", "R",	"S", "T", "U", "V", "W", "X", "Y", "Z", "[", "\\", "]", "^", "_",
		"`", "a", "b",	"c", "d", "e", "f", "g", "h", "i", "j", "k", "l",  "m", "n", "o",
		"p", "q", "r",	"s", "t", "u", "v", "w", "x", "y", "z", "{", "|",  "}", "~",
	};

	if (ch >= 0x20 && ch < 0x7f)
		return one[ch - 0x20];
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].ch == ch)
			return table[i].ascii;
	return "?";
}

void ovl_utf8_clean(struct ovl_buf *out, const char *text)
{
	uint32_t ch;

	while ((ch = ovl_utf8_next(&text)))
		ovl_utf8_put(out, ch == '\n' || ovl_utf8_narrow(ch) ? ch : '?');
}
