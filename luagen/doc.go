// Luagen turns annotated Redis scripts into typed Go functions.
//
// Usage:
//
//	luagen [-check] [-json] [-strict] [-o dir] [-p package] [-commands file] [path ...]
//	luagen vet [-json] [-strict] [-commands file] [path ...]
//	luagen doc [-check] [-o file] [-title text] [-strict] [-commands file] [path ...]
//	luagen commands [-addr host:port]
//
// Each path is a .lua file or a folder of them (its own files, not those of folders inside); the
// default is the current folder. Luagen writes x.lua.go next to each x.lua, or into the folder of -o:
// the text that the server gets, its SHA-1, and a function that takes and returns what the
// annotations at the top of x.lua declare. If any script has a fault, all faults of the run are
// printed as file:line:col: message [rule], and nothing is written.
//
// With -check nothing is written either: luagen prints how the files on disk differ from what it
// would write, files that are missing or left over included.
//
// With vet luagen only checks: it writes nothing, needs no module and no Go files, and leaves out what
// matters for the names of Go files. With doc it writes a reference of the scripts in Markdown: their
// keys, arguments, results and errors, and whether they may be run again.
//
// With -strict luagen also finds what is wrong only for users who may not call every command.
//
// With -json the findings are one line on standard output, of this shape, to which fields may be
// added; columns count bytes, from 1. With -check each file that is not current is a finding too, of
// rule generated; notes are there if the run has something to say once, error if it ended early.
//
//	{"findings":[{"file":"x.lua","line":1,"column":9,"rule":"unused","message":"..."}],"error":"..."}
//
// The exit code is 0 if all is well, 1 if there are findings or differences, 2 for wrong usage.
//
// # Annotations
//
// They stand in "---" comments above the first line of code, after the prose that becomes the
// function's doc comment. Most take a description at their end.
//
//	---@key lock hash            a key, of kind string, list, set, zset, hash, stream or any
//	---@key locks hash...        a list of keys; the last key
//	---@key side string prefix   keys that begin with it; it must hold a hash tag
//	---@arg lease milliseconds   an argument
//	---@arg ids string...        a list of arguments; lists come last
//	---@arg owners string... per locks   a list as long as another
//	---@command publish publish|spublish a command to call, chosen by the caller
//	---@channel released         a channel; with the word prefix, what begins with it
//	---@return int? token        a result; several make a struct; int[] is a list
//	---@error NOTOWNER           a code that an error reply may begin with: backend.ScriptError("NOTOWNER")
//	---@readonly                 the script writes nothing
//	---@retry safe               it may run again when its reply was lost; the default is never
//	---@include text.lua         the local functions of a file that says ---@library
//	---@since redis 7.0, valkey 8.0   the servers that it is meant for; embedded is one
//	---@allow RULE reason        lets a finding be: behind the line, or alone above it
//
// In Lua each declared name is a local variable. Keys and arguments are texts, as the server has
// them, but for a bool, which is true or false; an argument of a type with a question mark is nil if
// it is absent. In Go the types are
//
//	string, bytes    string, []byte
//	int, int(1..9)   int64; bounds, of which one may be left out, are checked before sending, and in
//	                 results
//	float            float64, not NaN
//	bool             bool; a result may be 1, 0 or nil
//	milliseconds     time.Duration, cut to whole milliseconds; seconds likewise; seconds(1..60) has
//	                 bounds. Refused is what is cut to 0 and is not 0, and what is negative without a
//	                 bound that admits it, such as milliseconds(-1..)
//	unixmilli        time.Time, cut to the millisecond
//
// and T? is *T as an argument, T and a bool as a result. An argument that is refused before sending matches
// backend.ErrArgument. Wrappers take the keys, then the arguments,
// in the order of declaration; from seven on in a struct.
//
// # Findings
//
// These rules may be allowed on a line; syntax, limit, header and name may not.
//
//	unused       a declared or local name that is never read
//	undeclared   a name that neither the script nor the server has
//	global       an assignment to a global
//	assign       an assignment to a declared name
//	index        KEYS or ARGV themselves
//	unreachable  code that never runs
//	optional     an absent argument compared with an empty text
//	command      a command that a server of the script does not know or does not allow in scripts,
//	             that has a wrong number of arguments, or that is made at run time
//	readonly     a write in a read-only script, or a script that could be one
//	key, channel what is not certainly declared, where a command takes a key or a channel; local names,
//	             functions and tables are followed
//	kind         a command for another kind of key
//	precision    arithmetic on an int that may pass 2^53, where a Lua number is no longer exact; the
//	             sum with one, returned as an int; a number of more than 14 digits made a text
//	time         the microseconds of TIME behind the seconds, without zeros before them
//	compare      a text with a number, texts by < or >, a nil reply with nil: it is false in Lua
//	result       a path without a result, or with one of another kind; a number with a fraction,
//	             which is cut; nil inside a table, which ends it; an error code without a message
//	pairs        the order of pairs in what is written or returned
//	expire       a call on another key, which may fail, between the write that creates a key and
//	             what gives it an expiry: if it does, the key never expires
//	refused      with -strict only: an EXPIRE of a key that was just created, without the same
//	             EXPIRE before: if a user may not call it, the key never expires
//
// The last seven report what is certain, with what conditions and early returns rule out.
//
// What servers know is in tables: of Redis 7.0, 7.4 and 8.2, of Valkey 8.0, 9.0 and 9.1, and of the
// embedded server, for which only scripts are checked whose ---@since names it. A version of ---@since
// means the oldest of these that is not older, or the newest where all are: then the run says so once.
// "luagen commands -addr host:port" prints the table of another server, with its modules; with -commands
// it takes the place of ours, and scripts without ---@since, which mean Redis 7.0 and Valkey 8.0
// otherwise, are then meant for the servers of such tables only.
//
// To remake the committed tables, print those of servers into internal/check/commands, then have the
// embedded server's written by "go test -run CommandTable -update" in backend/embedded.
package main
