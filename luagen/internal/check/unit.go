package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unit is in what a time is measured. Its zero is unknown.
type unit struct {
	per  float64 // second
	as   span
	line int // where that was seen, if that is elsewhere
}

// span is how long something takes, or a time since 1970.
type span int

const (
	aDuration span = iota + 1
	aTime
	aRate    // per second, say
	aProduct // a time by a rate: per is by how much it is too large
)

// units has them by the names of declared types, and of the places that commands have for them.
var units = map[string]unit{
	"seconds": {1, aDuration, 0}, "milliseconds": {1000, aDuration, 0}, "unixmilli": {1000, aTime, 0},
	"microseconds": {1e6, aDuration, 0}, "unix-time-seconds": {1, aTime, 0}, "unix-time-milliseconds": {1000, aTime, 0},
}

// unitNames are those of units, by how many of them are a second. Nobody means the last two: something was multiplied wrongly.
var unitNames = map[float64]string{1: "seconds", 1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds", 1e-3: "thousands of seconds", 1e12: "picoseconds"}

func (u unit) String() string {
	text := unitNames[u.per]
	if u.as == aTime {
		text += " since 1970"
	}
	if u.line > 0 {
		text += " (see line " + itoa(u.line) + ")"
	}
	return text
}

// remedy says how to get one unit from another.
func (u unit) remedy(want unit) string {
	switch by := want.per / u.per; {
	case by == 1:
		return "add or subtract the time"
	case by > 1:
		return fmt.Sprintf("multiply it by %.0f", by)
	default:
		return fmt.Sprintf("divide it by %.0f, with math.ceil", 1/by)
	}
}

// apart reports whether two times certainly are of different units.
func (u unit) apart(w unit) bool {
	return max(u.as, w.as) <= aTime && unitNames[u.per] != "" && unitNames[w.per] != "" && u.per != w.per
}

// or returns a unit, or another as far as it is not known.
func (u unit) or(w unit) unit {
	return unit{cmp.Or(u.per, w.per), cmp.Or(u.as, w.as), cmp.Or(u.line, w.line)}
}

// in returns a value with a unit, if none is known.
func (v value) in(says unit) value {
	if v.unit = v.unit.or(says); v.unit.as == aTime {
		v.large = cmp.Or(v.large, now*v.unit.per)
	}
	return v
}

// times returns the unit and the roots of a time that is multiplied by a number. A small one changes no unit.
func (v value) times(by float64) (unit, []root) {
	if by < 60 && by > 1.0/60 {
		return v.unit, v.roots
	}
	roots := slices.Clone(v.roots)
	for i := range roots {
		roots[i].by *= by
	}
	if len(roots) == 0 {
		roots = []root{{"", by}}
	}
	return v.unit.times(by), roots
}

// times returns the unit of what is multiplied by a number.
func (u unit) times(by float64) unit {
	if u.as == aRate {
		by = 1 / by
	}
	return unit{math.Round(u.per*by*1e9) / 1e9, u.as, u.line}
}

// timeOf returns the unit and the roots of the result of an operation. A time by a rate is a count. A number that is written out
// times 1000 is in milliseconds.
func timeOf(e *parse.BinaryExpr, l, r value) (unit, []root) {
	switch {
	case e.Op == "+" || e.Op == "-":
		return summed(e.Op, l, r), joined(l.roots, r.roots)
	case e.Op == "*" && l.unit.as == aRate && r.unit.per != 0 && !r.constant():
		return unit{r.unit.per / l.unit.per, aProduct, 0}, nil
	case e.Op == "*" && r.unit.as == aRate && l.unit.as != aRate && !l.constant():
		return timeOf(&parse.BinaryExpr{Op: "*", L: e.R, R: e.L}, r, l)
	case e.Op == "/" && r.unit.as == aRate && l.unit.per == 0:
		return unit{r.unit.per, aDuration, 0}, nil
	case e.Op == "*" && l.constant() && r.constant() && (l.size == 1000 || r.size == 1000):
		return unit{per: 1000}, nil
	case e.Op == "*" && l.constant():
		return r.times(l.size)
	case e.Op == "*" && r.isPower() && r.size >= 4096 && l.unit == (unit{as: aTime}):
		return unit{1000 * r.size, aTime, 0}, nil // It makes room for a counter. Most timestamps are in milliseconds.
	case e.Op == "*" && r.constant():
		return l.times(r.size)
	case e.Op == "/" && r.constant():
		return l.times(1 / r.size)
	}
	return unit{}, nil
}

// summed returns the unit of the sum or the difference of two times. That of a time and one which is not known may be a
// duration.
func summed(op string, l, r value) unit {
	u, w := l.unit, r.unit
	sum := unit{per: cmp.Or(u.per, w.per)}
	switch times := u.as == aTime || w.as == aTime; {
	case r.constant():
		return u
	case u.per != w.per && u.per*w.per != 0, max(u.as, w.as) > aTime:
		return unit{}
	case u.as == w.as && u.as != 0:
		sum.as = aDuration
	case times && (op == "+" || w.as == aDuration):
		sum.as = aTime
	}
	return sum
}

// root is from where a time comes, an argument or the scores of a key, say, and by how much it was multiplied.
type root struct {
	of string
	by float64
}

// joined returns the first roots of two values.
func joined(a, b []root) []root {
	all := slices.Concat(a, b)
	return all[:min(len(all), 4)]
}

// scores returns the roots of the scores of a key.
func (m *machine) scores(words []parse.Expr) []root {
	if key := m.keyText(words, 1); key != "" {
		return []root{{key, 1}}
	}
	return nil
}

// loads returns a reply with what is known of the times in it.
func (m *machine) loads(name string, words []parse.Expr, v value) value {
	switch {
	case name == "zscore":
		v.roots = m.scores(words)
	case name == "hget" && len(words) > 2:
		return v.in(m.ofField(words[1], words[2]))
	case name == "hmget" && len(words)-2 == v.known:
		for i, word := range words[2:] {
			v.items[i] = v.items[i].in(m.ofField(words[1], word))
		}
	case shapes[name] == "members" && v.elem != nil:
		v.elem.roots = m.scores(words)
	}
	return v
}

// ofField returns the unit of a field of a hash, as its declaration or its name says.
func (m *machine) ofField(key, e parse.Expr) unit {
	name, _ := constantText(m.c.origin(e))
	if b := m.c.declaredKey(key); b != nil && b.Fields != nil {
		if f, _ := b.Field(name); f != nil && units[f.Type.Name].per > 0 {
			return units[f.Type.Name]
		}
	}
	return said(name, inName)
}

// unsure withdraws that values may well be 0 or have a fraction, if a comparison says more of what they are made of. How
// large something is says nothing of a fraction.
func (m *machine) unsure(cond *parse.BinaryExpr) {
	names := namesIn(cond)
	if parse.Contains(cond, isRemainder) {
		m.state.ask(m.state.at, someWhole)
	}
	if len(names) == 2 && strings.ContainsAny(cond.Op, "<>") {
		m.state.ask(m.state.at, [2]*parse.Var(names))
	}
	for x, v := range m.state.vars {
		if !v.low && !v.split || !m.compares(x, names) {
			continue
		}
		w := *v
		lets := v.size == maxLife && m.peek(cond.R).size == zeroSize && !strings.ContainsAny(cond.Op, "<>") // a TTL of -1
		w.low = v.low && (lets || isFalsy(cond.R))
		w.split = v.split && (strings.ContainsAny(cond.Op, "<>") || constantKind(cond.L) != 0 || constantKind(cond.R) != 0)
		m.state.set(x, w)
	}
}

// compares reports whether a comparison of some names is about one, or only about what it is made of.
func (m *machine) compares(x *parse.Var, names []*parse.Var) bool {
	sources := m.c.flow.sources[x]
	return slices.Contains(names, x) || len(sources) > maxNames || slices.ContainsFunc(sources, func(s source) bool {
		return s.expr != nil && len(names) > 0 && !slices.ContainsFunc(names, func(y *parse.Var) bool { return !mentions(s.expr, y) })
	})
}

// ordered reports whether a comparison is about two names that an expression is made of.
func (m *machine) ordered(e parse.Expr) bool {
	all := m.touched(e)
	for what := range m.state.asked {
		pair, ok := what.([2]*parse.Var)
		if ok && m.state.knows(pair) && slices.Contains(all, any(pair[0])) && slices.Contains(all, any(pair[1])) {
			return true
		}
	}
	return m.state.holds(everything)
}

// isRemainder reports whether an expression is the rest of a division.
func isRemainder(e parse.Expr) bool {
	b, ok := unparen(e).(*parse.BinaryExpr)
	return ok && b.Op == "%"
}

// divided returns a value with the roots of what is divided by 1000: that is not in seconds, but in milliseconds at most.
func (v value) divided() value {
	v.roots = slices.Clone(v.roots)
	for i := range v.roots {
		v.roots[i].of = "/ " + v.roots[i].of
	}
	return v
}
