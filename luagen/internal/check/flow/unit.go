package flow

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Unit is in what a time is measured. Its zero is unknown.
type Unit struct {
	Per float64 // second
	As  span
}

// span is how long something takes, or a time since 1970.
type span int

const (
	ADuration span = iota + 1 // how long something takes
	ATime                     // since 1970
)

// Units has them by the names of declared types, and of the places that commands have for them.
var Units = map[string]Unit{
	"seconds": {1, ADuration}, "milliseconds": {1000, ADuration}, "unixmilli": {1000, ATime},
	"microseconds": {1e6, ADuration}, "unix-time-seconds": {1, ATime}, "unix-time-milliseconds": {1000, ATime},
}

// UnitNames are those of units, by how many of them are a second. Nobody means the last two: something was multiplied wrongly.
var UnitNames = map[float64]string{1: "seconds", 1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds", 1e-3: "thousands of seconds", 1e12: "picoseconds"}

// String says a unit in words.
func (u Unit) String() string {
	text := UnitNames[u.Per]
	if u.As == ATime {
		text += " since 1970"
	}
	return text
}

// Remedy says how to get one unit from another.
func (u Unit) Remedy(want Unit) string {
	switch by := want.Per / u.Per; {
	case by == 1:
		return "add or subtract the time"
	case by > 1:
		return fmt.Sprintf("multiply it by %.0f", by)
	default:
		return fmt.Sprintf("divide it by %.0f, with math.ceil", 1/by)
	}
}

// Apart reports whether two times certainly are of different units.
func (u Unit) Apart(w Unit) bool {
	return UnitNames[u.Per] != "" && UnitNames[w.Per] != "" && u.Per != w.Per
}

// Or returns a unit, or another as far as it is not known.
func (u Unit) Or(w Unit) Unit {
	return Unit{cmp.Or(u.Per, w.Per), cmp.Or(u.As, w.As)}
}

// In returns a value with a unit, if none is known.
func (v Value) In(says Unit) Value {
	if v.Unit = v.Unit.Or(says); v.Unit.As == ATime {
		v.Large = cmp.Or(v.Large, Now*v.Unit.Per)
	}
	return v
}

// timeOf returns the unit of a sum or a difference of times, or of a time that a number which is written out makes another of.
func timeOf(e *parse.BinaryExpr, l, r Value) Unit {
	u, w, by := l.Unit, r.Unit, r.Size
	switch {
	case (e.Op == "+" || e.Op == "-") && !u.Apart(w):
		sum := Unit{Per: cmp.Or(u.Per, w.Per)}
		switch { // That of a time and one which is not known may be a duration.
		case r.Constant() || isRemainder(e.R):
			return u
		case u.As == w.As && u.As != 0:
			sum.As = ADuration
		case e.Op == "+" || w.As == ADuration:
			sum.As = max(u.As, w.As)
		}
		return sum
	case e.Op == "*" && l.Constant():
		u, by = w, l.Size
	case e.Op == "/" && r.Constant():
		by = 1 / r.Size
	case e.Op != "*" || !r.Constant():
		return Unit{}
	}
	if by >= 60 || by <= 1.0/60 { // A small one changes no unit.
		u.Per = math.Round(u.Per*by*1e9) / 1e9
	}
	return u
}

// Learn notes the unit of arguments that an expression is made of, of which nothing else says any, by what it is used for.
func (m *Machine) Learn(e parse.Expr, u Unit) {
	if whole := cmp.Or(m.Passed(e, "math.ceil"), m.Passed(e, "math.floor")); whole != nil {
		e = whole
	}
	if b, ok := parse.Unparen(e).(*parse.BinaryExpr); ok {
		u.Per /= timeOf(b, Value{Number: Number{Unit: Unit{Per: 1}}}, m.Peek(b.R)).Per // and so infinite if it cannot be one
		if m.Learn(b.L, u); b.Op == "+" || b.Op == "-" {
			m.Learn(b.R, u)
		}
	} else if n := m.C.Nth(e, "ARGV"); n > 0 && UnitNames[u.Per] != "" && m.Peek(e).Unit.Per == 0 {
		m.State.Sure[unitOf+Itoa(n)+UnitNames[u.Per]] = true
	}
}

// learned returns the unit that was learned of an argument.
func (m *Machine) learned(e parse.Expr) (u Unit) {
	n := m.C.Nth(e, "ARGV")
	for _, per := range []float64{1, 1e3, 1e6} {
		if n > 0 && m.State.Sure[unitOf+Itoa(n)+UnitNames[per]] {
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

var (
	aUnit   = "(?:" + strings.Join(parse.Words("units"), "|") + ")"
	aLength = "(?:" + strings.Join(parse.Words("lengths"), "|") + ")"
	aSpan   = `(?:` + aLength + `|expiry|expiration)` // which may be the time when it ends
	aMoment = `(?:now|timestamp|epoch|unix|unix time|current time| at|时间戳|当前时间)`
	aClock  = `(?:` + aSpan + `|time|expire|` + aMoment + `)`
)

var (
	humps  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	inName = regexp.MustCompile(`^(?:ms|.+ (?:millis?|ms|m?secs?)|(?:.+ )?(?:(?:milli|micro|nano)?seconds|millis|micros|nanos)|` +
		`.*(?:` + aSpan + `|` + aMoment + `|\btime|^last|^start) ` + aUnit + `)$`)
	// InComment is of comments that say a unit.
	InComment = regexp.MustCompile(`(?:\bin |单位|(?:^|\W|` + aClock + `)[(（]|^|\b` + aClock + ` )` + aUnit + `(?:[^\w/]|$)`)
	anAmount  = regexp.MustCompile(` per |\d ` + aUnit + `\b`) // of times, or in a time
	ofUnits   = regexp.MustCompile(`(\b(?:milli\w*|msecs?|ms)\b|毫秒)|(\b(?:micro\w*|usecs?|us)\b|微秒)|(\b(?:nano\w*|nsecs?|ns)\b|纳秒)|` +
		`(\b(?:seconds?|secs?|s)\b|秒)`)
	spanAt   = regexp.MustCompile(`\b` + aLength + `\W*(?:in)?\W*$`)
	momentAt = regexp.MustCompile(aMoment + `\W*(?:in)?\W*$`)
)

// Spoken returns the words of a name or a comment.
func Spoken(text string) string {
	return strings.ToLower(strings.ReplaceAll(humps.ReplaceAllString(text, "$1 $2"), "_", " "))
}

// Hears returns the unit that a name or a comment certainly says a time is in: window_ms, "heartbeat TTL (milliseconds)".
func (c *code) Hears(text string, in *regexp.Regexp) Unit {
	return recalled(c.heard, in.String()+text, func() Unit { return unitIn(text, in) })
}

// unitIn reads what Hears returns.
func unitIn(text string, in *regexp.Regexp) (says Unit) {
	text, _, _ = strings.Cut(Spoken(text), "argv")
	before := text
	if in.MatchString(text) {
		for _, word := range ofUnits.FindAllStringSubmatch(text, -1) {
			n := 1 + slices.IndexFunc(word[1:], func(group string) bool { return group != "" })
			if per := math.Pow(1000, float64(n%4)); says.Per == 0 || says.Per == per {
				says.Per = per
			} else {
				return Unit{}
			}
		}
		before = text[:ofUnits.FindStringIndex(text)[0]]
	}
	switch {
	case anAmount.MatchString(text) || strings.Contains(strings.ReplaceAll(text, "每次", ""), "每"):
		return Unit{}
	case momentAt.MatchString(before):
		says.As = ATime
	case spanAt.MatchString(before):
		says.As = ADuration
	}
	return says
}

// says returns the unit that the name of a local or a comment says it is in.
func (c *code) says(x *parse.Var) Unit {
	return recalled(c.units, x, func() Unit {
		return c.Hears(x.Name, inName).Or(c.Hears(c.Said[Itoa(x.Pos.Line)], InComment))
	})
}

var aList = regexp.MustCompile(`\bARGV *[=:] *(?:\{([^}]*)\}|([^\n{]*,.*))`)

// comments returns what they say of ARGV[n] and of lines.
func comments(s *parse.Script) map[string]string {
	all, text := map[string]string{}, strings.Builder{}
	for _, comment := range s.Comments {
		parse.Said(all, comment.Text)
		plain := strings.Trim(comment.Text, "-[] ")
		all[Itoa(comment.Pos.Line)] = plain
		text.WriteString(plain + "\n")
	}
	for _, list := range aList.FindAllStringSubmatch(text.String(), -1) {
		for i, item := range strings.Split(list[1]+list[2], ",") {
			name := "ARGV[" + Itoa(i+1) + "]"
			all[name] = cmp.Or(all[name], strings.TrimSpace(item))
		}
	}
	return all
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
