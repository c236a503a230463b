package embedded

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// numberText returns a number as a server's tostring writes it: with 14 digits.
func numberText(n float64) string {
	switch whole := int64(n); {
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	case math.IsNaN(n) && math.Signbit(n):
		return "-nan"
	case math.IsNaN(n):
		return "nan"
	case float64(whole) == n && math.Abs(n) < 1e14 && !(n == 0 && math.Signbit(n)):
		return strconv.FormatInt(whole, 10)
	}
	return strconv.FormatFloat(n, 'g', 14, 64)
}

// wordText returns a number as a word of a command, which has all digits.
func wordText(n float64) string {
	if math.IsInf(n, 0) || math.IsNaN(n) {
		return numberText(n)
	}
	return lua.LNumber(n).String()
}

const luaSpaces = " \t\n\v\f\r"

// parseNumber reads a text as C's strtod does, but whole.
func parseNumber(text string) (float64, bool) {
	text = strings.Trim(text, luaSpaces)
	if strings.IndexByte(text, '_') >= 0 { // Go takes 1_000.
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) { // Go wants an exponent behind hexadecimal digits.
		n, err = strconv.ParseFloat(text+"p0", 64)
	}
	return n, err == nil || math.IsInf(n, 0)
}

// numberOf returns a number, or what a text says.
func numberOf(value lua.LValue) (float64, bool) {
	switch v := value.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// textOfValue returns a text, or the text of a number.
func textOfValue(value lua.LValue) (string, bool) {
	switch v := value.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return numberText(float64(v)), true
	}
	return "", false
}

func toString(l *lua.LState) int {
	value := l.CheckAny(1)
	if n, ok := value.(lua.LNumber); ok {
		l.Push(lua.LString(numberText(float64(n))))
	} else if value == jsonNull {
		l.Push(lua.LString("userdata: (nil)"))
	} else {
		l.Push(l.ToStringMeta(value))
	}
	return 1
}

func toNumber(l *lua.LState) int {
	value := l.CheckAny(1)
	n, ok := numberOf(value)
	if base := intArgument(l, 2, 10); base != 10 {
		digits, err := strconv.ParseInt(strings.Trim(textArgument(l, 1), luaSpaces), base, 64)
		n, ok = float64(digits), err == nil
	}
	if ok {
		l.Push(lua.LNumber(n))
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

// arithmetic has what texts do as operands. gopher-lua asks their metatable before it reads them itself,
// which makes 8 of '010'.
var arithmetic = map[string]func(a, b float64) float64{
	"__add": func(a, b float64) float64 { return a + b },
	"__sub": func(a, b float64) float64 { return a - b },
	"__mul": func(a, b float64) float64 { return a * b },
	"__div": func(a, b float64) float64 { return a / b },
	"__mod": func(a, b float64) float64 { return a - math.Floor(a/b)*b },
	"__pow": math.Pow,
	"__unm": func(a, _ float64) float64 { return -a },
}

// operator returns the function of an operator on what convert takes. Other operands need a metamethod.
func operator[T any](
	event string, convert func(lua.LValue) (T, bool), compute func(a, b T) lua.LValue,
) lua.LGFunction {
	return func(l *lua.LState) int {
		left, right := l.Get(1), l.Get(2)
		if event == "__unm" {
			right = left
		}
		a, leftOK := convert(left)
		b, rightOK := convert(right)
		if !leftOK || !rightOK {
			return operateOnTables(l, event, left, right)
		}
		l.Push(compute(a, b))
		return 1
	}
}

// operateOnTables calls the metamethod of the operand that is a table, or raises an error.
func operateOnTables(l *lua.LState, event string, left, right lua.LValue) int {
	for _, operand := range []lua.LValue{left, right} {
		_, isTable := operand.(*lua.LTable)
		if method := l.GetMetaField(operand, event); isTable && method != lua.LNil {
			l.Push(method)
			l.Push(left)
			l.Push(right)
			l.Call(2, 1)
			return 1
		}
	}
	raise(l, fmt.Sprintf("attempt to use %s of a %s and a %s", event, left.Type(), right.Type()))
	return 0
}
