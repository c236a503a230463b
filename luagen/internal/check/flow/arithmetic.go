package flow

import (
	"cmp"
	"math"
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// ZeroSize is the size of a literal 0: it has one, too.
const ZeroSize = 0.5

// Numeral returns the value of a number that is written out.
func Numeral(s string) Value {
	n, err := strconv.ParseFloat(s, 64)
	if i, intErr := strconv.ParseInt(s, 0, 64); err != nil && intErr == nil {
		n, err = float64(i), nil
	}
	if err != nil {
		return Value{Is: IsNumber}
	}
	whole, size := n == math.Trunc(n), math.Abs(n)
	return Value{Is: IsNumber, Number: Number{
		Size: max(size, ZeroSize), Large: size, Least: max(n, 0), Whole: whole, Frac: !whole, Low: n <= 0,
	}}
}

// arithmetic returns the value of a sum, a difference, and so on.
func arithmetic(e *parse.BinaryExpr, l, r Value) Value {
	v := Value{Is: IsNumber, Number: Number{
		Whole: l.Whole && r.Whole && e.Op != "^" && e.Op != "/", Frac: l.Frac || r.Frac, Split: l.Split || r.Split,
		Size: extent(e.Op, l.Size, r.Size), Large: extent(e.Op, l.Large, r.Large),
	}}
	switch e.Op {
	case "+":
		if v.Low = l.Low && r.Low; l.Least > 0 && r.Least > 0 {
			v.Least = l.Least + r.Least
		}
		v.Frac = v.Frac || max(l.Size, r.Size) > 1 && (l.Split && l.Size > 0 && l.Size < 1 || r.Split && r.Size > 0 && r.Size < 1)
	case "*":
		v.Low, v.Least = l.Low || r.Low, l.Least*r.Least
	case "-":
		v.Split = v.Split && !isRemainder(e.R)
	case "%":
		v.Low = true
	case "/":
		v.Low = l.Low
		v.Split = (r.Size == 0 || r.Size == aCount().Size) && !without(e.L)
		if r.Constant() {
			v.Least, v.Split = l.Least/r.Size, r.Size > 1 && !l.Constant() && l.Size != aCount().Size && !without(e.L)
			v.Frac = v.Frac || l.Constant() && math.Mod(l.Size, r.Size) != 0
		}
	}
	if e.Op == "+" || e.Op == "-" {
		v.By = cmp.Or(l.By, r.By)
	}
	return v
}

// without reports whether an expression is a number without the rest of a division: x - x % 60.
func without(e parse.Expr) bool {
	b, ok := Unparen(e).(*parse.BinaryExpr)
	return ok && b.Op == "-" && isRemainder(b.R)
}

// numeric returns the value of a function that makes a number of numbers.
func (m *Machine) numeric(name string, e *parse.CallExpr, args []Value) (Value, bool) {
	switch name {
	case "tonumber":
		if len(args) == 1 || Bound(e.Args[1]) == 10 {
			return toNumber(args[0], e.P), true
		}
	case "math.floor", "math.ceil", "math.abs":
		m.uses(InArithmetic, e.Args[0], args[0])
		n := args[0].Number
		n.Low = n.Low || name == "math.floor" && n.Split && n.Least < 1 && !m.ordered(e.Args[0])
		if name != "math.abs" {
			n.Whole, n.Frac, n.Split = true, false, false
		}
		return Value{Is: IsNumber, Number: n}, true
	case "math.max", "math.min":
		for i, arg := range args {
			m.uses(InArithmetic, e.Args[i], arg)
			args[i].Low = arg.Low && (name == "math.min" || arg.Size != MaxLife) // a TTL is -1, and the other is larger
		}
		return extreme(args, name == "math.min"), true
	}
	return Value{}, false
}

// extreme returns the least or the largest of some numbers.
func extreme(args []Value, least bool) Value {
	n := args[0].Number
	for _, arg := range args[1:] {
		was := n
		n = joinNumbers(was, arg.Number)
		if n.Unit = was.Unit.Or(arg.Unit); least {
			n.Size, n.Large = cmp.Or(min(was.Size, arg.Size), max(was.Size, arg.Size)), 0
		} else {
			n.Least = max(was.Least, arg.Least)
		}
	}
	n.Low = n.Low && n.Least <= 0
	return Value{Is: IsNumber, Number: n}
}

// extent returns how large the result of an operation is, by that of its operands. Of two operands that are near their
// bounds the sum is: what is added to one may be small.
func extent(op string, l, r float64) float64 {
	switch {
	case op == "+" && min(l, r) > MaxExact/2:
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
