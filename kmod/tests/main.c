// SPDX-License-Identifier: GPL-2.0
/*
 * The tests of single files: which suites there are.
 */
#include <linux/module.h>

#include "test_util.h"

#define LEAF_SUITES							\
	&omerta_chunk_suite, &omerta_record_suite, &omerta_plain_suite,	\
	&omerta_tamper_suite, &omerta_replay_suite,			\
	&omerta_allowedips_suite, &omerta_merge_suite

#ifdef __KERNEL__
kunit_test_suites(LEAF_SUITES, &omerta_keys_suite, &omerta_queue_suite,
		  &omerta_admission_suite);
#else
kunit_test_suites(LEAF_SUITES);
#endif

MODULE_DESCRIPTION("Tests of omerta's leaves");
MODULE_LICENSE("GPL");
