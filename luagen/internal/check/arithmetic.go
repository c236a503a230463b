package check

import (
	"cmp"
	"math"
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// zeroSize is the size of a literal 0: it has one, too.
const zeroSize = 0.5

// numeral returns the value of a number that is written out.
func numeral(s string) value {
	n, err := strconv.ParseFloat(s, 64)
	if i, intErr := strconv.ParseInt(s, 0, 64); err != nil && intErr == nil {
		n, err = float64(i), nil
	}
	if err != nil {
		return value{is: isNumber}
	}
	whole, size := n == math.Trunc(n), math.Abs(n)
	return value{is: isNumber, number: number{
		size: max(size, zeroSize), large: size, least: max(n, 0), whole: whole, frac: !whole, low: n <= 0,
	}}
}

// arithmetic returns the value of a sum, a difference, and so on.
func arithmetic(e *parse.BinaryExpr, l, r value) value {
	v := value{is: isNumber, number: number{
		whole: l.whole && r.whole && e.Op != "^" && e.Op != "/", frac: l.frac || r.frac, split: l.split || r.split,
		size: extent(e.Op, l.size, r.size), large: extent(e.Op, l.large, r.large),
	}}
	switch e.Op {
	case "+":
		if v.low = l.low && r.low; l.least > 0 && r.least > 0 {
			v.least = l.least + r.least
		}
		v.frac = v.frac || max(l.size, r.size) > 1 && (l.split && l.size > 0 && l.size < 1 || r.split && r.size > 0 && r.size < 1)
	case "*":
		v.low, v.least = l.low || r.low, l.least*r.least
	case "-":
		v.split = v.split && !isRemainder(e.R)
	case "%":
		v.low = true
	case "/":
		v.low = l.low
		v.split = (r.size == 0 || r.size == aCount().size) && !without(e.L)
		if r.constant() {
			v.least, v.split = l.least/r.size, r.size > 1 && !l.constant() && l.size != aCount().size && !without(e.L)
			v.frac = v.frac || l.constant() && math.Mod(l.size, r.size) != 0
		}
	}
	if e.Op == "+" || e.Op == "-" {
		v.by = cmp.Or(l.by, r.by)
	}
	return v
}

// without reports whether an expression is a number without the rest of a division: x - x % 60.
func without(e parse.Expr) bool {
	b, ok := unparen(e).(*parse.BinaryExpr)
	return ok && b.Op == "-" && isRemainder(b.R)
}

// numeric returns the value of a function that makes a number of numbers.
func (m *machine) numeric(name string, e *parse.CallExpr, args []value) (value, bool) {
	switch name {
	case "tonumber":
		if len(args) == 1 || bound(e.Args[1]) == 10 {
			return toNumber(args[0], e.P), true
		}
	case "math.floor", "math.ceil", "math.abs":
		m.uses(inArithmetic, e.Args[0], args[0])
		n := args[0].number
		n.low = n.low || name == "math.floor" && n.split && n.least < 1 && !m.ordered(e.Args[0])
		if name != "math.abs" {
			n.whole, n.frac, n.split = true, false, false
		}
		return value{is: isNumber, number: n}, true
	case "math.max", "math.min":
		for i, arg := range args {
			m.uses(inArithmetic, e.Args[i], arg)
			args[i].low = arg.low && (name == "math.min" || arg.size != maxLife) // a TTL is -1, and the other is larger
		}
		return extreme(args, name == "math.min"), true
	}
	return value{}, false
}

// extreme returns the least or the largest of some numbers.
func extreme(args []value, least bool) value {
	n := args[0].number
	for _, arg := range args[1:] {
		was := n
		n = joinNumbers(was, arg.number)
		if n.unit = was.unit.or(arg.unit); least {
			n.size, n.large = cmp.Or(min(was.size, arg.size), max(was.size, arg.size)), 0
		} else {
			n.least = max(was.least, arg.least)
		}
	}
	n.low = n.low && n.least <= 0
	return value{is: isNumber, number: n}
}

// extent returns how large the result of an operation is, by that of its operands. Of two operands that are near their
// bounds the sum is: what is added to one may be small.
func extent(op string, l, r float64) float64 {
	switch {
	case op == "+" && min(l, r) > maxExact/2:
		return l + r
	case op == "+":
		return max(l, r)
	case op == "-" && r > 0 && r <= l/2:
		return l
	case op == "*":
		return l * r
	case op == "/" && r > 0:
		return l / r
	case op == "%":
		return r
	}
	return 0
}

// isPower reports whether a value is a power of two that is written out.
func (v value) isPower() bool {
	fraction, _ := math.Frexp(v.size)
	return v.constant() && fraction == 0.5
}
