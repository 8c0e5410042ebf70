#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Requests that must be refused, with the status and the message they must give,
# and without any effect. Most go through omertactl; raw goes past its checks
# straight to the kernel's.
# shellcheck disable=SC2317 # the table calls functions
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$(mktemp -d)
PATH=$DIR:$PATH
WAIT=30
CPU1=/sys/devices/system/cpu/cpu1/online
PREFIXES=100000

# status | part of the message, or = for no output | command
#
# Only commands with status 0 may change the state. Secrets are in the files sN; zero, short,
# long and noise are not secrets.
table() {
	cat <<-'END'
	# The setting
	0||omertactl link add o0 listen-port 51900
	0||omertactl link add o1 listen-port 51901 chunk-size 65536
	0||omertactl peer add o0 id 1 name one endpoint 127.0.0.1:51999 allowed-ips 10.0.0.0/24,fd00::/64
	0||omertactl peer add o0 id 2 name two allowed-ips 10.1.0.0/24
	0||omertactl key add o0 peer 1 local-id 1 remote-id 2 rx-key-file s1 tx-key-file s2
	0||ip link set o0 up
	0||ip link add v0 type veth peer name v1
	# Devices
	2|no such device|omertactl link set nope fwmark 1
	2|no such device|omertactl link del nope
	2|no such device|omertactl link show nope
	2|no such device|omertactl peer add nope id 1
	2|not of type omerta|omertactl link set lo fwmark 1
	2|not of type omerta|omertactl link del v0
	2|not of type omerta|omertactl peer add v0 id 1
	2|not of type omerta|omertactl key add lo peer 1 local-id 1 remote-id 2 rx-key-file s3 tx-key-file s4
	2|a device of this name exists|omertactl link add o0
	2|a device of this name exists|omertactl link add v0
	1|name|omertactl link add sixteencharacter
	2|ENODEV no such device|raw device-set ifindex=u32:99999 fwmark=u32:1
	2|EINVAL one of ifindex and ifname|raw device-set fwmark=u32:1
	2|EINVAL one of ifindex and ifname|raw device-set ifindex=u32:1 ifname=str:lo
	2|ENOTSUP not of type omerta|raw device-set ifindex=u32:1 fwmark=u32:1
	2|ERANGE out of range|raw device-set ifindex=u32:0
	2|EINVAL leave it out|raw device-new ifindex=u32:77 ifname=str:o7
	2|EINVAL |raw device-new ifname=str:sixteencharacter
	2|EINVAL |raw device-new ifname=hex:6f37
	2|EINVAL |raw device-new ifname=str:a/b
	2|EINVAL Unsupported attribute|raw device-set ifname=str:o0 peers=u32:1
	2|EINVAL Unknown attribute|raw device-set ifname=str:o0 99=u32:1
	2|ENOTSUP |raw 99 ifname=str:o0
	# Settings
	1|chunk-size|omertactl link set o1 chunk-size 513
	1|chunk-size|omertactl link set o1 chunk-size 256
	1|chunk-size|omertactl link set o1 chunk-size 131072
	2|EINVAL power of two|raw device-set ifname=str:o1 chunk-size=u32:513
	2|ERANGE out of range|raw device-set ifname=str:o1 chunk-size=u32:256
	2|ERANGE out of range|raw device-set ifname=str:o1 chunk-size=u32:131072
	2|ERANGE out of range|raw device-set ifname=str:o1 chunk-size=u32:0
	2|EINVAL invalid attribute length|raw device-set ifname=str:o1 chunk-size=u16:512
	2|EINVAL invalid attribute length|raw device-set ifname=str:o1 chunk-size=u64:512
	2|while the device is down|omertactl link set o0 chunk-size 1024
	2|while the device is down|omertactl link set o0 fwmark 5 chunk-size 1024
	2|ERANGE out of range|raw device-set ifname=str:o1 channels=u32:0
	2|ERANGE out of range|raw device-set ifname=str:o1 channels=u32:65
	2|EINVAL invalid attribute length|raw device-set ifname=str:o1 channels=u8:1
	2|while the device is down|omertactl link set o0 channels 1
	2|while the device is down|omertactl link set o0 fwmark 5 channels 1
	2|as many channels as|omertactl link set o1 channels 64
	2|maximum|ip link set o0 mtu 63492
	2|maximum|ip link set o0 mtu 65536
	2|minimum|ip link set o0 mtu 67
	0||ip link set o1 mtu 65400
	2|mtu is too large|omertactl link set o1 chunk-size 512
	2|mtu is too large|omertactl link set o1 fwmark 5 chunk-size 512
	1|percpu-threshold|omertactl link set o0 percpu-threshold 0
	2|ERANGE out of range|raw device-set ifname=str:o0 percpu-threshold=u32:0
	1|policy|omertactl link set o0 policy fast
	2|ERANGE out of range|raw device-set ifname=str:o0 policy=u32:3
	1|batch|omertactl link set o0 batch yes
	2|ERANGE out of range|raw device-set ifname=str:o0 batch=u32:2
	1|df|omertactl link set o0 df no
	2|ERANGE out of range|raw device-set ifname=str:o0 df=u32:3
	1|cpus|omertactl link set o0 cpus abc
	1|cpus|omertactl link set o0 cpus 0-
	2|cpus must be a list|omertactl link set o0 cpus 99
	2|cpus must be a list|omertactl link set o0 fwmark 5 cpus 99
	2|EINVAL cpus must be a list|raw device-set ifname=str:o0 cpus=str:abc
	2|EINVAL cpus must be a list|raw device-set ifname=str:o0 cpus=str:1-0
	2|EINVAL cpus must be a list|raw device-set ifname=str:o0 cpus=hex:00
	2|EINVAL |raw device-set ifname=str:o0 cpus=long:1024
	2|EINVAL cpus must be a list|raw device-set ifname=str:o0 fwmark=u32:5 cpus=long:1023
	2|engine must be auto|omertactl link set o0 engine fast
	2|engine must be auto|omertactl link set o0 fwmark 5 engine ''
	2|EINVAL engine must be|raw device-set ifname=str:o0 fwmark=u32:5 engine=long:63
	2|EINVAL |raw device-set ifname=str:o0 engine=long:64
	2|listen-port is in use|omertactl link set o0 listen-port 51999
	2|listen-port is in use|omertactl link set o0 fwmark 5 listen-port 51999
	1|listen-port|omertactl link set o0 listen-port 65536
	2|EINVAL invalid attribute length|raw device-set ifname=str:o0 listen-port=u32:51902
	2|listen-port is in use|omertactl link set o1 listen-port 51900
	2|listen-port is in use|omertactl link add o7 listen-port 51900
	# Peers
	2|no peer|omertactl peer set o0 peer 9 keepalive 5
	2|no peer|omertactl peer del o0 peer 9
	2|no peer|omertactl peer show o0 peer 9
	2|nobody|omertactl peer set o0 peer nobody keepalive 5
	2|a peer with this id exists|omertactl peer add o0 id 1
	2|a peer with this id exists|omertactl peer add o0 id 1 allowed-ips 10.1.0.0/24
	1|id|omertactl peer add o0 id 0
	2|ERANGE out of range|raw peer-new ifname=str:o0 id=u32:0
	2|EINVAL id is missing|raw peer-new ifname=str:o0
	2|EINVAL id is missing|raw peer-set ifname=str:o0 keepalive=u16:1
	2|ENOENT no peer|raw peer-set ifname=str:o0 id=u32:9 keepalive=u16:1
	2|ENOENT no peer|raw peer-del ifname=str:o0 id=u32:9
	2|EINVAL invalid attribute length|raw peer-new ifname=str:o0 id=u64:3
	2|EINVAL invalid attribute length|raw peer-set ifname=str:o0 id=u32:1 keepalive=u32:3
	1|name|omertactl peer set o0 peer 1 name 0123456789012345678901234567890123456789012345678901234567890123
	2|EINVAL |raw peer-set ifname=str:o0 id=u32:1 name=long:64
	1|public-key|omertactl peer set o0 peer 1 public-key AAAA
	2| |raw peer-set ifname=str:o0 id=u32:1 public-key=hex:0102
	1|HOST:PORT|omertactl peer set o0 peer 1 endpoint 127.0.0.1
	1|endpoint|omertactl peer set o0 peer 1 endpoint 127.0.0.1:0
	1|endpoint|omertactl peer set o0 peer 1 endpoint 127.0.0.1:65536
	1|endpoint|omertactl peer set o0 peer 1 endpoint [::1:5
	2|endpoint|omertactl peer set o0 peer 1 endpoint 300.0.0.1:5
	1|not the address of one host|omertactl peer set o0 peer 1 endpoint 224.0.0.1:5
	1|not the address of one host|omertactl peer set o0 peer 1 endpoint 255.255.255.255:5
	1|not the address of one host|omertactl peer set o0 peer 1 endpoint [::]:5
	1|not the address of one host|omertactl peer set o0 peer 1 endpoint [ff02::1]:5
	1|link-local address needs its link|omertactl peer set o0 peer 1 endpoint [fe80::1]:5
	2|EINVAL 4 or 16 bytes|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:7f00000101 endpoint-port=u16:5
	2| |raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:7f0000 endpoint-port=u16:5
	2|EINVAL go together|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:7f000002
	2|EINVAL go together|raw peer-set ifname=str:o0 id=u32:1 endpoint-port=u16:5
	2|EINVAL go together|raw peer-set ifname=str:o0 id=u32:1 endpoint-scope=u32:1
	2|ERANGE out of range|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:7f000002 endpoint-port=u16:0
	2|EINVAL endpoint-scope|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:7f000002 endpoint-port=u16:5 endpoint-scope=u32:1
	2|EINVAL unicast|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:e0000001 endpoint-port=u16:5
	2|EINVAL unicast|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:ffffffff endpoint-port=u16:5
	2|EINVAL unicast|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:00000000000000000000000000000000 endpoint-port=u16:5
	2|EINVAL unicast|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:ff020000000000000000000000000001 endpoint-port=u16:5
	2|EINVAL link-local|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:fe800000000000000000000000000001 endpoint-port=u16:5
	2|EINVAL unicast|raw peer-set ifname=str:o0 id=u32:1 endpoint-addr=hex:00000000000000000000ffff7f000001 endpoint-port=u16:5
	2|EINVAL |raw peer-set ifname=str:o0 id=u32:1 flags=u32:2
	2|ENOTCONN only the socket|raw agent-report ifname=str:o0 handshake=handshake:peer-id=u32:1
	2|ERANGE |raw agent-report ifname=str:o0 handshake=handshake:peer-id=u32:0
	# Prefixes
	1|prefix length|omertactl peer set o0 peer 1 allowed-ips 10.0.0.0/33
	1|prefix length|omertactl peer set o0 peer 1 allowed-ips fd00::/129
	1|allowed-ips|omertactl peer set o0 peer 1 allowed-ips 10.0.0/24
	1|allowed-ips|omertactl peer set o0 peer 1 allowed-ips 10.0.0.0/
	1|allowed-ips|omertactl peer set o0 peer 1 allowed-ips 10.9.0.0/24,,10.8.0.0/24
	1|given twice|omertactl peer set o0 peer 1 allowed-ips 10.9.0.0/24,10.9.0.0/24
	1|given twice|omertactl peer set o0 peer 1 allowed-ips 10.9.0.0/24,10.9.0.1/24
	1|allowed-ips|omertactl peer set o0 peer 1 allowed-ips +10.9.0.0/24,10.8.0.0/24
	2|allowed-ips|omertactl peer set o0 peer 1 allowed-ips @nofile
	2|to remove|omertactl peer set o0 peer 1 allowed-ips -10.9.0.0/24
	2|to remove|omertactl peer set o0 peer 1 allowed-ips -10.1.0.0/24
	2|to remove|omertactl peer set o0 peer 1 allowed-ips +10.9.0.0/24,-10.8.0.0/24
	2|is the peer's already|omertactl peer set o0 peer 1 allowed-ips +10.0.0.0/24
	2|is the peer's already|omertactl peer set o0 peer 1 keepalive 9 allowed-ips +10.9.0.0/24,+10.0.0.0/24
	2|EEXIST twice|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:24 allowed-ips=nest:addr=hex:0a090001,prefix-len=u8:24
	2|EEXIST twice|raw peer-new ifname=str:o0 id=u32:3 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:24 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:24
	2|EEXIST twice|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a000000,prefix-len=u8:24,flags=u32:1 allowed-ips=nest:addr=hex:0a000000,prefix-len=u8:24,flags=u32:1
	2|ENOENT to remove|raw peer-set ifname=str:o0 id=u32:1 flags=u32:1 allowed-ips=nest:addr=hex:0a000000,prefix-len=u8:24,flags=u32:1
	2|ENOENT to remove|raw peer-new ifname=str:o0 id=u32:3 allowed-ips=nest:addr=hex:0a000000,prefix-len=u8:24,flags=u32:1
	2|EINVAL longer than the address|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:33
	2|ERANGE out of range|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:129
	2|EINVAL 4 or 16 bytes|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a09000000,prefix-len=u8:24
	2|EINVAL needs addr and prefix-len|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000
	2|EINVAL needs addr and prefix-len|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:prefix-len=u8:24
	2|EINVAL |raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000,prefix-len=u8:24,flags=u32:2
	2|EINVAL |raw peer-set ifname=str:o0 id=u32:1 allowed-ips=nest:addr=hex:0a090000,prefix-len=u32:24
	2|EINVAL NLA_F_NESTED is missing|raw peer-set ifname=str:o0 id=u32:1 allowed-ips=u32:5
	# Channels
	1|channels|omertactl peer set o0 peer 1 channels 0
	1|channels|omertactl peer set o0 peer 1 channels 65
	2|ERANGE out of range|raw peer-set ifname=str:o0 id=u32:1 channels=u32:65
	2|EINVAL |raw peer-set ifname=str:o0 id=u32:1 further-channels=u32:1
	1|channel|omertactl key add o0 peer 1 channel 64 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6
	2|ENOENT the peer has fewer channels|raw key-new ifname=str:o0 peer-id=u32:1 channel=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6
	2|ERANGE out of range|raw key-new ifname=str:o0 peer-id=u32:1 channel=u32:64 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6
	2|ERANGE out of range|raw device-set ifname=str:o0 channel-port=u16:65412
	# Keys
	2|no peer|omertactl key add o0 peer 9 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6
	0||key_memory 0
	2|memory of used keys is full|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6
	0||key_memory 4194304
	2|EDQUOT memory of used keys is full for this user namespace|unshare -Urn bash fill.sh
	0||omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s30 tx-key-file s31
	0||omertactl key del o0 peer 1 local-id 5
	2|no key with this local-id|omertactl key activate o0 peer 1 local-id 77
	2|no key with this local-id|omertactl key retire o0 peer 1 local-id 77
	2|no key with this local-id|omertactl key del o0 peer 1 local-id 77
	2|no key with this local-id|omertactl key del o0 peer 2 local-id 1
	2|local-id is in use|omertactl key add o0 peer 1 local-id 1 remote-id 6 rx-key-file s5 tx-key-file s6
	2|local-id is in use|omertactl key add o0 peer 2 local-id 1 remote-id 6 rx-key-file s5 tx-key-file s6
	1|local-id|omertactl key add o0 peer 1 local-id 0 remote-id 6 rx-key-file s5 tx-key-file s6
	1|remote-id|omertactl key add o0 peer 1 local-id 5 remote-id 0 rx-key-file s5 tx-key-file s6
	2|ERANGE out of range|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:0 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6
	2|ERANGE out of range|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:0 rx-secret=file:s5 tx-secret=file:s6
	2|EINVAL local-id is missing|raw key-new ifname=str:o0 peer-id=u32:1 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6
	2|EINVAL remote-id is missing|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 rx-secret=file:s5 tx-secret=file:s6
	2|EINVAL rx-secret is missing|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 tx-secret=file:s6
	2|EINVAL tx-secret is missing|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5
	2|EINVAL id is missing|raw key-new ifname=str:o0 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6
	2|EINVAL local-id is missing|raw key-activate ifname=str:o0 peer-id=u32:1
	2|EINVAL id is missing|raw key-retire ifname=str:o0 local-id=u32:1
	2|ENOENT no key|raw key-del ifname=str:o0 peer-id=u32:1 local-id=u32:2
	2|EINVAL one of ifindex and ifname|raw key-get
	2|ENODEV |raw key-get ifname=str:nope
	2|ERANGE |raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:short tx-secret=file:s6
	2|ERANGE |raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:long tx-secret=file:s6
	2|EINVAL rx-secret is all zeros|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:zero tx-secret=file:s6
	2|EINVAL tx-secret is all zeros|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:zero
	2|EINVAL are the same|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s5
	2|ERANGE out of range|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 activation=u32:3
	2|ESTALE the machine was cloned or suspended since|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 epoch=u32:77
	2|ERANGE out of range|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 hard-bytes=u64:0
	2|EINVAL invalid attribute length|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 hard-bytes=u16:1
	2|ERANGE hard-records|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 hard-records=u64:72057594037862401
	2|EINVAL seal-time must be set|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 open-time=u32:60
	2|EINVAL not exceed open-time|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 open-time=u32:60 seal-time=u32:61
	2|EINVAL Unsupported attribute|raw key-new ifname=str:o0 peer-id=u32:1 local-id=u32:5 remote-id=u32:6 rx-secret=file:s5 tx-secret=file:s6 state=u32:1
	1|rx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file zero tx-key-file s6
	1|tx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file zero
	1|key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s5
	1|rx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file short tx-key-file s6
	1|rx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file long tx-key-file s6
	1|tx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file noise
	2|rx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file nofile tx-key-file s6
	1|tx-key-file|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5
	2|hard-records must be|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6 hard-records 72057594037862401
	2|seal-time must be set|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6 open-time 60
	1|activate|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6 activate soon
	2|rx-secret was installed before|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s1 tx-key-file s6
	2|tx-secret was installed before|omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s2
	2|rx-secret was installed before|omertactl key add o0 peer 2 local-id 5 remote-id 6 rx-key-file s1 tx-key-file s6
	# Rejected keys left no trace in the memory of secrets.
	0||omertactl key add o0 peer 1 local-id 5 remote-id 6 rx-key-file s5 tx-key-file s6
	# The other end's files: both would count from 0 under one secret.
	2|rx-secret is a tx-secret of this machine|omertactl key add o0 peer 2 local-id 6 remote-id 5 rx-key-file s6 tx-key-file s3
	2|tx-secret is an rx-secret of this machine|omertactl key add o0 peer 2 local-id 6 remote-id 5 rx-key-file s3 tx-key-file s5
	# States
	0||omertactl key activate o0 peer 1 local-id 1
	2|active already|omertactl key activate o0 peer 1 local-id 1
	0||omertactl key activate o0 peer 1 local-id 5
	2|retired or dead|omertactl key activate o0 peer 1 local-id 1
	2|retired or dead already|omertactl key retire o0 peer 1 local-id 1
	0||omertactl key retire o0 peer 1 local-id 5
	2|retired or dead already|omertactl key retire o0 peer 1 local-id 5
	2|retired or dead|omertactl key activate o0 peer 1 local-id 5
	# The memory of secrets survives the key, the peer and the device.
	0||omertactl key del o0 peer 1 local-id 1
	2|rx-secret was installed before|omertactl key add o0 peer 1 local-id 1 remote-id 2 rx-key-file s1 tx-key-file s3
	2|tx-secret was installed before|omertactl key add o0 peer 1 local-id 1 remote-id 2 rx-key-file s3 tx-key-file s2
	0||omertactl peer del o0 peer 2
	0||omertactl peer add o0 id 2 name two allowed-ips 10.1.0.0/24
	2|rx-secret is a tx-secret|omertactl key add o0 peer 2 local-id 6 remote-id 5 rx-key-file s6 tx-key-file s5
	0||omertactl link del o1
	0||omertactl link add o1 listen-port 51901
	0||omertactl peer add o1 id 1
	0||omertactl key add o1 peer 1 local-id 1 remote-id 2 rx-key-file s7 tx-key-file s8
	0||omertactl link del o1
	0||omertactl link add o1 listen-port 51901
	0||omertactl peer add o1 id 1
	2|rx-secret was installed before|omertactl key add o1 peer 1 local-id 1 remote-id 2 rx-key-file s7 tx-key-file s9
	2|tx-secret was installed before|omertactl key add o1 peer 1 local-id 1 remote-id 2 rx-key-file s9 tx-key-file s8
	# Eight keys
	0||eight_keys
	2|the peer has 8 keys|omertactl key add o1 peer 1 local-id 9 remote-id 9 rx-key-file s28 tx-key-file s29
	2|ENOSPC 8 keys|raw key-new ifname=str:o1 peer-id=u32:1 local-id=u32:9 remote-id=u32:9 rx-secret=file:s28 tx-secret=file:s29
	0||omertactl key del o1 peer 1 local-id 3
	0||omertactl key add o1 peer 1 local-id 9 remote-id 9 rx-key-file s28 tx-key-file s29
	# Without the capability
	0|o0|nobody omertactl link show o0
	0|o1|nobody omertactl link show
	0||nobody nl.py device-get ifname=str:o0
	2|Operation not permitted|nobody omertactl peer show o0
	2|Operation not permitted|nobody omertactl key show o0
	2|Operation not permitted|nobody omertactl link set o0 fwmark 1
	2|Operation not permitted|nobody omertactl link del o0
	2|Operation not permitted|nobody omertactl link add o9
	2|EPERM |nobody nl.py peer-get ifname=str:o0 id=u32:1
	2|EPERM |nobody nl.py peer-set ifname=str:o0 id=u32:1 keepalive=u16:1
	2|EPERM |nobody nl.py allowed-ip-get ifname=str:o0
	2|EPERM |nobody nl.py key-get ifname=str:o0
	2|EPERM |nobody nl.py key-del ifname=str:o0 peer-id=u32:1 local-id=u32:5
	2|EPERM |nobody nl.py events
	0||nl.py events
	2|Operation not permitted|unshare -Ur omertactl peer show o0
	2|Operation not permitted|unshare -Ur omertactl key del o0 peer 1 local-id 5
	2|no such device|unshare -Urn omertactl peer show o0
	2|no such device|unshare -n omertactl link del o0
	END
	if [[ -w $CPU1 ]]; then
		cat <<-'END'
			0||cpu1 0
			2|cpus must be a list|omertactl link set o0 cpus 1
			0||cpu1 1
		END
	else
		echo 'SKIP|no CPU can be taken offline|omertactl link set o0 cpus 1'
	fi
	if [[ $(uname -m) != x86_64 ]]; then
		echo 'SKIP|all CPUs have its engines|omertactl link set o0 engine mb-avx512ifma'
	elif grep -qw avx512ifma /proc/cpuinfo; then
		echo 'SKIP|the CPU has all engines|omertactl link set o0 engine mb-avx512ifma'
	else
		echo '2|does not support that engine|omertactl link set o0 fwmark 5 engine mb-avx512ifma'
	fi
}

# Like nl.py, but without starting it anew.
raw() {
	local status text

	echo "$*" >&7
	read -r -t "$WAIT" -u 8 status text || return 99
	echo "$text "
	return "$status"
}

nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}

eight_keys() {
	local i

	for i in 1 2 3 4 5 6 7 8; do
		omertactl key add o1 peer 1 local-id "$i" remote-id "$i" \
			rx-key-file "s$((i * 2 + 10))" tx-key-file "s$((i * 2 + 11))" || return
	done
}

key_memory() {
	echo "$1" >/sys/module/omerta/parameters/key_memory
}

cpu1() {
	echo "$1" >"$CPU1"
}

# Everything that a request could change, without counters and ages.
state() {
	local file

	omertactl dump | awk -F'\t' '
		$1 == "device" { NF = 13 }
		$1 == "peer" { NF = 7 }
		$1 == "key" { $9 = ""; NF = 16 }
		{ print }'
	echo /sys/class/net/*
	for file in /sys/class/net/{o0,o1}/{mtu,flags}; do
		[[ ! -e $file ]] || echo "$(<"$file")"
	done
}

make_files() {
	local i

	umask 077
	for i in {1..31}; do
		head -c 32 /dev/urandom | base64 >"s$i"
	done
	head -c 32 /dev/zero | base64 >zero
	head -c 31 /dev/urandom | base64 >short
	head -c 33 /dev/urandom | base64 >long
	echo 'no base64 at all, is it?' >noise
	umask 022
	write_fill
	chmod 755 .
	# The user nobody may not run it where it is.
	cp "$HERE/nl.py" .
}

# A user namespace uses up its part of the memory: 4096 keys, that is, installed by hand.
# Keys of handshakes are forgotten.
write_fill() {
	cat >fill.sh <<-'END'
		omertactl link add u0
		omertactl peer add u0 id 1
		fill() {
			for ((i = 0; i < $1; i++)); do
				echo key-new ifname=str:u0 peer-id=u32:1 local-id=u32:1 remote-id=u32:1 \
					rx-secret=random:32 tx-secret=random:32 "${@:2}"
				echo key-del ifname=str:u0 peer-id=u32:1 local-id=u32:1
			done | nl.py | grep -v '^0 ' | head -n 1
		}
		used() {
			omertactl -j link show u0 | jq -r '.[0]."used-secrets"'
		}
		for i in 100,0 4096,4096; do
			fill "${i%,*}" $([[ $i != 100,0 ]] || echo handshake=hex:) | grep . && exit 99
			[[ $(used) == "${i#*,}" ]] || { used; exit 98; }
		done
		out=$(fill 1)
		echo "${out#2 }"
		[[ -z $out ]] || exit 2
	END
}

# Another program's socket at port 51999.
take_port() {
	local end=$((SECONDS + WAIT))

	"$HERE/traffic.py" hold-port :: 51999 &
	holder=$!
	until ss -Hlun 'sport = :51999' | grep -q .; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

n=0 failed=0
# report STATUS NAME [TEXT]
report() {
	n=$((n + 1))
	if [[ $1 -eq 0 ]]; then
		echo "ok $n - $2"
	else
		[[ -z ${3:-} ]] || printf '# %s\n' "${3//$'\n'/$'\n'# }"
		echo "not ok $n - $2"
		failed=1
	fi
}

# row STATUS MESSAGE COMMAND...
row() {
	local status=$1 message=$2 after out rc
	local errno=${message%% *}

	shift 2
	out=$("$@" 2>&1)
	rc=$?
	after=$(state)
	if [[ $rc -ne $status ]]; then
		report 1 "$*" "status $rc, not $status: $out"
	elif [[ $message == E[A-Z]*\ * &&
		($out != "$errno "* || $out != *"${message#* }"*) || $out != *"${message#E[A-Z]* }"* ]]; then
		report 1 "$*" "$out"$'\n'"lacks: $message"
	elif [[ $status -ne 0 && $after != "$before" ]]; then
		report 1 "$*" "changed: $(diff <(echo "$before") <(echo "$after"))"
	else
		report 0 "$*"
	fi
	before=$after
}

rows() {
	local status message command words

	before=$(state)
	while IFS='|' read -r status message command; do
		[[ $status != '#'* ]] || continue
		if [[ $status == SKIP ]]; then
			report 0 "$command # SKIP $message"
			continue
		fi
		read -ra words <<<"$command"
		row "$status" "$message" "${words[@]}" </dev/null
	done < <(table)
}

# More prefixes than a request or a datagram of a dump can hold.
many_prefixes() {
	awk -v n="$PREFIXES" 'BEGIN { for (i = 0; i < n; i++)
		if (i % 4) printf "11.%d.%d.%d/32\n", i / 65536, i / 256 % 256, i % 256
		else printf "fd01:%x::/64\n", i / 4 + 1 }' >many
	sort many >want
	out=$(omertactl peer set o0 peer 2 allowed-ips @many 2>&1) &&
		omertactl dump o0 | awk -F'\t' '$1 == "allowed-ip" && $3 == 2 { print $4 }' |
		sort >got
	report $? "$PREFIXES prefixes set" "$out"
	cmp -s want got
	report $? "$PREFIXES prefixes dumped" "$(diff want got | head -n 5)"
	interrupted_dumps
	out=$(omertactl peer set o0 peer 2 allowed-ips 10.1.0.0/24 2>&1)
	report $? "$PREFIXES prefixes replaced by one" "$out"
	[[ $(state) == "$before" ]]
	report $? "the state is as it was"
}

# A dump that takes many datagrams says so if what it shows has changed.
interrupted_dumps() {
	local dump=(nl.py interrupt allowed-ip-get ifname=str:o0 -- peer-set)

	out=$("${dump[@]}" ifname=str:o1 id=u32:1 keepalive=u16:0 2>&1)
	[[ $out == whole\ in\ [0-9]*[0-9]\ datagrams ]]
	report $? "a dump is whole though another device changes" "$out"
	out=$("${dump[@]}" ifname=str:o0 id=u32:2 allowed-ips=nest:addr=hex:0a010000,prefix-len=u8:24 2>&1)
	[[ $out == interrupted ]]
	report $? "a dump amid which a prefix changes is marked" "$out"
	omertactl peer set o0 peer 2 allowed-ips 10.1.0.0/24
	# The last of all
	grep : many >many6
	omertactl peer add o0 id 3 allowed-ips @many6
	out=$(nl.py interrupt allowed-ip-get ifname=str:o0 -- peer-del ifname=str:o0 id=u32:3 2>&1)
	[[ $out == interrupted ]]
	report $? "a dump whose rest is removed is marked" "$out"
}

cd "$DIR" || exit 1
holder=''
modprobe omerta || exit 1
trap 'kill $holder; ip link del o0; ip link del o1; ip link del v0; cd /; rm -rf "$DIR"' EXIT 2>/dev/null
make_files
take_port
coproc NL { exec nl.py; }
echo 'KTAP version 1'
echo "1..$(($(table | grep -vc '^#') + 7))"
exec 7>&"${NL[1]}" 8<&"${NL[0]}"
rows
many_prefixes
exit "$failed"
