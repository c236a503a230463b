package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// eval runs a script with one key and two arguments.
func eval(server *embedded.Server, source string) (backend.Reply, error) {
	return server.Do("EVAL", source, "1", "k", "first", "2")
}

// state is a script that returns all that it can reach from _G, and what it can do.
const state = `
local seen, list = {}, {}
local function visit(path, value)
	list[#list + 1] = path .. ' ' .. type(value)
	if type(value) == 'string' or type(value) == 'number' then
		list[#list] = list[#list] .. ' ' .. value
	end
	if type(value) ~= 'table' or seen[value] then return end
	seen[value] = true
	local meta = getmetatable(value)
	if meta then visit(path .. '#meta', meta) end
	for name, field in pairs(value) do visit(path .. '.' .. tostring(name), field) end
end
visit('_G', _G)
visit('string#meta', getmetatable(''))
list[#list + 1] = 'metatables ' .. tostring(getmetatable(1)) .. tostring(getmetatable(true)) ..
	tostring(getmetatable(pcall)) .. tostring(getmetatable(coroutine.create(pcall)))
list[#list + 1] = 'environments ' .. tostring(getfenv(0) == _G) .. tostring(getfenv(1) == _G) ..
	tostring(getfenv(getmetatable(_G).__index) == _G)
list[#list + 1] = 'works ' .. string.format('%d', 7) .. table.concat({1, 2}, '-') .. math.max(1, 2) ..
	cjson.encode({1}) .. ('x'):upper() .. redis.sha1hex('') .. tostring(coroutine.running())
table.sort(list)
return list`

// TestScriptsLeaveNothing runs scripts that change what they can, each before one that looks at all.
func TestScriptsLeaveNothing(t *testing.T) {
	t.Parallel()
	want := adaptertest.Must(eval(embedded.NewServer(), state))(t)
	server := embedded.NewServer()
	for _, source := range []string{
		"rawset(_G, 'left', 1)", "rawset(_G, 1, 1)", "rawset(_G, true, 1)", "_G[KEYS] = 1",
		"pcall = nil", "KEYS = 1 ARGV = nil", "KEYS[1] = 'x' ARGV[7] = 'x'", "redis = nil", "_G = nil",
		"redis.call = redis.pcall", "redis.left = 1", "redis.LOG_DEBUG = 7", "server.pcall = nil",
		"string.format = string.len", "string.left = 1", "string[1] = 1", "string[-1] = 1",
		"table.concat = nil", "table.left = {}", "math.max = math.min", "math.pi = 3", "os.clock = nil",
		"cjson.encode = nil", "coroutine.running = nil", "table.insert(table, 1)",
		"getmetatable('').__index = nil", "getmetatable('').__add = error", "setmetatable('', nil)",
		"setmetatable('', {__index = {upper = string.lower}})", "setmetatable(1, {})",
		"setmetatable(true, {})", "setmetatable(pcall, {})", "setmetatable(coroutine.create(pcall), {})",
		"setmetatable(_G, nil)", "setmetatable(_G, {})", "getmetatable(_G).__index = nil",
		"getmetatable(_G).__newindex = nil left = 1", "getmetatable(_G).left = 1",
		"setmetatable(redis, {__index = function() return 1 end})", "setmetatable(string, {})",
		"setfenv(0, {})", "setfenv(1, {}) x = 1", "setfenv(getmetatable(_G).__index, {})",
		"local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co)",
		"local co = coroutine.wrap(function() string.left = 1 error('x') end) co()",
		"string.left = 1 error('x')", "redis.call('select', 3)", "redis.setresp(3)", "left = 1",
		"pcall(error, 'x')", "xpcall(function() local x = nil + 1 end, function() return 1 end)",
	} {
		_, _ = eval(server, source)
		got, err := eval(server, state)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

// TestScriptsAgreeWithMiniredis compares replies and errors with those of miniredis's interpreters.
func TestScriptsAgreeWithMiniredis(t *testing.T) {
	t.Parallel()
	ours, theirs := embedded.NewServer(), embedded.NewPlainServer()
	for _, source := range []string{
		"", "return", "return 1, 2", "return {1, nil, 3}", "return {1, 2.9, 'x', true, false, {}}",
		"return 1e300", "return -0.5", "return {ok = 'a\\tb'}", "return {err = 'a\\r\\nb'}", "return {{ok = 'x'}}",
		"return {{err = 'x y'}}", "return redis.error_reply('x')", "return redis.error_reply('-X y z')",
		"return redis.sha1hex('x')",
		"return redis.sha1hex()", "return redis.log(1, 'x')", "redis.log('x')", "redis.setresp(4)",
		"return redis.setresp(3)", "return redis.set_repl(1)", "redis.set_repl()",
		"return redis.replicate_commands()", "return redis.LOG_WARNING", "return redis == server",
		"return redis.call()", "return redis.call({})", "return redis.pcall(nil)", "return redis.call('')",
		"return redis.call('NOSUCH', 1)", "return redis.pcall('nosuch')", "return redis.call('get')",
		"return redis.call('set', KEYS[1], 1.5)", "return redis.call('get', KEYS[1])",
		"return redis.call('set', KEYS[1], 1e20)", "return redis.call('getrange', KEYS[1], 0, -1)",
		"return redis.call('set', KEYS[1], 'x').ok", "return redis.call('lpush', KEYS[1], 1)",
		"return redis.pcall('lpush', KEYS[1], 1)", "return redis.pcall('lpush', KEYS[1], 1).err",
		"local ok, text = pcall(redis.call, 'lpush', KEYS[1], 1) return text",
		"\n\nlocal function f()\n redis.call('lpush', KEYS[1], 1)\nend\nf()",
		"redis.call('del', 'l') redis.call('rpush', 'l', 'a', 1, '') return redis.call('lrange', 'l', 0, -1)",
		"return redis.call('mget', 'l', KEYS[1], 'none')", "return redis.call('get', 'none')",
		"return type(redis.call('get', 'none'))", "return redis.call('eval', 'return 1', 0)",
		"return redis.pcall('multi')", "return redis.call('subscribe', 'x')", "return redis.call('script', 'flush')",
		"return redis.call('scan', 0)", "return redis.call('ping')", "return redis.call('publish', 'c', 'x')",
		"redis.call('select', 3) redis.call('set', 'three', 1) return redis.call('exists', 'three')",
		"return redis.call('exists', 'three')", "return KEYS[1] .. ARGV[1] .. ARGV[2] .. #KEYS .. #ARGV",
		"return nowhere", "nowhere = 1", "\nlocal function f()\n return nowhere\nend\nreturn f()",
		"\nlocal f = function()\n nowhere = 1\nend\nf()", "return _G.nowhere", "return _G[nil]",
		"error('x')", "error()", "\nerror('x', 2)", "error('x', 0)",
		"return nil + 1", "return #nil", "return ('x'):nosuch()", "local function f() return f() + 1 end return f()",
		"return string.rep('x', 3)", "return {string.gsub('hello', 'l', 'L')}", "return tostring(1e10)",
		"return cjson.encode({a = 1})", "return cjson.decode('{\"a\":[1,2]}').a",
		"return cjson.encode({1, 2, {3}})", "return tonumber('0x10')", "return unpack({1, 2})",
		"return select('#', 1, 2)", "return pcall(error, 'x')", "return loadstring('return 7')()",
		"return {pcall(coroutine.wrap(function() redis.call('lpush', KEYS[1], 1) end))}",
		"return coroutine.wrap(function() return redis.call('get', KEYS[1]) end)()",
		"coroutine.wrap(function()\n error('x') end)()", "return 1 1", "if", "return \"\\", "goto x",
	} {
		for _, command := range []string{"EVAL", "EVAL_RO"} {
			call := []string{command, source, "1", "k", "first", "2"}
			want, wantErr := theirs.Do(call...)
			got, err := ours.Do(call...)
			var refused *backend.ServerError
			if errors.As(wantErr, &refused) { // Ours has the words of a server.
				refused.Message = strings.Replace(refused.Message, "in read-only scripts", "from read-only scripts", 1)
			} else if strings.Contains(fmt.Sprint(got), "from read-only scripts") {
				want = got
			}
			require.Equal(t, wantErr, err, "%s %s", command, source)
			require.Equal(t, want, got, "%s %s", command, source)
		}
	}
}

// TestScriptCommandsAgreeWithMiniredis compares the commands that load, find and run scripts.
func TestScriptCommandsAgreeWithMiniredis(t *testing.T) {
	t.Parallel()
	const one, sha = "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	ours, theirs := embedded.NewServer(), embedded.NewPlainServer()
	for _, command := range []string{
		"EVAL", "EVAL|" + one, "EVAL|" + one + "|x", "EVAL|" + one + "|-1", "EVAL|" + one + "|1",
		"EVALSHA", "EVALSHA|" + sha, "EVALSHA|" + sha + "|0", "EVALSHA_RO|" + sha + "|x", "SCRIPT", "script|x",
		"SCRIPT|LOAD", "SCRIPT|LOAD|a|b", "SCRIPT|EXISTS", "SCRIPT|EXISTS|" + sha, "SCRIPT|FLUSH|x",
		"script|load|" + one, "SCRIPT|exists|" + sha + "|x", "evalsha|" + sha + "|0", "EVALSHA_RO|" + sha + "|0",
		"EVALSHA|" + sha + "|x", "EVALSHA|" + sha + "|-1", "EVALSHA|" + sha + "|1", "SCRIPT|FLUSH|x",
		"SCRIPT|EXISTS|" + sha, "SCRIPT|FLUSH|async", "SCRIPT|EXISTS|" + sha, "EVALSHA|" + sha + "|0",
		"EVAL|" + one + "|0", "EVALSHA|" + sha + "|0", "SCRIPT|FLUSH", "EVALSHA|" + sha + "|0",
		"EVAL|error('x')|0", "SCRIPT|LOAD|return 1 1", "SCRIPT|LOAD|", "EVAL||0",
	} {
		want, wantErr := theirs.Do(strings.Split(command, "|")...)
		got, err := ours.Do(strings.Split(command, "|")...)
		require.Equal(t, wantErr, err, command)
		require.Equal(t, want, got, command)
	}
}

// TestFlags: the first line of a script may have flags.
func TestFlags(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	require.NoError(t, adaptertest.ErrOf(eval(server, "#!lua flags=allow-oom\nreturn redis.call('set', KEYS[1], 1)")))
	reply := adaptertest.Must(eval(server, "#!lua flags=allow-oom,no-writes\nreturn redis.call('get', KEYS[1])"))(t)
	require.Equal(t, backend.StringReply("1"), reply)
	_, err := eval(server, "#!lua flags=no-writes\n\nreturn redis.call('del', KEYS[1])")
	require.ErrorContains(t, err, "Write commands are not allowed")
	var refused *backend.ServerError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 3, refused.Line)
}

// TestScriptsHaveNoModules: scripts lack what servers do not give them either.
func TestScriptsHaveNoModules(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"require", "module", "package", "debug", "io"} {
		_, err := eval(embedded.NewServer(), "return "+name)
		require.ErrorContains(t, err, "nonexistent global variable '"+name+"'")
	}
}

// TestOnlyScriptsStateIsTaken: what miniredis makes for other connections does not pass for a script's.
func TestOnlyScriptsStateIsTaken(t *testing.T) {
	t.Parallel()
	require.True(t, embedded.PassesForScript(true))
	require.False(t, embedded.PassesForScript(false))
}

// TestScriptsAreCheap fails if scripts do not share an interpreter: a new one takes more than 500
// allocations. It is not parallel, since it would count what others allocate.
func TestScriptsAreCheap(t *testing.T) {
	b := newBackend(t, embedded.NewServer())
	client := adaptertest.Must(primitives.New(b, nil))(t)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	lock := client.NewLock("orders:42", nil)
	allocations := testing.AllocsPerRun(100, func() {
		require.NoError(t, adaptertest.Must(lock.Lock(context.Background()))(t).Release(context.Background()))
	})
	require.Less(t, allocations, 300.0, "of a Lock and a Release; they were 183")
}

// TestSparseArraysInJSON: as on a server, an array longer than ten may have as many gaps as values, and no more.
func TestSparseArraysInJSON(t *testing.T) {
	t.Parallel()
	s := embedded.NewServer()
	for filled, fits := range map[[2]int]bool{ // how many values, and the place of the last
		{1, 10}: true, {1, 11}: false, {5, 11}: false, {6, 11}: true, {6, 12}: true, {6, 13}: false, {100, 200}: true, {100, 201}: false,
	} {
		_, err := s.Do("EVAL", "local t = {[tonumber(ARGV[2])] = 1} for i = 1, ARGV[1] - 1 do t[i] = 1 end return cjson.encode(t)", "0",
			fmt.Sprint(filled[0]), fmt.Sprint(filled[1]))
		require.Equal(t, fits, err == nil, "%v: %v", filled, err)
	}
}

// TestLuaIsAServers: scripts get what they get on a server, except where testdata/lua.txt says otherwise.
// The tests of conformance/servers compare that file with servers.
func TestLuaIsAServers(t *testing.T) {
	t.Parallel()
	show, lines, _ := strings.Cut(readFile(t, "testdata/lua.txt"), "\n\n")
	for line := range strings.Lines(lines) {
		code, result, found := strings.Cut(strings.TrimSpace(line), " --> ")
		if !found {
			continue // a title
		}
		result, here, differs := strings.Cut(result, " --- here ")
		if !strings.Contains(code, "return ") {
			code = "return " + code
		}
		reply, err := embedded.NewServer().Do("EVAL", show+"\nreturn shown(pcall(function() "+code+" end))",
			"1", "k", "3", "1e3", "abc", "0x10", "010")
		require.NoError(t, err, code)
		got, err := reply.Text()
		require.NoError(t, err, code)
		same := slices.Contains(strings.Split(result, " or "), got)
		if differs {
			require.Equal(t, here, got, code)
			require.False(t, same, "no longer differs: %s", code)
		} else {
			require.True(t, same, "%s: %s instead of %s", code, got, result)
		}
	}
}
