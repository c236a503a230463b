package embedded

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openBinary makes the libraries bit and struct.
func (in *interpreter) openBinary() {
	in.library("bit", map[string]lua.LGFunction{
		"tobit":   ofBits(1, func(a, _ uint32) uint32 { return a }),
		"bnot":    ofBits(1, func(a, _ uint32) uint32 { return ^a }),
		"bswap":   ofBits(1, func(a, _ uint32) uint32 { return bits.ReverseBytes32(a) }),
		"lshift":  ofBits(2, func(a, b uint32) uint32 { return a << (b & 31) }),
		"rshift":  ofBits(2, func(a, b uint32) uint32 { return a >> (b & 31) }),
		"arshift": ofBits(2, func(a, b uint32) uint32 { return uint32(int32(a) >> (b & 31)) }),
		"rol":     ofBits(2, func(a, b uint32) uint32 { return bits.RotateLeft32(a, int(b&31)) }),
		"ror":     ofBits(2, func(a, b uint32) uint32 { return bits.RotateLeft32(a, -int(b&31)) }),
		"band":    ofBits(0, func(a, b uint32) uint32 { return a & b }),
		"bor":     ofBits(0, func(a, b uint32) uint32 { return a | b }),
		"bxor":    ofBits(0, func(a, b uint32) uint32 { return a ^ b }),
		"tohex":   toHex,
	})
	in.library("struct", map[string]lua.LGFunction{"pack": structPack, "unpack": structUnpack, "size": structSize})
}

// bitsOf returns the 32 bits of an argument, rounded as adding 2^52 + 2^51 does.
func bitsOf(l *lua.LState, i int) uint32 {
	return uint32(math.Float64bits(numberArgument(l, i) + 3<<51))
}

// ofBits returns a function of one argument, of two, or (0) of all that it gets.
func ofBits(count int, compute func(a, b uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		result := bitsOf(l, 1)
		if count == 1 {
			result = compute(result, 0)
		}
		for i := 2; i <= cmp.Or(count, l.GetTop()); i++ {
			result = compute(result, bitsOf(l, i))
		}
		l.Push(lua.LNumber(int32(result)))
		return 1
	}
}

// toHex is bit.tohex: the last digits, as capitals if their number is negative.
func toHex(l *lua.LState) int {
	text, digits := fmt.Sprintf("%08x", bitsOf(l, 1)), 8
	if l.GetTop() > 1 {
		digits = int(int32(bitsOf(l, 2)))
	}
	if digits < 0 {
		text, digits = strings.ToUpper(text), -digits
	}
	l.Push(lua.LString(text[8-min(digits, 8):]))
	return 1
}

// letterSizes has the letters of struct's formats, and their bytes if no number follows.
var letterSizes = map[byte]int{
	'b': 1, 'B': 1, 'h': 2, 'H': 2, 'i': 4, 'I': 4, 'l': 8, 'L': 8, 'T': 8, 'f': 4, 'd': 8, 'x': 1, 'c': 1, '!': 8,
}

// appendNumber writes a number as C has that of a letter, the highest byte first.
func appendNumber(to []byte, letter byte, size int, n float64) []byte {
	whole := uint64(n)
	switch {
	case letter == 'f':
		whole = uint64(math.Float32bits(float32(n)))
	case letter == 'd':
		whole = math.Float64bits(n)
	case n < 0:
		whole = uint64(int64(n))
	}
	for i := size - 1; i >= 0; i-- {
		to = append(to, byte(whole>>(8*i)))
	}
	return to
}

// numberIn reads what appendNumber writes.
func numberIn(field []byte, letter byte) lua.LNumber {
	var whole uint64
	for _, b := range field {
		whole = whole<<8 | uint64(b)
	}
	switch unused := 64 - 8*min(len(field), 8); letter {
	case 'f':
		return lua.LNumber(math.Float32frombits(uint32(whole)))
	case 'd':
		return lua.LNumber(math.Float64frombits(whole))
	case 'b', 'h', 'i', 'l':
		return lua.LNumber(int64(whole<<unused) >> unused)
	}
	return lua.LNumber(whole)
}

var structItems = regexp.MustCompile(`[<> bBhHlLTfdxs]|c\d{0,9}|[iI](3[0-2]|[12]?\d)?|!(16|32|64|[1248])?`)

// eachItem visits the items of a format of struct, when at is where one begins. Visit moves at behind it.
func eachItem(l *lua.LState, format string, at *int, visit func(letter byte, size int, big bool)) {
	items, big, align := structItems.FindAllString(format, -1), false, 1
	if strings.Join(items, "") != format {
		raise(l, "invalid format option")
	}
	for _, item := range items {
		letter := item[0]
		size, err := strconv.Atoi(item[1:])
		if err != nil {
			size = letterSizes[letter]
		}
		switch letter {
		case ' ':
		case '<', '>':
			big = letter == '>'
		case '!':
			align = size
		default:
			if unit := min(size, align); unit > 0 && letter != 'c' {
				*at += (unit - *at&(unit-1)) & (unit - 1)
			}
			visit(letter, size, big)
		}
	}
}

func structSize(l *lua.LState) int {
	at := 0
	eachItem(l, textArgument(l, 1), &at, func(_ byte, size int, _ bool) {
		if at += size; size == 0 {
			raise(l, "variable-length format")
		}
	})
	l.Push(lua.LNumber(at))
	return 1
}

func structPack(l *lua.LState) int {
	all, at, next := []byte{}, 0, 2
	eachItem(l, textArgument(l, 1), &at, func(letter byte, size int, big bool) {
		all = append(all, make([]byte, at-len(all))...)
		switch letter {
		case 'x':
			all, next = append(all, 0), next-1
		case 's':
			all = append(append(all, textArgument(l, next)...), 0)
		case 'c':
			text := textArgument(l, next)
			if len(text) < size {
				raise(l, "string too short")
			}
			all = append(all, text[:cmp.Or(size, len(text))]...)
		default:
			if all = appendNumber(all, letter, size, numberArgument(l, next)); !big {
				slices.Reverse(all[at:])
			}
		}
		at, next = len(all), next+1
	})
	l.Push(lua.LString(all))
	return 1
}

func structUnpack(l *lua.LState) int {
	format, from, at := textArgument(l, 1), textArgument(l, 2), intArgument(l, 3, 1)-1
	l.SetTop(0)
	eachItem(l, format, &at, func(letter byte, size int, big bool) {
		switch {
		case letter == 's':
			size = strings.IndexByte(from[max(0, min(at, len(from))):], 0)
		case letter == 'c' && size == 0: // The value before it is the size.
			size = intArgument(l, -1, -1)
			l.Pop(1)
		}
		if at < 0 || size < 0 || size > len(from)-at {
			raise(l, "data string too short")
		}
		field := []byte(from[at : at+size])
		switch at += size; letter {
		case 'x':
		case 's':
			at++
			fallthrough
		case 'c':
			l.Push(lua.LString(field))
		default:
			if !big {
				slices.Reverse(field)
			}
			l.Push(numberIn(field, letter))
		}
	})
	l.Push(lua.LNumber(at + 1))
	return l.GetTop()
}
