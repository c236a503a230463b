package parse

import (
	"maps"
	"slices"
	"strings"
)

// serverGlobals lists what Redis 7.0 and Valkey 8.0 give to a script (read from _G on both), library members included.
// The tables of servers have what one lacks.
var serverGlobals = globalSet(`_G _VERSION assert collectgarbage error gcinfo getmetatable ipairs
	load loadstring next pairs pcall rawequal rawget rawset select setmetatable tonumber tostring
	type unpack xpcall KEYS ARGV
	bit: arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex
	cjson: _NAME _VERSION decode decode_invalid_numbers decode_max_depth encode
		encode_invalid_numbers encode_keep_buffer encode_max_depth encode_number_precision
		encode_sparse_array new null
	cmsgpack: _COPYRIGHT _DESCRIPTION _NAME _VERSION pack unpack unpack_limit unpack_one
	coroutine: create resume running status wrap yield
	math: abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max
		min mod modf pi pow rad random randomseed sin sinh sqrt tan tanh
	os: clock
	redis: LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM REPL_ALL
		REPL_AOF REPL_NONE REPL_REPLICA REPL_SLAVE acl_check_cmd breakpoint call debug error_reply
		log pcall replicate_commands set_repl setresp sha1hex status_reply
	string: byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper
	struct: pack size unpack
	table: concat foreach foreachi getn insert maxn remove setn sort`)

// globalSet reads "name name lib: member member" into names and their members.
func globalSet(text string) map[string][]string {
	set := map[string][]string{}
	lib := ""
	for _, word := range strings.Fields(text) {
		if name, ok := strings.CutSuffix(word, ":"); ok {
			lib = name
			set[lib] = []string{}
		} else if lib != "" {
			set[lib] = append(set[lib], word)
		} else {
			set[word] = nil
		}
	}
	return set
}

// KnownGlobal reports whether the servers give scripts a global of this name.
func KnownGlobal(name string) bool {
	_, ok := serverGlobals[name]
	return ok
}

// GlobalNames returns the names of all globals that the servers give.
func GlobalNames() []string { return slices.Collect(maps.Keys(serverGlobals)) }

// Members returns the members of a global library, nil if name is none.
func Members(name string) []string { return serverGlobals[name] }
