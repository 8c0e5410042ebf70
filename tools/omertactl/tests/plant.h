/* SPDX-License-Identifier: GPL-2.0 */
/* Keys planted in text where none belongs, by chance that is the same in every run. */
#ifndef OM_PLANT_H
#define OM_PLANT_H

#include "unit.h"

/* A secret in base64, made anew by plant_seed() */
extern char plant_key[];

void plant_seed(unsigned int seed);
/* 0 to n - 1 */
unsigned int plant_below(unsigned int n);
/*
 * Put the key into @text, of @size bytes: somewhere, or in the place of a word; alone, or
 * with something before, behind or, unless @whole, inside of it that a parser may stop at.
 */
void plant(char *text, size_t size, bool whole);
/* Returns true if a piece of the key is in the output. */
bool plant_shows(const struct unit_run *run);

#endif
