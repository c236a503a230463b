// Luagen finds mistakes in Lua scripts for Redis and Valkey, and makes typed Go functions from annotated ones.
//
// Usage:
//
//	luagen [-check] [-fuzz] [-json] [-strict] [-o dir] [-p package] [-I dir] [-commands file] [path ...]
//	luagen vet [-json | -sarif] [-strict] [-I dir] [-commands file] [path ...]
//	luagen import [-json] [-strict] [-I dir] [-commands file] [path ...]
//	luagen doc [-check] [-o file] [-title text] [-strict] [-I dir] [-commands file] [path ...]
//	luagen commands [-url url]
//	luagen help [command]
//	luagen version
//
// Each path is a .lua file or a folder of them (without vet: its own files, not those of folders inside); the
// default is the current folder. With vet, - is standard input. Luagen writes x.lua.go next to each x.lua, or into the folder of -o:
// the text that the server gets, its SHA-1, and a function with the parameters and results that the
// annotations at the top of x.lua declare. A server's user_script:12 is line 12 of x.lua. If a script
// has a fault, luagen prints all faults of the run as file:line:col: message [rule], and writes nothing.
//
// A file x.lua.go that luagen did not write stays, and is a finding.
//
// With -check luagen writes nothing, and prints a diff of the files that are stale, missing or left
// over. Use it in CI. Without it luagen names what is left over: another run may own it.
//
// With -fuzz luagen also writes x_fuzz_test.go: a fuzz target that calls the function on the embedded server, with keys and
// arguments as declared. It fails if the script does, or if the reply is not as declared. It cannot know that a text has a
// form, or that a list is twice as long as another: write a call of hasptest.FuzzScript yourself then.
//
// With vet luagen only checks: it writes nothing, needs no module and no Go files, and does not check
// the names of Go files. It goes into the folders below a folder, dir or dir/..., but for vendor, node_modules, testdata
// and those whose name begins with a dot or an underscore. A script without any annotation above its code is checked
// as it is, with KEYS and ARGV: their elements are texts. Annotations of the Lua language server, such as ---@param, do
// not count. Vet then asks for no declaration, takes each command that any server has, and reports at most one key that
// does not come from KEYS.
//
// Vet also reads Go files: the texts that NewScript, NewLuaScript, Eval, ScriptLoad or Do("EVAL") get, if they are literals,
// constants or variables of the package without another value, their concatenations, or embedded files. Findings are at
// the place in the Go file. Vet names what it has not seen: scripts that are made at run time, libraries for FUNCTION
// LOAD, Lua files that call no command, files that it cannot read.
//
// With import luagen writes an annotated draft of each script without annotations: x_typed.lua next to x.lua, and for a
// script in Go, a file named like its constant or variable next to the Go file. Names are those of "local x = KEYS[1]", or
// what comments say of KEYS[1]; kinds and types are what commands show. What is not certain has a TODO. Import overwrites
// no file, and prints what vet finds in the drafts.
//
// With doc it writes a reference of the scripts in Markdown: their keys,
// arguments, results and errors, and whether a script may run again.
//
// With -strict luagen also finds faults that only users see who may not call every command.
//
// With -json, also of import, the findings are one line on standard output. Later versions may add fields, but do not
// change these. Lines and columns count from 1, columns in bytes. With -check each file that is not
// current is a finding, too, of rule generated. The field notes has remarks, the field error is there
// if the run ended early.
//
//	{"findings":[{"file":"x.lua","line":1,"column":9,"rule":"unused","message":"..."}],"error":"..."}
//
// With -sarif vet prints SARIF 2.1.0 instead. Without either flag all findings are on standard error.
//
// The exit code is 0 without findings, 1 with findings or differences, 2 for wrong usage.
//
// # Annotations
//
// Annotations are comments above the first line of code, and may end with a description. Text before
// them becomes the comment of the Go function.
//
//	---@key lock hash                   a key: string, list, set, zset, hash, stream or any
//	---@key bucket hash level: int, at: unixmilli?  the fields of a hash, with their types
//	---@key locks hash...               a list of keys, the last of the keys
//	---@key to list... per from         a list of keys as long as another
//	---@key note string?                a key that may be absent, the last; nil in Lua, a *string in Go
//	---@key side string prefix          all keys that begin with this text, side .. ':' .. n; it must have a hash tag
//	---@arg lease milliseconds          an argument, of a type below
//	---@arg mode read|write             a text that must be one of these
//	---@arg ids string...               a list of arguments; lists come last
//	---@arg owners string... per locks  a list as long as another
//	---@command publish publish|spublish  a command that the caller chooses: redis.call(publish, ...)
//	---@channel released                a channel; with the word prefix, all channels that begin with this text
//	---@return int? token               a result; several results become a struct; int[] is a list
//	---@return nil                      nil or false instead of several results; in Go the struct and a bool
//	---@error TOOMANY text              an error reply's first word; it matches backend.ScriptError("TOOMANY")
//	---@readonly                        the script writes nothing
//	---@flag allow-oom                 a flag that the server gets: no-writes, allow-oom, allow-cross-slot-keys.
//	                                   With one, the server applies the rules for scripts with flags
//	---@retry safe                      the script may run twice if its reply was lost; the default is never
//	---@failfast                        a call that the server or the network refuses fails at once
//	---@include text.lua                the local functions of a file with the annotation ---@library,
//	                                    which is in the same folder or in one of -I
//	---@since redis 7.0, valkey 8.0     the servers of the script; embedded is one
//	---@allow RULE reason               accepts a finding: at the end of the line, or on the line above
//
// In Lua each declared name is a local variable. Keys and arguments are texts: compare them with texts,
// or use tonumber. A bool is true or false. An argument of a type with a question mark is nil if it is
// absent. In Go the types are
//
//	string, bytes    string, []byte
//	int, int(1..9)   int64. Go checks the bounds of arguments and results. You may leave out either bound
//	float            float64, not NaN
//	bool             bool. A result may be 1, 0 or nil
//	milliseconds,    time.Duration, cut to whole units; a result that is longer than the longest becomes
//	seconds,         the longest. An argument of less than one unit is refused, because EXPIRE key 0 deletes
//	seconds(..60)    the key, unless the bounds have a lower minimum: milliseconds(0..), milliseconds(-1..)
//	unixmilli        time.Time, to the millisecond
//	T?               *T as an argument, T and a bool as a result. There is no bool?, and no argument of
//	                 string? or bytes?, as an absent one is sent as an empty text
//	scores           as a result the reply of ZRANGE with WITHSCORES: []scriptcall.Scored, members with their scores
//	bucket           as a result HGETALL's reply: a struct of the fields of the key bucket. A field without a question
//	                 mark must be there. bucket? is false if there is no hash. The reply of HMGET of these fields, in
//	                 this order, is bucket(level,at)
//	T?[]             []*T as a result, such as HMGET's reply, with nil for each element that is false in Lua
//
// A refused argument matches backend.ErrArgument, and nothing was sent. The Go function takes the keys,
// then the arguments, in the order of their declaration. Seven or more become a struct. Function scriptcall.Batch
// sends the scripts of many calls in one batch.
//
// # Findings
//
// A line may allow these rules, but not syntax, limit, header and name.
//
//	unused       a declared or local name that is never read
//	undeclared   a name that neither the script nor the server defines
//	global       an assignment to a global name
//	assign       an assignment to a declared name
//	index        KEYS or ARGV themselves
//	unreachable  code that never runs
//	optional     an optional argument that is compared with an empty text
//	command      a command that a server does not know or allow in scripts; words that it does not take; an
//	             option by which a call does nothing, or NX left out; a computed name; unpack of a reply without a bound,
//	             or of one that may be empty; a range from its upper end; a member that is its score
//	readonly     a write in a read-only script; a script that could be read-only
//	key, channel a key or channel that may not be declared; luagen follows local names, functions and
//	             tables, and says where it cannot; a key that is each argument in turn; any key of a script without KEYS;
//	             an element of KEYS that is a number or a field; a command that reaches keys which no script
//	             declares: KEYS, SCAN. A key that an argument or a reply is made of is a note
//	field        a field that a hash is declared without
//	kind         a command for another kind of key than is declared, or than another command takes the key for
//	precision    arithmetic on an int that may pass 2^53, where a Lua number is no longer exact; the sum with such an int, returned as an int; a number of more than 14
//	             digits that becomes a text, or JSON; an id that becomes a number; a fraction that %d cuts
//	time         seconds and microseconds of TIME joined as text: the leading zeros are missing; seconds in the place of milliseconds. Types of arguments, replies, names such
//	             as ttl_ms, and comments such as "ARGV[2]: ttl in milliseconds" show units
//	compare      a comparison that fails or is never true: a text with a number, texts by < or >, a nil
//	             reply with nil, which is false in Lua; a number as a condition, which is true even if it is 0; a
//	             member used as a score; a list, which is true if it is empty; an argument that is taken for a pattern
//	nil          an element that is always nil: t[0], a list by name, such as the reply of HGETALL; a reply or
//	             a field of JSON that may be missing, an absent argument, or a name without a value, where nil
//	             fails; a table or a bool as a command's word, in a text or in arithmetic; an element beyond
//	             the end of a list; a loop that goes by one through a reply of pairs
//	json         a list that may be empty, of which cjson.encode makes {}. What cjson.decode has made and the script
//	             encodes again is a note, and no finding
//	result       a path without a result, or with a result of another kind; a number with a fraction, which is
//	             cut, but for a quotient as an int; nil inside a table, which ends the table; a reply with missing elements as T[];
//	             an error inside a table; names in a table that is returned; an error code without a message; a range or an error that goes nowhere
//	expire       a key that gets an expiry on one way through the script, and none on another; a key that never gets
//	             one, though all others that the script writes do; an EXPIRE of the wrong key; an expiry with a fraction, or of 0.
//	             A SET that may take an expiry away is a note
//	refused      with -strict only: an EXPIRE of a key that was just created, without an EXPIRE before the
//	             write. If a user may not call EXPIRE, the script fails after the write, and the key never
//	             expires. Call it before, such as redis.call('pexpire', key, interval, 'NX'), which
//	             changes no expiry
//
// The last eight take conditions and early returns into account. Where names and comments are all that shows what is meant,
// such as a unit, a finding may be wrong.
//
// # Servers
//
// Luagen has tables of the commands of Redis 6.2, 7.0, 7.4 and 8.2, of Valkey 8.0, 9.0 and 9.1, and of the
// embedded server, for which only scripts are checked whose ---@since names it. A script without
// ---@since is for Redis 7.0 and Valkey 8.0. Another version of ---@since means the oldest of these that is not
// older, or the newest if all are older: then the run says so once. Redis 6.2 does not say which words its commands take.
//
// For another server, or for its modules, print its table once, and give it to every run. A URL with a password comes
// from the variable HASP_URL.
//
//	luagen commands -url rediss://user@host:6379 > commands.txt
//	luagen -commands commands.txt .
//
// Such tables take the place of luagen's, and scripts without ---@since are only for their servers.
//
// To remake the committed tables, print those of servers into internal/check/commands. Then run
// "go test -run CommandTable -update" in backend/embedded, which writes the embedded server's.
package main
