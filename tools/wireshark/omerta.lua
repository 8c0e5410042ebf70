-- SPDX-License-Identifier: GPL-2.0
-- Dissector of omerta for Wireshark and tshark: data records with their chunks, and the messages of
-- handshakes. Nothing is decrypted. Documentation/protocol.rst and keying.rst define the formats.
--
-- Copy it to the personal folder of Lua plugins (Help, About, Folders), or run
-- "tshark -X lua_script:omerta.lua -r FILE". Datagrams are found by their first bytes, on any port.

local omerta = Proto("omerta", "Omerta tunnel")

local HEADER, TAG, CHUNK_MIN, CHUNKS_MAX = 16, 16, 512, 128
local MAGIC = "OMR"
-- No record may have this counter, 2^56 - 2^16, or a greater one.
local COUNTER_LIMIT = UInt64.new(0xffff0000, 0x00ffffff)

local types = { [0x03] = "Mesh", [0x20] = "Initiation", [0x21] = "Response", [0x22] = "Cookie",
		[0x23] = "Time" }
-- Whole numbers in all versions of Lua that Wireshark is built with, 5.2 to 5.4
local function chunk_size(class)
	local size = CHUNK_MIN

	for _ = 1, class do
		size = size * 2
	end
	return size
end

for class = 0, 7 do
	types[0x10 + class] = string.format("Data, chunks of %d", chunk_size(class))
end
for type = 0x24, 0x2f do
	types[type] = "Control"
end
local modes = { [0] = "X25519", [1] = "X25519 and ML-KEM-768", [2] = "X25519, channels",
		[3] = "X25519 and ML-KEM-768, channels" }
-- Lengths of messages by type and mode; a time message has no channels
local lengths = { [0x20] = { [0] = 152, [1] = 1336, [2] = 153, [3] = 1337 },
		  [0x21] = { [0] = 92, [1] = 1180, [2] = 93, [3] = 1181 },
		  [0x22] = { [0] = 64 }, [0x23] = { [0] = 100, [1] = 1188 } }

local f = {
	magic = ProtoField.string("omerta.magic", "Magic"),
	type = ProtoField.uint8("omerta.type", "Type", base.HEX, types),
	key = ProtoField.uint32("omerta.key", "Key id", base.HEX),
	counter = ProtoField.uint64("omerta.counter", "Counter"),
	first = ProtoField.framenum("omerta.first", "First seen in frame"),
	chunks = ProtoField.uint32("omerta.chunks", "Chunks"),
	plain = ProtoField.uint32("omerta.plain", "Bytes of plaintext"),
	chunk = ProtoField.none("omerta.chunk", "Chunk"),
	sealed = ProtoField.bytes("omerta.sealed", "Ciphertext"),
	tag = ProtoField.bytes("omerta.tag", "Tag"),
	mode = ProtoField.uint8("omerta.mode", "Mode", base.HEX, modes),
	zeros = ProtoField.bytes("omerta.zeros", "Zeros"),
	initiator = ProtoField.uint32("omerta.initiator", "Initiator's key id", base.HEX),
	cause = ProtoField.bytes("omerta.cause", "First bytes of the cause's mac1"),
	kem = ProtoField.bytes("omerta.ciphertext", "Ciphertext of ML-KEM-768"),
	noise = ProtoField.bytes("omerta.noise", "Noise message"),
	nonce = ProtoField.bytes("omerta.nonce", "Nonce"),
	cookie = ProtoField.bytes("omerta.cookie", "Sealed cookie"),
	mac1 = ProtoField.bytes("omerta.mac1", "mac1"),
	mac2 = ProtoField.bytes("omerta.mac2", "mac2"),
	data = ProtoField.bytes("omerta.data", "Data"),
}
omerta.fields = f

local e = {
	malformed = ProtoExpert.new("omerta.malformed", "Malformed", expert.group.MALFORMED,
				    expert.severity.ERROR),
	repeated = ProtoExpert.new("omerta.repeated", "Counter was sent before: repeated or copied",
				   expert.group.SEQUENCE, expert.severity.WARN),
	keepalive = ProtoExpert.new("omerta.keepalive", "Keepalive", expert.group.COMMENTS_GROUP,
				    expert.severity.NOTE),
	no_cookie = ProtoExpert.new("omerta.has_cookie", "Sent with a cookie: the receiver is busy",
				    expert.group.COMMENTS_GROUP, expert.severity.NOTE),
}
omerta.experts = e

-- Frame in which a record was first seen, by its receiver, key and counter
local seen = {}

function omerta.init()
	seen = {}
end

-- The number of chunks and the bytes of plaintext of a record; nothing if its length is wrong.
local function layout(length, chunk)
	local rest = length - HEADER
	local full, tail = math.floor(rest / (chunk + TAG)), rest % (chunk + TAG)

	if tail == 0 and full > 0 then
		return full, full * chunk
	elseif tail == TAG and full == 0 then
		return 1, 0
	elseif tail > TAG then
		return full + 1, full * chunk + tail - TAG
	end
end

-- What is wrong with a record, or nil.
local function fault(key, counter, class, n, plain)
	if not n then
		return "No record has this length"
	elseif n > CHUNKS_MAX then
		return "More than 128 chunks"
	elseif key == 0 then
		return "The key id is zero"
	elseif counter >= COUNTER_LIMIT then
		return "The counter is above the limit"
	elseif n == 1 and class > 0 and plain <= chunk_size(class - 1) then
		return "A smaller chunk size would do for its only chunk"
	end
end

local function dissect_record(tvb, pinfo, tree)
	local class = tvb(3, 1):uint() - 0x10
	local chunk = chunk_size(class)
	local key, counter = tvb(4, 4):le_uint(), tvb(8, 8):le_uint64()
	local n, plain = layout(tvb:reported_len(), chunk)
	local wrong = fault(key, counter, class, n, plain)
	local name = string.format("%s %d %x %s", pinfo.dst, pinfo.dst_port, key, counter)

	tree:add_le(f.key, tvb(4, 4))
	local item = tree:add_le(f.counter, tvb(8, 8))
	seen[name] = seen[name] or pinfo.number
	if seen[name] ~= pinfo.number then
		item:add_proto_expert_info(e.repeated)
		tree:add(f.first, seen[name]):set_generated()
	end
	if wrong then
		tree:add_proto_expert_info(e.malformed, wrong)
		if tvb:len() > HEADER then
			tree:add(f.data, tvb(HEADER))
		end
		return string.format("Malformed record, key 0x%x, counter %s", key, counter)
	end
	tree:add(f.chunks, n):set_generated()
	tree:add(f.plain, plain):set_generated()
	for i = 0, tvb:len() < tvb:reported_len() and -1 or n - 1 do
		local at = HEADER + i * (chunk + TAG)
		local length = math.min(chunk + TAG, tvb:len() - at)
		local sub = tree:add(f.chunk, tvb(at, length))

		sub:append_text(string.format(" %d, %d bytes", i, length - TAG))
		if length > TAG then
			sub:add(f.sealed, tvb(at, length - TAG))
		end
		sub:add(f.tag, tvb(at + length - TAG, TAG))
	end
	if plain == 0 then
		tree:add_proto_expert_info(e.keepalive)
		return string.format("Keepalive, key 0x%x, counter %s", key, counter)
	end
	return string.format("Record, key 0x%x, counter %s, %d chunk%s, %d bytes", key, counter, n,
			     n == 1 and "" or "s", plain)
end

local function dissect_handshake(tvb, pinfo, tree, type)
	local length, text = tvb:reported_len(), types[type]
	local mode

	-- Only an initiation says its mode.
	for m, l in pairs(lengths[type]) do
		if l == length then
			mode = m
		end
	end
	if not mode then
		tree:add_proto_expert_info(e.malformed, "No message of this type has this length")
		if tvb:len() > 4 then
			tree:add(f.data, tvb(4))
		end
		return "Malformed " .. text:lower()
	end
	if tvb:len() < length then
		return type == 0x20 and string.format("%s, %s", text, modes[mode]) or text
	end
	if type == 0x22 then
		tree:add(f.cause, tvb(4, 4))
		tree:add(f.nonce, tvb(8, 24))
		tree:add(f.cookie, tvb(32))
		return text
	end
	local at = 8
	if type == 0x20 then
		tree:add(f.mode, tvb(4, 1))
		tree:add(f.zeros, tvb(5, 3))
		if tvb(4, 4):le_uint() ~= mode then
			tree:add_proto_expert_info(e.malformed, "Another mode has this length")
		end
		text = string.format("%s, %s", text, modes[mode])
	else
		tree:add_le(f.initiator, tvb(4, 4))
		text = string.format("%s to 0x%x", text, tvb(4, 4):le_uint())
		if mode % 2 == 1 then
			tree:add(f.kem, tvb(8, 1088))
			at = at + 1088
		end
	end
	tree:add(f.noise, tvb(at, length - 32 - at))
	tree:add(f.mac1, tvb(length - 32, 16))
	tree:add(f.mac2, tvb(length - 16))
	if tvb:raw(length - 16) ~= string.rep("\0", 16) then
		tree:add_proto_expert_info(e.no_cookie)
	end
	return text
end

-- Dissect one datagram; return a text for the list of packets.
local function dissect_one(tvb, pinfo, root)
	local tree = root:add(omerta, tvb())
	local type = tvb(3, 1):uint()

	tree:add(f.magic, tvb(0, 3))
	tree:add(f.type, tvb(3, 1))
	tree:append_text(", " .. (types[type] or "unknown type"))
	if type >= 0x10 and type <= 0x17 then
		if tvb:len() < HEADER then
			if tvb:reported_len() < HEADER then
				tree:add_proto_expert_info(e.malformed, "Shorter than a header")
			end
			return "Malformed record"
		end
		return dissect_record(tvb, pinfo, tree)
	elseif lengths[type] then
		return dissect_handshake(tvb, pinfo, tree, type)
	end
	if tvb:len() > 4 then
		tree:add(f.data, tvb(4))
	end
	if not types[type] then
		tree:add_proto_expert_info(e.malformed, "Unknown type")
	end
	return types[type] or "Unknown type"
end

-- A sender's capture has the datagrams of a burst as one: return the length of the first, which
-- ends where a header of the same key has the next counter.
local function first_of(tvb)
	local type = tvb(3, 1):uint()

	if type < 0x10 or type > 0x17 or tvb:len() < 2 * HEADER then
		return tvb:len()
	end
	local next = (tvb(8, 8):le_uint64() + UInt64(1)):encode(true)
	local at = tvb:raw():find(tvb:raw(4, 4) .. next, HEADER + 1, true)

	while at do
		if tvb:raw(at - 5, 3) == MAGIC then
			return at - 5
		end
		at = tvb:raw():find(tvb:raw(4, 4) .. next, at + 1, true)
	end
	return tvb:len()
end

-- Not called as a member: Wireshark would then call what is left of the datagram data.
local function dissect(tvb, pinfo, root)
	local n, done = 0, 0
	local text

	if tvb:len() < 4 or tvb:raw(0, 3) ~= MAGIC then
		return 0
	end
	pinfo.cols.protocol = "omerta"
	while done < tvb:len() do
		local rest = done > 0 and tvb(done):tvb() or tvb
		local length = first_of(rest)
		-- The last one may be captured in part: then it is not cut again.
		local one = dissect_one(length < rest:len() and rest(0, length):tvb() or rest, pinfo,
					root)

		text = text or one
		n, done = n + 1, done + length
	end
	pinfo.cols.info = n == 1 and text or string.format("%d datagrams: %s, ...", n, text)
	return tvb:len()
end

omerta.dissector = dissect
omerta:register_heuristic("udp", function(tvb, pinfo, root)
	return dissect(tvb, pinfo, root) > 0
end)
