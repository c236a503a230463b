package embedded

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"github.com/hasp-go/hasp/backend"
)

// valueOf returns what a script gets for a reply of a command, as ParseReply returns it. A status in
// an array raises an error: only the commands that miniredis pretends to know, COMMAND and its
// subcommands, reply so.
func valueOf(l *lua.LState, reply any) lua.LValue {
	switch r := reply.(type) {
	case int:
		return lua.LNumber(r)
	case string:
		return lua.LString(r)
	case server.Simple:
		return tableOf(l, "ok", string(r))
	case []any:
		table := l.CreateTable(len(r), 0)
		for i, item := range r {
			if _, isStatus := item.(server.Simple); isStatus {
				raise(l, "ERR a status in an array is not supported")
			}
			table.RawSetInt(i+1, valueOf(l, item))
		}
		return table
	}
	return lua.LFalse
}

func tableOf(l *lua.LState, name, text string) *lua.LTable {
	table := l.CreateTable(0, 1)
	table.RawSetString(name, lua.LString(text))
	return table
}

// replyOf returns the reply for what a script returned. The error is the reply if that is one.
func replyOf(value lua.LValue) (backend.Reply, error) {
	if table, ok := value.(*lua.LTable); ok {
		if text := table.RawGetString("err"); text != lua.LNil {
			return backend.Reply{}, backend.ParseServerError(oneLine(text.String()))
		}
	}
	return itemOf(value)
}

// itemOf is replyOf for what may stand in an array, where an error is no error reply: the script ran.
func itemOf(value lua.LValue) (backend.Reply, error) {
	switch v := value.(type) {
	case lua.LBool:
		if v {
			return backend.IntegerReply(1), nil
		}
	case lua.LNumber:
		return backend.IntegerReply(int64(v)), nil
	case lua.LString:
		return backend.StringReply(string(v)), nil
	case *lua.LTable:
		if text := v.RawGetString("err"); text != lua.LNil {
			return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrReply, errors.New(oneLine(text.String())))
		}
		if text := v.RawGetString("ok"); text != lua.LNil {
			return backend.StringReply(oneLine(text.String())), nil
		}
		return arrayOf(v)
	}
	return backend.Reply{}, nil
}

// arrayOf returns the items of a table up to its first nil.
func arrayOf(table *lua.LTable) (backend.Reply, error) {
	items := make([]backend.Reply, 0, table.Len())
	for i := 1; ; i++ {
		value := table.RawGetInt(i)
		if value == nil || value == lua.LNil {
			return backend.ArrayReply(items), nil
		}
		item, err := itemOf(value)
		if err != nil {
			return backend.Reply{}, err
		}
		items = append(items, item)
	}
}

// oneLine returns text with spaces for line ends and the like, which errors and statuses cannot hold.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
}
