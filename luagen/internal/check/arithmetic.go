package check

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// zeroSize is the size of a literal 0: it has one, too.
const zeroSize = 0.5

// numeral returns the value of a literal number.
func numeral(s string) value {
	n, err := strconv.ParseFloat(s, 64)
	if i, intErr := strconv.ParseInt(s, 0, 64); err != nil && intErr == nil {
		n, err = float64(i), nil
	}
	if err != nil {
		return value{is: isNumber}
	}
	whole := n > maxInt64 || n == float64(int64(n))
	return value{is: isNumber, number: number{
		size: max(n, zeroSize), large: n, least: n, whole: whole, frac: !whole, low: n == 0,
	}}
}

// arithmetic returns the value of a sum, a difference, and so on.
func arithmetic(e *parse.BinaryExpr, l, r value) value {
	v := value{is: isNumber, number: number{
		whole: l.whole && r.whole, frac: l.frac || r.frac, split: l.split || r.split,
	}}
	known := l.size > 0 && r.size > 0
	switch e.Op {
	case "+":
		v.size, v.unit = max(l.size, r.size), summed(e, l, r)
		if v.low = l.low && r.low; l.least > 0 && r.least > 0 {
			v.least = l.least + r.least
		}
	case "-":
		v.unit = summed(e, l, r)
		if known && r.size <= l.size/2 {
			v.size = l.size
		}
	case "*":
		v.low, v.least = l.low || r.low, l.least*r.least
		switch {
		case r.constant():
			v.unit = l.unit.scaled(r.size)
		case l.constant():
			v.unit = r.unit.scaled(l.size)
		}
		if known {
			v.size = l.size * r.size
		}
	case "%":
		v.size = r.size
	case "/":
		v.whole, v.split = false, r.surely(isNumber) && r.size == 0 && !l.constant()
		if r.constant() {
			v.size, v.least, v.unit = l.size/r.size, l.least/r.size, l.unit.scaled(1/r.size)
			v.low, v.split = l.low, r.size > 1 && !l.constant()
		}
	default:
		v.whole = false
	}
	if e.Op == "+" || e.Op == "-" {
		v.by = cmp.Or(l.by, r.by)
	}
	return v
}

// numeric returns the value of a function that makes a number of numbers.
func (m *machine) numeric(name string, e *parse.CallExpr, args []value) (value, bool) {
	switch name {
	case "tonumber":
		if len(args) == 1 {
			return toNumber(args[0], e.P), true
		}
	case "math.floor", "math.ceil", "math.abs":
		m.exact(args[0], e.Args[0].Pos())
		n := args[0].number
		n.low = n.low || name == "math.floor" && n.split && n.least < 1
		if name != "math.abs" {
			n.whole, n.frac, n.split = true, false, false
		}
		return value{is: isNumber, number: n}, true
	case "math.max", "math.min":
		for i, arg := range args {
			m.exact(arg, e.Args[i].Pos())
		}
		return extreme(args, name == "math.min"), true
	}
	return value{}, false
}

// extreme returns the least or the largest of some numbers.
func extreme(args []value, least bool) value {
	v := countUpTo(0)
	for _, arg := range args {
		v.whole, v.frac, v.split = v.whole && arg.whole, v.frac || arg.frac, v.split || arg.split
		v.unit, v.low = v.unit.or(arg.unit), v.low || arg.low
		if v.large = max(v.large, arg.large); least {
			v.large = 0
		}
		switch {
		case !least:
			v.size, v.least = max(v.size, arg.size), max(v.least, arg.least)
		case v.size == 0 || arg.size > 0 && arg.size < v.size:
			v.size = arg.size
		}
	}
	if least {
		v.least = slices.MinFunc(args, func(a, b value) int { return cmp.Compare(a.least, b.least) }).least
	}
	v.low = v.low && v.least <= 0
	return v
}

// larger returns how large the result of an operation is in some cases. Of two operands that are near their bounds the
// sum is: what is added to one may be small.
func larger(op string, l, r float64) float64 {
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
	}
	return 0
}

// passes finds a sum or a product of whole numbers that passes 2^53, which its operands do not. To multiply by a power of
// two loses nothing.
func (m *machine) passes(e *parse.BinaryExpr, l, r, v value) {
	if v.whole && v.large > maxExact && max(l.large, r.large) <= maxExact && !m.isPower(e.L) && !m.isPower(e.R) {
		m.find(e.P, Precision, "this passes 2^53, and a Lua number is exact no further: take larger units, or give its "+
			"parts smaller bounds")
	}
}

// isPower reports whether an expression is a literal power of two.
func (m *machine) isPower(e parse.Expr) bool {
	number, ok := m.c.origin(e).(*parse.NumberExpr)
	if !ok {
		return false
	}
	fraction, _ := math.Frexp(numeral(number.Text).large)
	return fraction == 0.5
}
