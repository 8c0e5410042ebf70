#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# intree.sh: builds the sources as drivers/net/omerta of User-mode Linux, as modules and built in,
# and runs a test in the latter. The cached kernel is not changed: an overlay takes the new files.
# Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

dir=$CACHE/kernels/uml-amd64
place=$dir/source/drivers/net/omerta

# As Documentation/install.rst says
add_to_tree() {
	(cd "$TOP_DIR" && mkdir -p "$place" && cp Kconfig Kbuild "$place" &&
		copy_sources kmod "$place" && cp include/uapi/linux/*.h "$dir/source/include/uapi/linux/")
	sed -i '/^endif # NETDEVICES/i source "drivers/net/omerta/Kconfig"' "$dir/source/drivers/net/Kconfig"
	# shellcheck disable=SC2016 # make's
	echo 'obj-$(CONFIG_OMERTA) += omerta/' >>"$dir/source/drivers/net/Makefile"
}

# build VALUE TARGET...: with the options set to VALUE
build() {
	local option

	for option in OMERTA OMERTA_BENCH OMERTA_KUNIT_TEST; do
		sed -i "/^\(# \)\?CONFIG_${option}[= ]/d" "$dir/build/.config"
		echo "CONFIG_$option=$1" >>"$dir/build/.config"
	done
	make -C "$dir/build" ARCH=um olddefconfig
	make -C "$dir/build" "-j$(nproc)" ARCH=um "${@:2}"
	[[ $(grep -c "^CONFIG_OMERTA.*=$1" "$dir/build/.config") -ge 2 ]]
}

as_modules() {
	build m modules
	ls "$dir"/build/drivers/net/omerta/kmod/{omerta,bench/omerta_bench,tests/omerta_test}.ko
}

built_in() {
	local list

	build y linux
	cp "$dir/build/linux" "$dir/vmlinuz"
	list=$dir/modules/usr/lib/modules/$(<"$dir/stamp")/modules.builtin
	printf 'kernel/drivers/net/omerta/kmod/%s.ko\n' omerta bench/omerta_bench >"$list"
}

test_built_in() {
	BUILT_IN=yes "$VM_DIR/run.sh" -k uml -a amd64 -t 300 -o "$work/out" -- ./netns.sh test_loop
}

inside() {
	mount -t overlay -o "lowerdir=$dir,upperdir=$work/upper,workdir=$work/work" overlay "$dir"
	echo "KTAP version 1"
	echo "1..3"
	add_to_tree
	report 1 "modules of the kernel's tree" as_modules
	report 2 "built into the kernel" built_in
	report 3 "a tunnel in that kernel" test_built_in
}

main() {
	if [[ ${1:-} == inside ]]; then
		work=$2
		inside
		exit
	fi
	prepare_guest uml amd64
	"$VM_DIR/deps.sh" build
	# Here, as files made inside would be root's
	"$VM_DIR/rootfs.sh" amd64 >/dev/null
	"$VM_DIR/tool.sh" amd64 >/dev/null
	work=$(mktemp -d)
	trap 'as_root rm -rf "$work"' EXIT
	mkdir "$work"/{upper,work}
	as_root unshare -m --propagation private "$0" inside "$work"
}

main "$@"
