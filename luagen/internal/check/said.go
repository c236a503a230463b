package check

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

const (
	aUnit   = `(?:(?:milli|micro|nano)?seconds?|millis?|micros|nanos|[mun]?secs?|[mun]?s|[毫微纳]?秒)`
	aLength = `(?:ttl|timeout|window|interval|period|lease|delay|duration|lifetime)`
	aSpan   = `(?:` + aLength + `|expiry|expiration)` // which may be the time when it ends
	aMoment = `(?:now|timestamp|epoch|unix time|current time| at|时间戳|当前时间)`
	aClock  = `(?:` + aSpan + `|time|expire|` + aMoment + `)`
)

var (
	humps  = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	inName = regexp.MustCompile(`^(?:ms|.+ (?:millis?|ms|m?secs?)|(?:.+ )?(?:(?:milli|micro|nano)?seconds|millis|micros|nanos)|` +
		`.*(?:` + aSpan + `|` + aMoment + `|\btime|^last|^start) ` + aUnit + `)$`)
	inComment = regexp.MustCompile(`(?:\bin |单位|(?:^|\W|` + aClock + `)[(（]|^|\b` + aClock + ` )` + aUnit + `(?:[^\w/]|$)`)
	ofUnits   = regexp.MustCompile(`(\b(?:milli\w*|msecs?|ms)\b|毫秒)|(\b(?:micro\w*|usecs?|us)\b|微秒)|(\b(?:nano\w*|nsecs?|ns)\b|纳秒)|` +
		`(\b(?:seconds?|secs?|s)\b|秒)`)
	inRate   = regexp.MustCompile(` per ` + aUnit + `\b`)
	spanAt   = regexp.MustCompile(`\b` + aLength + `\W*(?:in)?\W*$`)
	momentAt = regexp.MustCompile(aMoment + `\W*(?:in)?\W*$`)
)

// spoken returns the words of a name or a comment.
func spoken(text string) string {
	return strings.ToLower(strings.ReplaceAll(humps.ReplaceAllString(text, "$1 $2"), "_", " "))
}

// heard has what said has returned, by its arguments: scripts repeat their names, and regular expressions are slow.
var heard sync.Map

// said returns the unit that a name or a comment certainly says a time is in: window_ms, "heartbeat TTL (milliseconds)".
func said(text string, in *regexp.Regexp) unit {
	type saying struct {
		text string
		in   *regexp.Regexp
	}
	says, known := heard.Load(saying{text, in})
	if !known {
		says = unitIn(text, in)
		heard.Store(saying{strings.Clone(text), in}, says)
	}
	return says.(unit)
}

// unitIn reads what said returns.
func unitIn(text string, in *regexp.Regexp) (says unit) {
	text, _, _ = strings.Cut(spoken(text), "argv")
	if rate := inRate.FindString(text); rate != "" {
		return unit{per: unitIn(rate[strings.LastIndexAny(rate, " 每")+1:], inComment).per, as: aRate}
	}
	before := text
	if in.MatchString(text) {
		for _, word := range ofUnits.FindAllStringSubmatch(text, -1) {
			n := 1 + slices.IndexFunc(word[1:], func(group string) bool { return group != "" })
			if per := math.Pow(1000, float64(n%4)); says.per == 0 || says.per == per {
				says.per = per
			} else {
				return unit{}
			}
		}
		before = text[:ofUnits.FindStringIndex(text)[0]]
	}
	switch {
	case strings.Contains(text, " per ") || strings.Contains(strings.ReplaceAll(text, "每次", ""), "每"):
		return unit{}
	case momentAt.MatchString(before):
		says.as = aTime
	case spanAt.MatchString(before):
		says.as = aDuration
	}
	return says
}

// says returns the unit that the name of a local or a comment says it is in.
func (c *code) says(x *parse.Var) unit {
	return recalled(c.units, x, func() unit {
		return said(x.Name, inName).or(said(c.said[itoa(x.Pos.Line)], inComment)).or(said(c.said[x.Name], inComment))
	})
}

// argument returns the unit that a comment says ARGV[n] is in, by words or by a name that it gives it.
func (c *code) argument(list string, n int) unit {
	text := c.said[list+"["+itoa(n)+"]"]
	return said(text, inComment).or(said(text, inName))
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
		all[itoa(comment.Pos.Line)] = plain
		text.WriteString(plain + "\n")
	}
	for _, line := range aLine.FindAllStringSubmatch(text.String(), -1) {
		all[line[1]] = cmp.Or(all[line[1]], line[2])
	}
	for _, list := range aList.FindAllStringSubmatch(text.String(), -1) {
		for i, item := range strings.Split(list[1]+list[2], ",") {
			name := "ARGV[" + itoa(i+1) + "]"
			all[name] = cmp.Or(all[name], strings.TrimSpace(item))
		}
	}
	return all
}

var (
	zeroAllowed = regexp.MustCompile(`(?i)\b0\W* (?:to|=|means|for|if|is|disables?|none|no|never)\b|\b0 \(no\b`)
	isID        = regexp.MustCompile(`\b(?:(?:id|u?uid|gid|guid|jid|identifier|token|snowflake|64-?bit)\b|(?:member|message|msg|owner|payload|user) *$)`)
	isSmall     = regexp.MustCompile(`\b(?:bucket|db|level|node|partition|shard|slot|type|worker|zone)\b`)
)

// identifies reports whether a name, its own or that of its field, or a comment says of a text that is made a number that
// it is an id, of which there may be many.
func (m *machine) identifies(e parse.Expr, field string) bool {
	made := m.passed(e, "tonumber")
	text := spoken(field + " " + m.c.nameOf(e) + " " + m.c.said["ARGV["+itoa(m.c.nth(e, "ARGV"))+"]"])
	return made != nil && isID.MatchString(text) && !isSmall.MatchString(text) && !m.peek(made).surely(isNumber)
}

// called reports whether an expression has a name of some kind, or a comment says so.
func (m *machine) called(e parse.Expr, kind *regexp.Regexp) bool {
	return kind.MatchString(spoken(m.c.nameOf(e)))
}

// nameOf returns the local name or the field that an expression is, or what a comment says of it; "" for another.
func (c *code) nameOf(e parse.Expr) string {
	switch e := e.(type) {
	case *parse.CallExpr:
		if name := c.callee(e); len(e.Args) > 0 && (name == "tostring" || name == "tonumber") {
			return c.nameOf(e.Args[0])
		}
	case *parse.NameExpr:
		return e.Name
	case *parse.IndexExpr:
		if field, ok := e.Key.(*parse.StringExpr); ok {
			return "_" + field.Value
		}
		return c.said["ARGV["+itoa(c.nth(e, "ARGV"))+"]"]
	}
	return ""
}
