package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonNull is cjson.null. It belongs to no interpreter, and nothing can change it.
var jsonNull lua.LValue = &lua.LUserData{Metatable: lua.LNil}

// maxDepth is how deep tables may be.
const maxDepth = 1000

// openCJSON makes the library cjson, which differs from what other encoders do: see the functions.
func (in *interpreter) openCJSON() {
	in.library("cjson", map[string]lua.LGFunction{"encode": encodeJSON, "decode": decodeJSON}).
		RawSetString("null", jsonNull)
}

func encodeJSON(l *lua.LState) int {
	oneArgument(l)
	l.Push(lua.LString(appendJSON(l, nil, l.Get(1), 0)))
	return 1
}

func appendJSON(l *lua.LState, to []byte, value lua.LValue, depth int) []byte {
	switch v := value.(type) {
	case lua.LString:
		return appendQuoted(to, string(v))
	case lua.LNumber:
		if n := float64(v); math.IsNaN(n) || math.IsInf(n, 0) {
			raise(l, "Cannot serialise number: must not be NaN or Inf")
		}
		return append(to, numberText(float64(v))...)
	case lua.LBool:
		return strconv.AppendBool(to, bool(v))
	case *lua.LTable:
		if depth++; depth > maxDepth {
			raise(l, fmt.Sprintf("Cannot serialise, excessive depth (%d)", depth))
		}
		if length := arrayLength(l, v); length > 0 {
			return appendArray(l, to, v, length, depth)
		}
		return appendObject(l, to, v, depth)
	}
	if value != lua.LNil && value != jsonNull {
		raise(l, "Cannot serialise "+value.Type().String()+": type not supported")
	}
	return append(to, "null"...)
}

// arrayLength returns the largest key if all are positive whole numbers, 0 otherwise: so an empty table is
// an object. Few values may have gaps between them.
func arrayLength(l *lua.LState, table *lua.LTable) int {
	length, count := 0, 0
	for key, _ := table.Next(lua.LNil); key != lua.LNil; key, _ = table.Next(key) {
		n, ok := key.(lua.LNumber)
		if !ok || n < 1 || lua.LNumber(int(n)) != n {
			return 0
		}
		length = max(length, int(n))
		count++
	}
	if length > 2*count && length > 10 {
		raise(l, "Cannot serialise table: excessively sparse array")
	}
	return length
}

func appendArray(l *lua.LState, to []byte, table *lua.LTable, length, depth int) []byte {
	for i := 1; i <= length; i++ {
		to = append(to, "[,"[min(i-1, 1)])
		to = appendJSON(l, to, table.RawGetInt(i), depth)
	}
	return append(to, ']')
}

func appendObject(l *lua.LState, to []byte, table *lua.LTable, depth int) []byte {
	to = append(to, '{')
	separator := ""
	for key, value := table.Next(lua.LNil); key != lua.LNil; key, value = table.Next(key) {
		name, ok := textOfValue(key)
		if !ok {
			raise(l, "Cannot serialise "+key.Type().String()+": table key must be a number or string")
		}
		to = appendQuoted(append(to, separator...), name)
		to = appendJSON(l, append(to, ':'), value, depth)
		separator = ","
	}
	return append(to, '}')
}

const jsonEscapes = "\"\\/\b\f\n\r\t" // after a backslash as \"\\\/\b\f\n\r\t

// appendQuoted writes a text byte by byte: it may be no UTF-8.
func appendQuoted(to []byte, text string) []byte {
	to = append(to, '"')
	for i := range len(text) {
		if at := strings.IndexByte(jsonEscapes, text[i]); at >= 0 {
			to = append(to, '\\', `"\/bfnrt`[at])
		} else if text[i] < ' ' || text[i] == 127 {
			to = fmt.Appendf(to, `\u%04x`, text[i])
		} else {
			to = append(to, text[i])
		}
	}
	return append(to, '"')
}

// decodeJSON takes strict JSON in UTF-8; servers take more.
func decodeJSON(l *lua.LState) int {
	oneArgument(l)
	source := []byte(textArgument(l, 1))
	var value any
	err := json.Unmarshal(source, &value)
	if err == nil && !utf8.Valid(source) {
		err = errors.New("bytes that are no UTF-8")
	}
	if err != nil {
		raise(l, "Expected value but found "+err.Error())
	}
	l.Push(valueOfJSON(l, value))
	return 1
}

func valueOfJSON(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		table := l.CreateTable(len(v), 0)
		for i, item := range v {
			table.RawSetInt(i+1, valueOfJSON(l, item))
		}
		return table
	case map[string]any:
		table := l.CreateTable(0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			table.RawSetString(name, valueOfJSON(l, v[name]))
		}
		return table
	}
	return jsonNull
}
