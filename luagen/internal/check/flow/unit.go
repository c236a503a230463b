package flow

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// In returns a value with a unit, if none is known.
func (v Value) In(says units.Unit) Value {
	if v.Unit = v.Unit.Or(says); v.Unit.As == units.Moment {
		v.Large = cmp.Or(v.Large, Now*v.Unit.Per)
	}
	return v
}

// timeOf returns the unit of a sum or a difference of times, or of a time that a number which is written out makes another of.
func timeOf(e *parse.BinaryExpr, l, r Value) units.Unit {
	u, w, by := l.Unit, r.Unit, r.Size
	switch {
	case (e.Op == "+" || e.Op == "-") && !u.Apart(w):
		sum := units.Unit{Per: cmp.Or(u.Per, w.Per)}
		switch { // That of a time and one which is not known may be a duration.
		case r.Constant() || isRemainder(e.R):
			return u
		case u.As == w.As && u.As != 0:
			sum.As = units.Duration
		case e.Op == "+" || w.As == units.Duration:
			sum.As = max(u.As, w.As)
		}
		return sum
	case e.Op == "*" && l.Constant():
		u, by = w, l.Size
	case e.Op == "/" && r.Constant():
		by = 1 / r.Size
	case e.Op != "*" || !r.Constant():
		return units.Unit{}
	}
	if by >= 60 || by <= 1.0/60 { // A small one changes no unit.
		u.Per = math.Round(u.Per*by*1e9) / 1e9
	}
	return u
}

// Learn notes the unit of arguments that an expression is made of, of which nothing else says any, by what it is used for.
func (m *Machine) Learn(e parse.Expr, u units.Unit) {
	if whole := cmp.Or(m.Passed(e, "math.ceil"), m.Passed(e, "math.floor")); whole != nil {
		e = whole
	}
	if b, ok := parse.Unparen(e).(*parse.BinaryExpr); ok {
		u.Per /= timeOf(b, Value{Number: Number{Unit: units.Unit{Per: 1}}}, m.Peek(b.R)).Per // and so infinite if it cannot be one
		if m.Learn(b.L, u); b.Op == "+" || b.Op == "-" {
			m.Learn(b.R, u)
		}
	} else if n := m.C.Nth(e, "ARGV"); n > 0 && units.Names[u.Per] != "" && m.Peek(e).Unit.Per == 0 {
		m.State.Sure[unitOf+Itoa(n)+units.Names[u.Per]] = true
	}
}

// learned returns the unit that was learned of an argument.
func (m *Machine) learned(e parse.Expr) (u units.Unit) {
	n := m.C.Nth(e, "ARGV")
	for _, per := range []float64{1, 1e3, 1e6} {
		if n > 0 && m.State.Sure[unitOf+Itoa(n)+units.Names[per]] {
			u.Per = per
		}
	}
	return u
}

// unsure withdraws that values may well be 0 or have a fraction, if a comparison says more of what they are made of.
func (m *Machine) unsure(cond *parse.BinaryExpr) {
	names := parse.NamesIn(cond)
	if parse.Contains(cond, isRemainder) {
		m.State.ask(m.State.At, SomeWhole)
	}
	if len(names) == 2 && strings.ContainsAny(cond.Op, "<>") {
		m.State.ask(m.State.At, [2]*parse.Var(names))
	}
	for x, v := range m.State.vars {
		if !v.Low && !v.Split || !m.compares(x, names) {
			continue
		}
		w := *v
		lets := v.Size == MaxLife && m.Peek(cond.R).Size == ZeroSize && !strings.ContainsAny(cond.Op, "<>") // a TTL of -1
		w.Low = v.Low && (lets || parse.IsFalsy(cond.R))
		w.Split = v.Split && (strings.ContainsAny(cond.Op, "<>") || ConstantKind(cond.L) != 0 || ConstantKind(cond.R) != 0)
		m.State.set(x, w)
	}
}

// compares reports whether a comparison of some names is about one, or only about what it is made of.
func (m *Machine) compares(x *parse.Var, names []*parse.Var) bool {
	sources := m.C.Flow.Sources[x]
	return slices.Contains(names, x) || len(sources) > MaxNames || slices.ContainsFunc(sources, func(s Source) bool {
		return s.Expr != nil && len(names) > 0 && !slices.ContainsFunc(names, func(y *parse.Var) bool { return !parse.Mentions(s.Expr, y) })
	})
}

// ordered reports whether a comparison is about two names that an expression is made of.
func (m *Machine) ordered(e parse.Expr) bool {
	all := m.touched(e)
	for _, what := range m.State.facts.all {
		pair, ok := what.([2]*parse.Var)
		if ok && m.State.Knows(pair) && slices.Contains(all, any(pair[0])) && slices.Contains(all, any(pair[1])) {
			return true
		}
	}
	return m.State.Holds(everything)
}

// isRemainder reports whether an expression is the rest of a division.
func isRemainder(e parse.Expr) bool {
	b, ok := parse.Unparen(e).(*parse.BinaryExpr)
	return ok && b.Op == "%"
}

// Hears returns the unit that a name or a comment certainly says a time is in: window_ms, "heartbeat TTL (milliseconds)".
func (c *code) Hears(text string, in *regexp.Regexp) units.Unit {
	return recalled(c.heard, in.String()+text, func() units.Unit { return units.Said(text, in) })
}

// says returns the unit that the name of a local or a comment says it is in.
func (c *code) says(x *parse.Var) units.Unit {
	return recalled(c.units, x, func() units.Unit {
		return c.Hears(x.Name, units.InName).Or(c.Hears(c.Said[Itoa(x.Pos.Line)], units.InComment))
	})
}

// NameOf returns the local name or the field that an expression is, or what a comment says of it; "" for another.
func (c *code) NameOf(e parse.Expr) string {
	switch e := e.(type) {
	case *parse.NameExpr:
		return e.Name
	case *parse.IndexExpr:
		if field, ok := e.Key.(*parse.StringExpr); ok {
			return "_" + field.Value
		}
		return c.Said["ARGV["+Itoa(c.Nth(e, "ARGV"))+"]"]
	}
	return ""
}
