package embedded

import (
	"bufio"
	"bytes"
	"errors"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"github.com/hasp-go/hasp/backend"
)

// interpreter runs one script after another. No script leaves anything to the next: see pristine.
type interpreter struct {
	server *server.Server
	inside *inside
	lua    *lua.LState
	global *lua.LTable

	// What it was before the first script.
	tables     []tableState
	metatables []typeMetatable

	// Of the script that runs.
	program  *program
	readOnly bool
	state    any // of the connections of its commands
	failed   bool

	// Of the command that runs: its reply.
	out    bytes.Buffer
	writer *bufio.Writer
	reader *bufio.Reader
}

// newInterpreter returns an interpreter for scripts that run while srv's miniredis is locked.
func newInterpreter(srv *server.Server, inside *inside) *interpreter {
	in := &interpreter{server: srv, inside: inside, lua: lua.NewState(lua.Options{SkipOpenLibs: true})}
	in.writer, in.reader = bufio.NewWriter(&in.out), bufio.NewReader(&in.out)
	in.global = in.lua.G.Global
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenCoroutine, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.start(in.lua.NewFunction(open))
	}
	in.openRedis()
	in.openCJSON()
	in.openMessagePack()
	in.openBinary()
	in.adapt()
	// No server gives them to scripts; some keep modules from one script to the next.
	for _, name := range []string{
		"require", "module", "dofile", "loadfile", "newproxy", "_printregs", "_GOPHER_LUA_VERSION",
	} {
		in.global.RawSetString(name, lua.LNil)
	}
	in.start(in.lua.NewFunctionFromProto(compile(guards).proto))
	in.remember()
	return in
}

// start runs a function before the first script.
func (in *interpreter) start(function *lua.LFunction) {
	in.lua.Push(function)
	in.lua.Call(0, 0)
}

// library makes a global table of functions.
func (in *interpreter) library(name string, functions map[string]lua.LGFunction) *lua.LTable {
	table := in.lua.SetFuncs(in.lua.NewTable(), functions)
	in.global.RawSetString(name, table)
	return table
}

// guards makes an error of globals that do not exist. It is in Lua, so a traceback has the same
// form as miniredis's: [backend.ParseServerError] finds the script's line there.
const guards = `
local error, tostring = error, tostring
setmetatable(_G, {
	__index = function(_, name)
		error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
	end,
	__newindex = function(_, name)
		error("Script attempted to create global variable '" .. tostring(name) .. "'", 2)
	end,
})`

// run runs a program from begin to end. After it, pristine must be called.
func (in *interpreter) run(p *program, keys, args []string, readOnly bool) (backend.Reply, error) {
	in.program, in.readOnly, in.state = p, readOnly, in.inside.newState()
	in.failed = true
	in.global.RawSetString("KEYS", in.list(keys))
	in.global.RawSetString("ARGV", in.list(args))
	in.lua.Push(in.lua.NewFunctionFromProto(p.proto))
	if err := in.lua.PCall(0, lua.MultRet, nil); err != nil {
		if text := raised(err); text != "" {
			return backend.Reply{}, backend.ParseServerError(oneLine(text))
		}
		// This is how miniredis words all that fails while a script runs.
		return backend.Reply{}, backend.ParseServerError(
			oneLine("ERR Error compiling script (new function): " + err.Error()))
	}
	in.failed = false
	value := in.lua.Get(1)
	in.lua.SetTop(0)
	return replyOf(value)
}

// raised returns the text of an error reply that the script raised as a table; "": it raised something else.
func raised(err error) string {
	var failure *lua.ApiError
	if !errors.As(err, &failure) {
		return ""
	}
	table, ok := failure.Object.(*lua.LTable)
	if !ok {
		return ""
	}
	text, _ := table.RawGetString("err").(lua.LString)
	return string(text)
}

// list returns the table that is KEYS or ARGV.
func (in *interpreter) list(texts []string) *lua.LTable {
	table := in.lua.CreateTable(len(texts), 0)
	for _, text := range texts {
		table.Append(lua.LString(text))
	}
	return table
}
