package embedded

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openBit makes the library bit.
func (in *interpreter) openBit() {
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
	text, digits := fmt.Sprintf("%08x", bitsOf(l, 1)), intArgument(l, 2, 8)
	if digits < 0 {
		text, digits = strings.ToUpper(text), -digits
	}
	l.Push(lua.LString(text[8-min(digits, 8):]))
	return 1
}

// letterSizes has the letters by which the library struct names numbers, and their bytes.
var letterSizes = map[byte]int{
	'b': 1, 'B': 1, 'h': 2, 'H': 2, 'i': 4, 'I': 4, 'l': 8, 'f': 4, 'd': 8,
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
