// SPDX-License-Identifier: GPL-2.0
#include "plant.h"

#include "lib/keygen.h"

#include <ctype.h>
#include <stdlib.h>

/* A piece as long as this is a piece of the key. */
#define PIECE	16

char plant_key[OM_BASE64_LEN];
static uint64_t state;

/* xorshift64, Marsaglia 2003 */
unsigned int plant_below(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 32) % n;
}

void plant_seed(unsigned int seed)
{
	uint8_t key[OMERTA_KEY_LEN];

	state = 0x9e3779b97f4a7c15ULL * (seed + 1);
	for (size_t i = 0; i < 16; i++)
		plant_below(2);
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)plant_below(256);
	om_base64_encode(plant_key, key);
}

static const char *around(void)
{
	static const char *const texts[] = {
		"", "", "", " ", "\r", "\n", "\t", "=", ",", "#", "\"", "[", "]", "/", ":",
		"@", "\\", "\v", "%", "1", "a", "\xff", "\xc3\xa9", "\r\n", " = ", "+", "-",
	};

	return texts[plant_below(OM_ARRAY_SIZE(texts))];
}

void plant(char *text, size_t size, bool whole)
{
	size_t len = strlen(text), at = plant_below((unsigned int)len + 1), end = at;
	char seed[OM_BASE64_LEN + 16], *copy = strdup(text);
	/* One in four is broken, but not into pieces so small that they pass for words. */
	int cut = plant_below(4) || whole ? 0 : 20 + (int)plant_below(4);

	snprintf(seed, sizeof(seed), "%s%.*s%s%s%s", around(), cut, plant_key,
		 cut ? around() : "", plant_key + cut, around());
	if (plant_below(2)) {
		while (at && !isspace((unsigned char)text[at - 1]))
			at--;
		while (end < len && !isspace((unsigned char)text[end]))
			end++;
	}
	snprintf(text, size, "%.*s%s%s", (int)at, copy, seed, copy + end);
	free(copy);
}

bool plant_shows(const struct unit_run *run)
{
	char piece[PIECE + 1] = "";

	for (size_t i = 0; i + PIECE < OM_BASE64_LEN; i++) {
		memcpy(piece, plant_key + i, PIECE);
		if (memmem(run->out, run->out_len, piece, PIECE) ||
		    CONTAINS(run->err, piece))
			return true;
	}
	return false;
}
