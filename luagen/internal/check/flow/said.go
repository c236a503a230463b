package flow

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// What names and comments say of units and ids is read here; what they say of the places of words, in exchange.go.

var (
	aUnit   = "(?:" + strings.Join(Words("units"), "|") + ")"
	aLength = "(?:" + strings.Join(Words("lengths"), "|") + ")"
	aSpan   = `(?:` + aLength + `|expiry|expiration)` // which may be the time when it ends
	aMoment = `(?:now|timestamp|epoch|unix time|current time| at|时间戳|当前时间)`
	aClock  = `(?:` + aSpan + `|time|expire|` + aMoment + `)`
)

var (
	humps  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	inName = regexp.MustCompile(`^(?:ms|.+ (?:millis?|ms|m?secs?)|(?:.+ )?(?:(?:milli|micro|nano)?seconds|millis|micros|nanos)|` +
		`.*(?:` + aSpan + `|` + aMoment + `|\btime|^last|^start) ` + aUnit + `)$`)
	// InComment is of comments that say a unit.
	InComment = regexp.MustCompile(`(?:\bin |单位|(?:^|\W|` + aClock + `)[(（]|^|\b` + aClock + ` )` + aUnit + `(?:[^\w/]|$)`)
	ofUnits   = regexp.MustCompile(`(\b(?:milli\w*|msecs?|ms)\b|毫秒)|(\b(?:micro\w*|usecs?|us)\b|微秒)|(\b(?:nano\w*|nsecs?|ns)\b|纳秒)|` +
		`(\b(?:seconds?|secs?|s)\b|秒)`)
	spanAt   = regexp.MustCompile(`\b` + aLength + `\W*(?:in)?\W*$`)
	momentAt = regexp.MustCompile(aMoment + `\W*(?:in)?\W*$`)
)

// Spoken returns the words of a name or a comment.
func Spoken(text string) string {
	return strings.ToLower(strings.ReplaceAll(humps.ReplaceAllString(text, "$1 $2"), "_", " "))
}

// heard has what said has returned, by its arguments: scripts repeat their names, and regular expressions are slow.
var heard sync.Map

// Said returns the unit that a name or a comment certainly says a time is in: window_ms, "heartbeat TTL (milliseconds)".
func Said(text string, in *regexp.Regexp) Unit {
	type saying struct {
		text string
		in   *regexp.Regexp
	}
	says, known := heard.Load(saying{text, in})
	if !known {
		says = unitIn(text, in)
		heard.Store(saying{strings.Clone(text), in}, says)
	}
	return says.(Unit)
}

// unitIn reads what said returns.
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
	case strings.Contains(text, " per ") || strings.Contains(strings.ReplaceAll(text, "每次", ""), "每"):
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
		return Said(x.Name, inName).Or(Said(c.Said[Itoa(x.Pos.Line)], InComment)).Or(Said(c.Said[x.Name], InComment))
	})
}

// argument returns the unit that a comment says ARGV[n] is in, by words or by a name that it gives it.
func (c *code) argument(list string, n int) Unit {
	text := c.Said[list+"["+Itoa(n)+"]"]
	return Said(text, InComment).Or(Said(text, inName))
}

var (
	aLine = regexp.MustCompile(`(?m)^[\s*-]*(?:@param +)?([A-Za-z_]\w*)\W+(\S.*)$`)
	aList = regexp.MustCompile(`\bARGV *[=:] *(?:\{([^}]*)\}|([^\n{]*,.*))`)
)

// comments returns what they say of ARGV[n], of names and of lines.
func comments(s *parse.Script) map[string]string {
	all, text := map[string]string{}, strings.Builder{}
	for _, comment := range s.Comments {
		parse.Said(all, comment.Text)
		plain := strings.Trim(comment.Text, "-[] ")
		all[Itoa(comment.Pos.Line)] = plain
		text.WriteString(plain + "\n")
	}
	for _, line := range aLine.FindAllStringSubmatch(text.String(), -1) {
		all[line[1]] = cmp.Or(all[line[1]], line[2])
	}
	for _, list := range aList.FindAllStringSubmatch(text.String(), -1) {
		for i, item := range strings.Split(list[1]+list[2], ",") {
			name := "ARGV[" + Itoa(i+1) + "]"
			all[name] = cmp.Or(all[name], strings.TrimSpace(item))
		}
	}
	return all
}

var (
	isID    = regexp.MustCompile(`\b(?:(?:id|u?uid|gid|guid|jid|identifier|token|snowflake|64-?bit)\b|(?:member|message|msg|owner|payload|user) *$)`)
	isSmall = regexp.MustCompile(`\b(?:bucket|db|level|node|partition|shard|slot|type|worker|zone)\b`)
)

// identifies reports whether a name, its own or that of its field, or a comment says of a text that is made a number that
// it is an id, of which there may be many.
func (m *Machine) identifies(e parse.Expr, field string) bool {
	made := m.Passed(e, "tonumber")
	text := Spoken(field + " " + m.C.NameOf(e) + " " + m.C.Said["ARGV["+Itoa(m.C.Nth(e, "ARGV"))+"]"])
	return made != nil && isID.MatchString(text) && !isSmall.MatchString(text) && !m.Peek(made).Surely(IsNumber)
}

// Called reports whether an expression has a name of some kind, or a comment says so.
func (m *Machine) Called(e parse.Expr, kind *regexp.Regexp) bool {
	return kind.MatchString(Spoken(m.C.NameOf(e)))
}

// NameOf returns the local name or the field that an expression is, or what a comment says of it; "" for another.
func (c *code) NameOf(e parse.Expr) string {
	switch e := e.(type) {
	case *parse.CallExpr:
		if name := c.Callee(e); len(e.Args) > 0 && (name == "tostring" || name == "tonumber") {
			return c.NameOf(e.Args[0])
		}
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
