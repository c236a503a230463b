package check

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// unit is in what a time is measured. Its zero is unknown.
type unit struct {
	per float64 // second
	as  span
}

// span is how long something takes, or a time since 1970.
type span int

const (
	aDuration span = iota + 1
	aTime
)

// units has them by the names of declared types, and of the places that commands have for them.
var units = map[string]unit{
	"seconds": {1, aDuration}, "milliseconds": {1000, aDuration}, "unixmilli": {1000, aTime},
	"unix-time-seconds": {1, aTime}, "unix-time-milliseconds": {1000, aTime},
}

// replyUnits are those of commands' replies.
var replyUnits = map[string]string{
	"ttl": "seconds", "pttl": "milliseconds", "expiretime": "unix-time-seconds", "pexpiretime": "unix-time-milliseconds",
}

func (u unit) String() string {
	text := map[float64]string{1: "seconds", 1000: "milliseconds", 1e6: "microseconds"}[u.per]
	if u.as == aTime {
		text += " since 1970"
	}
	return text
}

// remedy says how to get one unit from another.
func (u unit) remedy(want unit) string {
	switch {
	case u.per < want.per:
		return "multiply it by 1000"
	case u.per > want.per:
		return "divide it by 1000, with math.ceil"
	}
	return "add or subtract the time"
}

// named returns the unit that a name ends with: ttl_ms, windowSeconds. Of a rate, tokens_per_ms, it is none.
func named(name string) unit {
	for end, per := range map[string]float64{
		"_ms": 1000, "Ms": 1000, "_millis": 1000, "Millis": 1000, "milliseconds": 1000, "_sec": 1, "_secs": 1, "Secs": 1,
		"_seconds": 1, "Seconds": 1,
	} {
		if strings.HasSuffix(name, end) && !strings.Contains(strings.ToLower(name), "per") {
			return unit{per: per}
		}
	}
	return unit{}
}

var (
	saysMilli  = regexp.MustCompile(`(?i)\b(milliseconds?|millis|msecs?|ms)\b`)
	saysSecond = regexp.MustCompile(`(?i)\b(seconds?|secs?|s)\b`)
	saysUnit   = regexp.MustCompile(`(?i)(\bin |\(|^|\b(ttl|timeout|time|expiry|expiration|window|lease|delay|interval) )` +
		`(milliseconds|millis|msecs|ms|seconds|secs)([^\w/]|$)`)
)

// said returns the unit that a comment certainly says an argument is in: "heartbeat TTL (milliseconds)".
func said(comment string) unit {
	text, _, _ := strings.Cut(comment, "ARGV")
	milli := saysMilli.MatchString(text)
	switch {
	case !saysUnit.MatchString(text) || milli == saysSecond.MatchString(text) || strings.Contains(text, "per "):
		return unit{}
	case milli:
		return unit{per: 1000}
	}
	return unit{per: 1}
}

// misnamed finds what is in seconds under a name that says milliseconds, or the other way round.
func (m *machine) misnamed(name string, v value, pos parse.Pos) {
	if says := named(name); says.per*v.unit.per == 1000 {
		m.find(pos, Time, "%s says %s, and this is in %s: %s", name, says, v.unit, v.unit.remedy(says))
	}
}

// differs reports whether two times certainly are of different units.
func (u unit) differs(w unit) bool {
	return u.per*w.per == 1000 || u.per == w.per && u.as != w.as && u.as*w.as != 0
}

// or returns a unit, or another if it is not known.
func (u unit) or(w unit) unit {
	if u.per == 0 {
		return w
	}
	return u
}

// scaled returns the unit of a time that is multiplied by a number: by a thousand it is the next smaller. What is divided
// by whole minutes of 60000 is in milliseconds.
func (u unit) scaled(by float64) unit {
	switch {
	case u.per == 0 && by > 0 && by < 1 && math.Mod(math.Round(1/by), 60000) == 0:
		return unit{per: 1000 * by}
	case u.per > 0 && u.per < 1 && by >= 60000:
		return unit{per: math.Round(u.per * by)}
	case by == 1000 || by == 1e6 || by == 1e-3 || by == 1e-6:
		return unit{u.per * by, u.as}
	case by > 0 && by < 60 && u.as != aTime:
		return u
	}
	return unit{}
}

// summed returns the unit of the sum or the difference of two times.
func summed(e *parse.BinaryExpr, l, r value) unit {
	switch u, w := l.unit, r.unit; {
	case r.constant():
		return u
	case l.constant() && e.Op == "+":
		return w
	case u.per == 0 || w.per == 0:
		return unknownSpan(u.or(w), e.Op)
	case u.per != w.per:
		return unit{}
	case u.as == aTime && w.as == aTime:
		return unit{u.per, aDuration}
	case u.as == aTime || w.as == aTime:
		return unit{u.per, aTime}
	case u.as == w.as:
		return u
	default:
		return unit{per: u.per}
	}
}

// unknownSpan returns the unit of the sum or difference of a time and one whose unit is not known: it is the same, but
// may be that of a duration.
func unknownSpan(u unit, op string) unit {
	if u.as == aTime && op == "+" {
		return u
	}
	return unit{per: u.per}
}

// mixes finds a sum, a difference or a comparison of seconds and milliseconds.
func (m *machine) mixes(e *parse.BinaryExpr, l, r value) {
	if l.unit.per*r.unit.per == 1000 {
		m.find(e.P, Time, "seconds and milliseconds meet here: multiply the seconds by 1000")
	}
}

// expiry checks the time that a command gets.
func (m *machine) expiry(cmd *command, e parse.Expr, f form) {
	want, v, shown := units[f.word], m.peek(e), strings.ToUpper(cmd.name)
	written := v.least > 0 && v.least == v.size // the text of a number, too
	fails := "fails"
	if slices.Contains(ending, cmd.name) {
		fails = "deletes the key"
	}
	switch {
	case want.per == 0 || !cmd.writes:
	case v.unit.differs(want):
		m.find(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, v.unit, v.unit.remedy(want))
	case want.as == aTime && written && v.size < 1e9*want.per:
		m.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is long ago: add the time", shown)
	case want == units["seconds"] && m.thousands(e):
		m.find(e.Pos(), Time, "%s takes seconds here, and a product with 1000 is in milliseconds: leave the 1000 out", shown)
	case v.frac || v.split:
		m.find(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case v.low && want.as == aDuration:
		m.find(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	case want.as == aDuration:
		m.twice(e, want)
	}
}

// thousands reports whether an expression is a number of seconds that is written out, times 1000.
func (m *machine) thousands(e parse.Expr) bool {
	product, ok := m.c.origin(e).(*parse.BinaryExpr)
	return ok && product.Op == "*" && m.peek(product.L).constant() && m.peek(product.R).size == 1000
}

// timing is where an argument is an expiry.
type timing struct {
	unit unit
	line int
}

// twice finds an argument that is an expiry in seconds in one place, and in milliseconds in another, unless the caller
// chooses the place.
func (m *machine) twice(e parse.Expr, want unit) {
	n := m.c.nth(e, "ARGV")
	chosen := func(cond parse.Expr) bool { return !m.decides(cond) }
	if n == 0 || slices.ContainsFunc(slices.Concat(m.conds, m.asked.left), chosen) {
		return
	}
	if first := m.timed[n]; first.unit.differs(want) {
		m.find(e.Pos(), Time, "this is in %s here, and in %s in line %d: multiply or divide it by 1000 in one of them", want,
			first.unit, first.line)
	} else {
		m.timed[n] = timing{want, e.Pos().Line}
	}
}

// unsure withdraws that values may well be 0 or have a fraction, if a comparison says more of what they are made of.
func (m *machine) unsure(cond parse.Expr) {
	names := namesIn(cond)
	for x, v := range m.state.vars {
		made := func(y *parse.Var) bool { return slices.Contains(names, y) }
		if (v.low || v.split) && (made(x) || slices.ContainsFunc(m.c.flow.mentioned(x), made)) {
			w := *v
			w.low, w.split = false, false
			m.state.set(x, w)
		}
	}
}
