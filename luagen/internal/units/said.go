package units

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var (
	aUnit   = "(?:" + strings.Join(parse.Words("units"), "|") + ")"
	aLength = "(?:" + strings.Join(parse.Words("lengths"), "|") + ")"
	aSpan   = `(?:` + aLength + `|expiry|expiration)` // which may be the time when it ends
	aMoment = `(?:now|timestamp|epoch|unix|unix time|current time| at|时间戳|当前时间)`
	aClock  = `(?:` + aSpan + `|time|expire|` + aMoment + `)`
)

var (
	humps = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)
	// InName is of names that say a unit.
	InName = regexp.MustCompile(`^(?:ms|.+ (?:millis?|ms|m?secs?)|(?:.+ )?(?:(?:milli|micro|nano)?seconds|millis|micros|nanos)|` +
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
	return strings.ToLower(strings.ReplaceAll(humps.ReplaceAllString(text, "$1$3 $2$4"), "_", " "))
}

// Said returns the unit that a name or a comment certainly says a time is in: window_ms, "heartbeat TTL (milliseconds)".
func Said(text string, in *regexp.Regexp) (says Unit) {
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
		says.As = Moment
	case spanAt.MatchString(before):
		says.As = Duration
	}
	return says
}

var aList = regexp.MustCompile(`\bARGV *[=:] *(?:\{([^}]*)\}|([^\n{]*,.*))`)

// Comments returns what those of a script say of ARGV[n] and of lines.
func Comments(s *parse.Script) map[string]string {
	all, text := map[string]string{}, strings.Builder{}
	for _, comment := range s.Comments {
		parse.Said(all, comment.Text)
		plain := strings.Trim(comment.Text, "-[] ")
		all[strconv.Itoa(comment.Pos.Line)] = plain
		text.WriteString(plain + "\n")
	}
	for _, list := range aList.FindAllStringSubmatch(text.String(), -1) {
		for i, item := range strings.Split(list[1]+list[2], ",") {
			name := "ARGV[" + strconv.Itoa(i+1) + "]"
			all[name] = cmp.Or(all[name], strings.TrimSpace(item))
		}
	}
	return all
}
