// SPDX-License-Identifier: GPL-2.0
/*
 * The leaf tests: which suites there are.
 */
#include <linux/module.h>

#include "test_util.h"

kunit_test_suites(&omerta_chunk_suite, &omerta_record_suite,
		  &omerta_plain_suite, &omerta_tamper_suite,
		  &omerta_replay_suite, &omerta_allowedips_suite);

MODULE_DESCRIPTION("Tests of omerta's leaves");
MODULE_LICENSE("GPL");
