package embedded

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// packedLetters has struct's letter for the number behind each of MessagePack's codes from ca on: a value, or a length.
const packedLetters = "fdBHIlbhil     BHIHIHI"

// packedDepth is how deep tables are packed; deeper ones become nil.
const packedDepth = 16

func (in *interpreter) openMessagePack() {
	in.library("cmsgpack", map[string]lua.LGFunction{
		"pack":         messagePack,
		"unpack":       func(l *lua.LState) int { return messageUnpack(l, 0, 0) },
		"unpack_one":   func(l *lua.LState) int { return messageUnpack(l, 1, intArgument(l, 2, 0)) },
		"unpack_limit": func(l *lua.LState) int { return messageUnpack(l, int(numberArgument(l, 2)), intArgument(l, 3, 0)) },
	})
}

func messagePack(l *lua.LState) int {
	if l.GetTop() == 0 {
		raise(l, "MessagePack pack needs input.")
	}
	var all []byte
	for i := 1; i <= l.GetTop(); i++ {
		all = appendPacked(all, l.Get(i), packedDepth)
	}
	l.Push(lua.LString(all))
	return 1
}

func appendPacked(to []byte, value lua.LValue, depth int) []byte {
	switch v := value.(type) {
	case lua.LString:
		return append(appendHead(to, len(v), 0xa0, 31, "\xd9\xda\xdb"), v...)
	case lua.LNumber:
		return appendPackedNumber(to, float64(v))
	case lua.LBool:
		if v {
			return append(to, 0xc3)
		}
		return append(to, 0xc2)
	case *lua.LTable:
		if depth > 0 {
			return appendPackedTable(to, v, depth-1)
		}
	}
	return append(to, 0xc0)
}

func appendPackedNumber(to []byte, n float64) []byte {
	switch whole := math.Trunc(n) == n && n >= -1<<63 && n < 1<<63; {
	case whole && n >= -32 && n <= 127:
		return append(to, byte(int64(n)))
	case whole && n >= 0:
		return appendCoded(to, n, "\xcc\xcd\xce\xcf")
	case whole:
		return appendCoded(to, n, "\xd0\xd1\xd2\xd3")
	}
	return appendCoded(to, n, "\xca\xcb")
}

// appendPackedTable writes a list if the keys are 1 to the number of values, and else a map.
func appendPackedTable(to []byte, table *lua.LTable, depth int) []byte {
	count, isList := 0, true
	table.ForEach(func(key, _ lua.LValue) {
		count++
		isList = isList && key == lua.LNumber(count)
	})
	if isList {
		to = appendHead(to, count, 0x90, 15, "\xdc\xdd")
	} else {
		to = appendHead(to, count, 0x80, 15, "\xde\xdf")
	}
	table.ForEach(func(key, value lua.LValue) {
		if !isList {
			to = appendPacked(to, key, depth)
		}
		to = appendPacked(to, value, depth)
	})
	return to
}

// appendHead writes a length within one byte if it is at most most, and else behind one of the codes.
func appendHead(to []byte, length int, short byte, most int, codes string) []byte {
	if length <= most {
		return append(to, short|byte(length))
	}
	return appendCoded(to, float64(length), codes)
}

// appendCoded writes a number behind the first of the codes that is for such a number.
func appendCoded(to []byte, n float64, codes string) []byte {
	letter := packedLetters[codes[0]-0xca]
	all := appendNumber(append(to, codes[0]), letter, letterSizes[letter], n)
	if len(codes) > 1 && float64(numberIn(all[len(to)+1:], letter)) != n {
		return appendCoded(to, n, codes[1:])
	}
	return all
}

// messageUnpack returns limit values from offset on, behind the place where they end, which is -1 if nothing follows.
// If both are 0 it returns all values alone.
func messageUnpack(l *lua.LState, limit, offset int) int {
	from, first := []byte(textArgument(l, 1)), l.GetTop()+1
	p, all := packed{lua: l, rest: from}, limit == 0 && offset == 0
	if p.take(offset); !all {
		l.Push(lua.LNumber(-1))
	}
	if limit < 0 {
		raise(l, "Invalid request to unpack with a negative limit.")
	}
	for n := 0; len(p.rest) > 0 && (all || n < limit); n++ {
		l.Push(p.value())
	}
	if len(p.rest) > 0 {
		l.Replace(first, lua.LNumber(len(from)-len(p.rest)))
	}
	return l.GetTop() + 1 - first
}

// packed is what is left to unpack.
type packed struct {
	lua   *lua.LState
	rest  []byte
	depth int // of the table that is read
}

func (p *packed) take(n int) []byte {
	if n < 0 || n > len(p.rest) {
		raise(p.lua, "Missing bytes in input.")
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *packed) value() lua.LValue {
	code := p.take(1)[0]
	switch {
	case code <= 0x7f, code >= 0xe0:
		return lua.LNumber(int8(code))
	case code <= 0x9f:
		return p.table(int(code&15), code <= 0x8f)
	case code <= 0xbf:
		return lua.LString(p.take(int(code & 31)))
	case code == 0xc0:
		return lua.LNil
	case code == 0xc2, code == 0xc3:
		return lua.LBool(code == 0xc3)
	case code < 0xca, packedLetters[code-0xca] == ' ':
		raise(p.lua, "Bad data format in input.")
	}
	letter := packedLetters[code-0xca]
	n := numberIn(p.take(letterSizes[letter]), letter)
	switch {
	case code <= 0xd3:
		return n
	case code <= 0xdb:
		return lua.LString(p.take(int(n)))
	}
	return p.table(int(n), code >= 0xde)
}

// table reads a list, or the pairs of a map.
func (p *packed) table(count int, isMap bool) lua.LValue {
	if p.depth++; p.depth > maxDepth {
		raise(p.lua, "stack overflow")
	}
	table := p.lua.NewTable()
	for i := 1; i <= count; i++ {
		key := lua.LValue(lua.LNumber(i))
		if isMap {
			key = p.value()
		}
		p.lua.RawSet(table, key, p.value())
	}
	p.depth--
	return table
}
