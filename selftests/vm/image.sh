#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# image.sh KVER ARCH OUT: writes an initramfs of three parts: the root and the
# kernel's modules (both cached), and a small overlay of what was built here
# plus, in .vm, what OVERLAY (a directory) holds. The module and omertactl are of TREE,
# another tree with these scripts, if that is set; all tests are of this one. With BUILT_IN the
# module is part of the kernel.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

TREE=${TREE:-$TOP_DIR}

main() {
	local out=$3 dir root

	KVER=$1 ARCH=$2
	arch_facts "$ARCH"
	"$VM_DIR/kernel.sh" "$KVER" "$ARCH"
	dir=$CACHE/kernels/$KVER-$ARCH
	root=$("$VM_DIR/rootfs.sh" "$ARCH")
	release=$(<"$dir/stamp")
	stage=$(mktemp -d)
	trap 'rm -rf "$stage"' EXIT
	stage_modules "$dir"
	stage_tools
	pack_cpio "$stage" | cat "$root" "$dir/modules.cpio.gz" - >"$out"
}

# depmod sees the kernel's modules through a link, which is not packed: they are in a separate
# archive.
stage_modules() {
	local dir=$1 mods ko

	mods=$stage/usr/lib/modules/$release
	mkdir -p "$mods/updates"
	cp "$dir/modules/usr/lib/modules/$release"/modules.{order,builtin*} "$mods"
	while read -r ko; do
		if [[ $(modinfo -F vermagic "$ko") == "$release "* ]]; then
			cp "$ko" "$mods/updates"
		else
			say "left out, as it was built for another kernel: $ko"
		fi
	done < <([[ -n ${BUILT_IN:-} ]] ||
		find "$TREE/build/$KVER-$ARCH/kmod" -name '*.ko' 2>/dev/null)
	ln -s "$dir/modules/usr/lib/modules/$release/kernel" "$mods/kernel"
	depmod -b "$stage/usr" "$release"
	rm "$mods/kernel"
}

stage_tools() {
	local tool kem

	tool=$("$TREE/selftests/vm/tool.sh" "$ARCH")
	mkdir -p "$stage"/usr/{sbin,libexec/omerta,lib/systemd/system,lib/sysusers.d} "$stage/root/out"
	cp "$tool" "$stage/usr/sbin"
	# A tree from before the agent was a program of its own has none.
	[[ ! -e ${tool%/*}/omerta-agent ]] || cp "${tool%/*}/omerta-agent" "$stage/usr/libexec/omerta"
	[[ ! -e ${tool%/*}/link_omerta.so ]] ||
		install -D -m 644 -t "$stage/usr/lib/$TRIPLET/ip" "${tool%/*}/link_omerta.so"
	# Other architectures' unit tests run there, those of this machine's on the host.
	if ! native "$ARCH" && [[ -e ${tool%/*}/build/test_cmd ]]; then
		mkdir -p "$stage/root/unit/build" "$stage/root/unit/tests"
		cp "${tool%/*}"/build/test_{cmd,wire} "$stage/root/unit/build"
		cp "$TOP_DIR/tools/omertactl/tests/run.sh" "$stage/root/unit/tests"
	fi
	# For the test of its handshakes alone, so that others test what users build here
	if [[ $ARCH == amd64 ]] && compgen -G "$CACHE/builder/tool-*/stamp" >/dev/null; then
		kem=$("$VM_DIR/tool_kem.sh")
		cp "$kem" "$stage/root/omertactl-kem"
		cp "${kem%/*}/omerta-agent" "$stage/root"
	fi
	cp "$TOP_DIR"/tools/omertactl/systemd/*.service "$stage/usr/lib/systemd/system"
	cp "$TOP_DIR/tools/omertactl/systemd/sysusers.conf" "$stage/usr/lib/sysusers.d/omerta.conf"
	cp -a "$TOP_DIR/selftests" "$TOP_DIR/tools/tracing" \
		"$TOP_DIR/Documentation/omertactl.schema.json" \
		"$TOP_DIR"/Documentation/examples/{ansible.yml,grafana.json} "$stage/root"
	[[ $ARCH != amd64 ]] || cc -O2 -o "$stage/root/selftests/flood" "$TOP_DIR/selftests/flood.c"
	cp "$VM_DIR/init" "$stage/init"
	chmod 755 "$stage/init"
	[[ -z ${OVERLAY:-} ]] || cp -a "$OVERLAY" "$stage/root/.vm"
}

(($# == 3)) || die "usage: image.sh KVER ARCH OUT"
main "$@"
