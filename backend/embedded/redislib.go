package embedded

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// openRedis makes the libraries redis, which is also called server, and os.
func (in *interpreter) openRedis() {
	redis := in.library("redis", map[string]lua.LGFunction{
		"call":               in.call,
		"pcall":              in.pcall,
		"acl_check_cmd":      in.allowed,
		"error_reply":        errorReply,
		"status_reply":       statusReply,
		"sha1hex":            sha1hex,
		"log":                logMessage,
		"setresp":            setResp,
		"set_repl":           setRepl,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(level))
	}
	in.global.RawSetString("server", redis)
	began := time.Now()
	in.library("os", map[string]lua.LGFunction{"clock": func(l *lua.LState) int {
		l.Push(lua.LNumber(time.Since(began).Seconds()))
		return 1
	}})
}

// call is redis.call, where an error reply is raised as an error.
func (in *interpreter) call(l *lua.LState) int {
	value, err := in.command(l)
	if err != nil {
		text := err.Error()
		if unknownCommand(err) {
			text = "Unknown Redis command called from script script: " + in.program.sha + ", &c."
		}
		raise(l, text)
		return 0
	}
	l.Push(value)
	return 1
}

// pcall is redis.pcall, where an error reply is a table with the field err.
func (in *interpreter) pcall(l *lua.LState) int {
	value, err := in.command(l)
	if err != nil {
		text := err.Error()
		if unknownCommand(err) {
			text = "ERR Unknown Redis command called from script"
		}
		value = tableOf(l, "err", text)
	}
	l.Push(value)
	return 1
}

// allowed is redis.acl_check_cmd. There is one user, who may do everything.
func (in *interpreter) allowed(l *lua.LState) int {
	if !in.server.IsRegisteredCommand(in.words(l)[0]) {
		raise(l, "Invalid command passed to redis.acl_check_cmd()")
	}
	l.Push(lua.LTrue)
	return 1
}

// command runs the command that the arguments are. The error is the reply if that is one.
func (in *interpreter) command(l *lua.LState) (lua.LValue, error) {
	words := in.words(l)
	if in.readOnly && in.mayWrite(words[0]) {
		return nil, errors.New("Write commands are not allowed from read-only scripts")
	}
	in.out.Reset()
	in.writer.Reset(&in.out)
	in.reader.Reset(&in.out)
	peer := server.NewPeer(in.writer)
	peer.Ctx = in.state
	in.server.Dispatch(peer, words)
	peer.Flush()
	reply, err := server.ParseReply(in.reader)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), in.inside.sha, in.program.sha))
	}
	return valueOf(l, reply), nil
}

// mayWrite reports whether a read-only script must not call a command. miniredis does not mark TIME as read-only.
func (in *interpreter) mayWrite(command string) bool {
	return in.server.IsRegisteredCommand(command) && !in.server.IsReadOnlyCommand(command) &&
		!strings.EqualFold(command, "TIME")
}

func unknownCommand(err error) bool { return strings.Contains(err.Error(), "ERR unknown command") }

// words returns the arguments of a call, which must be strings or numbers.
func (in *interpreter) words(l *lua.LState) []string {
	words := make([]string, l.GetTop())
	if len(words) == 0 {
		raise(l, fmt.Sprintf(
			"Please specify at least one argument for this redis lib call script: %s, &c.", in.program.sha))
	}
	for i := range words {
		switch arg := l.Get(i + 1).(type) {
		case lua.LString:
			words[i] = string(arg)
		case lua.LNumber:
			words[i] = wordText(float64(arg))
		default:
			raise(l, fmt.Sprintf(
				"Lua redis lib command arguments must be strings or integers script: %s, &c.", in.program.sha))
		}
	}
	return words
}

// raise raises an error in the script, with its line. It does not return.
func raise(l *lua.LState, text string) { l.Error(lua.LString(text), 1) }

// oneArgument raises an error if there is not exactly one argument.
func oneArgument(l *lua.LState) {
	if l.GetTop() != 1 {
		raise(l, "wrong number of arguments")
	}
}

// errorReply is redis.error_reply. A text of one word gets the code ERR.
func errorReply(l *lua.LState) int {
	text, ok := onlyText(l)
	if text = strings.TrimPrefix(text, "-"); ok && !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	l.Push(tableOf(l, "err", text))
	return 1
}

func statusReply(l *lua.LState) int {
	text, ok := onlyText(l)
	l.Push(tableOf(l, map[bool]string{true: "ok", false: "err"}[ok], text))
	return 1
}

// onlyText returns the only argument, which must be a string; otherwise the text of the error reply that says so, and that
// no server raises.
func onlyText(l *lua.LState) (text string, ok bool) {
	if given, is := l.Get(1).(lua.LString); is && l.GetTop() == 1 {
		return string(given), true
	}
	return "ERR wrong number or type of arguments", false
}

func sha1hex(l *lua.LState) int {
	oneArgument(l)
	text, _ := textOfValue(l.Get(1))
	l.Push(lua.LString(sha1Hex(text)))
	return 1
}

// logMessage is redis.log. There is no log.
func logMessage(l *lua.LState) int {
	l.CheckInt(1)
	l.CheckString(2)
	return 0
}

// setResp is redis.setresp. Scripts get replies of version 2 in any case.
func setResp(l *lua.LState) int {
	if version := l.CheckInt(1); version != 2 && version != 3 {
		raise(l, "RESP version must be 2 or 3")
	}
	return 0
}

// setRepl is redis.set_repl. There are no replicas.
func setRepl(l *lua.LState) int {
	oneArgument(l)
	return 1
}
