// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
	om_open_std();
	return om_main(argc, argv);
}
