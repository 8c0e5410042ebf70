# Changes to pmtu.sh for omerta, each with its reason.
# The machine has no which(1)
s/which/command -v/g
# The devices
/run_cmd ${ns_a} ip link add ${type}_a type ${type}/c\
	run_cmd ${ns_a} "$TUNNEL" ${type}_a ${a_addr} ${ns_b#*exec } ${type}_b ${b_addr} df set || return 1
/run_cmd ${ns_b} ip link add ${type}_b type ${type} id 1/d
# Of 4000 bytes the outer headers, one of ours and 8 tags are not the packet's
/VXLAN\/GENEVE header/d
s/^\(		exp_mtu=\).*- 20 .*- 14))$/\13828/
s/^\(		exp_mtu=\).*- 40 .*- 14))$/\13808/
