package embedded

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// argumentKinds has the arguments of library functions that may be given as the other kind: n for
// numbers, which may be texts, t for texts, which may be numbers; the last stands for all further ones.
var argumentKinds = map[string]string{
	"string.byte": "tnn.", "string.char": "n", "string.find": "ttn.", "string.gmatch": "t",
	"string.gsub": "tt.n.", "string.len": "t", "string.lower": "t", "string.match": "ttn.",
	"string.rep": "tn.", "string.reverse": "t", "string.sub": "tnn.", "string.upper": "t",
	"table.remove": ".n.", "unpack": ".nn.", "select": "n.", "error": ".n.",
}

// adapt makes the functions of gopher-lua's libraries behave as a server's.
func (in *interpreter) adapt() {
	for name, kinds := range argumentKinds {
		in.convert(name, kinds)
	}
	library := in.global.RawGetString("math").(*lua.LTable)
	library.ForEach(func(name, value lua.LValue) {
		if value.Type() == lua.LTFunction {
			in.convert("math."+name.String(), "n")
		}
	})
	pcall := in.global.RawGetString("pcall").(*lua.LFunction)
	pcall.GFunction = readingErrors(pcall.GFunction)
	library.RawSetString("huge", lua.LNumber(math.Inf(1)))
	texts := map[string]lua.LGFunction{"format": stringFormat}
	for event, compute := range arithmetic {
		texts[event] = operator(event, numberOf, func(a, b float64) lua.LValue { return lua.LNumber(compute(a, b)) })
	}
	in.lua.SetFuncs(in.global.RawGetString("string").(*lua.LTable), texts)
	in.global.RawGetString("table").(*lua.LTable).RawSetString("concat", in.lua.NewFunction(tableConcat))
	in.lua.SetFuncs(in.global, map[string]lua.LGFunction{"tostring": toString, "tonumber": toNumber})
}

// readingErrors makes of Lua's pcall that of servers: of an error that is a table it returns the field err, or if that is no
// text, the table and nil.
func readingErrors(pcall lua.LGFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		results := pcall(l)
		table, ok := l.Get(-1).(*lua.LTable)
		if !ok || results != 2 || l.Get(-2) != lua.LFalse {
			return results
		}
		if text := l.GetField(table, "err"); lua.LVCanConvToString(text) {
			l.Replace(l.GetTop(), text)
			return 2
		}
		l.Push(lua.LNil)
		return 3
	}
}

// convert makes a library function take texts for numbers, and numbers for texts.
func (in *interpreter) convert(name, kinds string) {
	table := in.global
	if library, member, ok := strings.Cut(name, "."); ok {
		table, name = in.global.RawGetString(library).(*lua.LTable), member
	}
	function := table.RawGetString(name).(*lua.LFunction)
	inner := function.GFunction
	function.GFunction = func(l *lua.LState) int {
		for i := 1; i <= l.GetTop(); i++ {
			if kind := kinds[min(i, len(kinds))-1]; kind != '.' {
				convertArgument(l, i, kind)
			}
		}
		results := inner(l)
		if results == 0 && name == "match" {
			l.Push(lua.LNil)
			return 1
		}
		return results
	}
}

func convertArgument(l *lua.LState, i int, kind byte) {
	switch value := l.Get(i); {
	case kind == 'n' && value.Type() == lua.LTString:
		if n, ok := numberOf(value); ok {
			l.Replace(i, lua.LNumber(n))
		} else if value != lua.LString("#") { // select('#', ...)
			l.TypeError(i, lua.LTNumber)
		}
	case kind == 't' && value.Type() == lua.LTNumber:
		text, _ := textOfValue(value)
		l.Replace(i, lua.LString(text))
	}
}

func numberArgument(l *lua.LState, i int) float64 {
	n, ok := numberOf(l.Get(i))
	if !ok {
		l.TypeError(i, lua.LTNumber)
	}
	return n
}

func textArgument(l *lua.LState, i int) string {
	s, ok := textOfValue(l.Get(i))
	if !ok {
		l.TypeError(i, lua.LTString)
	}
	return s
}

// intArgument returns an argument that is a number if it is given.
func intArgument(l *lua.LState, i, missing int) int {
	if l.Get(i) == lua.LNil {
		return missing
	}
	return int(numberArgument(l, i))
}

func tableConcat(l *lua.LState) int {
	table, separator := l.CheckTable(1), ""
	if l.Get(2) != lua.LNil {
		separator = textArgument(l, 2)
	}
	var all strings.Builder
	first, last := intArgument(l, 3, 1), intArgument(l, 4, table.Len())
	for i := first; i <= last; i++ {
		item, ok := textOfValue(table.RawGetInt(i))
		if !ok {
			raise(l, fmt.Sprintf("invalid value (%s) at index %d in table for 'concat'",
				table.RawGetInt(i).Type(), i))
		}
		if i > first {
			all.WriteString(separator)
		}
		all.WriteString(item)
	}
	l.Push(lua.LString(all.String()))
	return 1
}

// formatItem finds what string.format writes: flags and a letter.
var formatItem = regexp.MustCompile(`%[-+ #0-9.]*.?`)

// stringFormat is string.format, as in C: of each argument the letter decides the kind.
func stringFormat(l *lua.LState) int {
	next := 1
	l.Push(lua.LString(formatItem.ReplaceAllStringFunc(textArgument(l, 1), func(item string) string {
		flags, letter := item[:len(item)-1], item[len(item)-1:]
		if item == "%%" {
			return "%"
		}
		next++
		switch letter {
		case "d", "i", "u":
			return fmt.Sprintf(flags+"d", int64(numberArgument(l, next)))
		case "x", "X", "o":
			return fmt.Sprintf(item, uint64(int64(numberArgument(l, next))))
		case "c":
			return fmt.Sprintf(flags+"s", []byte{byte(int64(numberArgument(l, next)))})
		case "e", "E", "f", "g", "G":
			n := numberArgument(l, next)
			if math.IsInf(n, 0) || math.IsNaN(n) {
				return numberText(n)
			}
			if !strings.Contains(flags, ".") {
				flags += ".6"
			}
			return fmt.Sprintf(flags+letter, n)
		case "s", "q":
			return fmt.Sprintf(item, textArgument(l, next))
		}
		raise(l, "invalid option '"+item+"' to 'format'")
		return ""
	})))
	return 1
}
