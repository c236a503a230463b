package check

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// What names, and the comments on arguments, say in words.
var (
	identityName = regexp.MustCompile(`\b(?:u?u?id|key|token|owner|name|field|job|task|item|entry|message|msg|payload|user|` +
		`identifier|member|digest|client|worker|consumer|session)$`)
	measureName = regexp.MustCompile(`\b(?:score|priority|time|timestamp|now|count|amount|delta|increment|index|idx|size|at|expire|` +
		aSpan + `)(?: \(?` + aUnit + `\)?)?$`)
	ttlName    = regexp.MustCompile(`^ttl\W\W|\b(?:ttl|expire|expiry|expiration)(?:(?: in)? \(?` + aUnit + `\)?)?$`)
	placeNames = map[string]*regexp.Regexp{
		"seconds": ttlName, "milliseconds": ttlName, "index": regexp.MustCompile(`\b(?:index|idx|position)$`),
	}
	momentName           = regexp.MustCompile(`(?:` + aMoment + `|\b(?:time|cutoff|deadline|score))$`)
	countName            = regexp.MustCompile(`\b(?:count|size|length|len|limit|max|total|num)$`)
	offsetName           = regexp.MustCompile(`\b(?:offset|start|skip|from)$`)
	memberName           = regexp.MustCompile(`\b(?:u?u?id|member|user|name|job|task|owner|winner|bidder|player)$`)
	scoreName            = regexp.MustCompile(`\b(?:score|priority|rank|points|amount|amt|price)$`)
	lowName, highName    = regexp.MustCompile(`\b(?:min|low|from|start|since)\b`), regexp.MustCompile(`\b(?:max|high|until|end|stop|to)\b`)
	keyNamed, fieldNamed = regexp.MustCompile(`\bkey$`), regexp.MustCompile(`^[A-Za-z_]{2,}$`)
)

// called reports whether an expression has a name of some kind, or a comment says so.
func (m *machine) called(e parse.Expr, kind *regexp.Regexp) bool {
	return kind.MatchString(spoken(m.c.nameOf(e)))
}

// identity reports whether a word certainly is the name of something: it is declared as a string, or called so.
func (m *machine) identity(e parse.Expr) bool {
	v := m.peek(e)
	return v.named() || !v.numeric() && m.called(e, identityName)
}

// used counts in which places of commands a script has its arguments and names. Method side adds comparisons with values.
func (m *machine) used() map[string]int {
	if m.usage != nil {
		return m.usage
	}
	m.usage = map[string]int{}
	for _, e := range m.c.flow.calls {
		call, _ := m.c.commandCall(e)
		for _, name := range call.names {
			cmd := m.c.targets[0].of(call, name)
			if cmd == nil {
				continue
			}
			match := m.matched(call, cmd)
			for i, f := range match.as {
				of := m.subject(match.words[i])
				m.usage[of+f.word]++
				m.usage[of+name+f.word]++
				if units[f.word].per != 0 {
					m.usage[of+"time"]++
				}
			}
		}
	}
	return m.usage
}

// subject returns by what used knows the argument or name that a word is; " " for another.
func (m *machine) subject(e parse.Expr) string {
	return cmp.Or(m.keyName(e, 1), m.c.nameOf(e)) + " "
}

// measure reports whether a word certainly is a number, or is called so.
func (m *machine) measure(e parse.Expr) bool { return m.peek(e).numeric() || m.called(e, measureName) }

// nameOf returns the local name or the field that an expression is, or what a comment says of it; "" for another.
func (c *checker) nameOf(e parse.Expr) string {
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

// exchanged finds a word in the place of a number, while the number stands in the place of a text.
func (m *machine) exchanged(match *matching, i int) bool {
	f, word := match.as[i], match.words[i]
	for j, text := range match.as {
		other := match.words[j]
		member := slices.Contains([]string{"member", "element", "field"}, text.word)
		if !f.number || text.word != "value" && (!member || j != i+1 && j != i-1) {
			continue
		}
		_, literal := m.c.origin(other).(*parse.NumberExpr)
		own := placeNames[f.word]
		if m.sisters(match, i, j) || m.measure(other) && (m.identity(word) || member && literal && !m.measure(word)) ||
			own != nil && m.called(other, own) && (!m.measure(word) || bound(word) == 1) {
			m.find(word.Pos(), Command, "%s takes the %s here, a number: exchange it with the %s", shown(match.cmd.name), f.word, text.word)
			m.usage[m.subject(other)+"time"] = 0 // its sister is no second fault
			return true
		}
	}
	is := m.subject(word)
	named := units[f.word].as == aDuration && (is != " " && m.used()[is+"="] > 0 || varOf(word) != nil && m.identity(word))
	if named {
		m.find(word.Pos(), Command, "%s takes %s here, and this is the name of something", shown(match.cmd.name), f.word)
	}
	return named
}

// misplaced finds a key, or a field of a hash, that stands in the place of the word behind it.
func (m *machine) misplaced(match *matching, i int) {
	f := match.as[i].word
	if i+1 >= len(match.as) || match.as[i+1].isToken() || match.as[i+1].word == "key" || f != "channel" && f != "field" && (f != "key" || i > 1) {
		return
	}
	word, next := match.words[i], match.words[i+1]
	of, w, n := m.used(), m.subject(word), m.subject(next)
	literal, _ := m.c.origin(next).(*parse.StringExpr)
	_, written := constantText(m.c.origin(word))
	passed := m.c.nth(next, "KEYS") > 0
	switch keyed := passed || n != " " && of[n+"key"] > 0 || f == "key" && m.called(next, keyNamed); {
	case f == "channel" && passed && m.c.nth(word, "ARGV") > 0 && of[n+"key"] == 0:
	case f == "key" && keyed && of[w+"key"] == 1 && m.c.nth(word, "KEYS") == 0 && !m.called(word, keyNamed) && (m.measure(word) || m.identity(word)):
	case f == "field" && literal != nil && fieldNamed.MatchString(literal.Value) && !written &&
		(of[n+"field"] > 0 || m.measure(word) || match.at("field") != i || spoken(m.c.nameOf(word)) == spoken(literal.Value)):
	default:
		return
	}
	m.found[fmt.Sprint(next.Pos(), Command)] = true // which is no second fault
	if !slices.ContainsFunc(m.c.findings, func(f parse.Finding) bool { return f.Pos == word.Pos() }) {
		m.find(word.Pos(), Command, "%s takes the %s here: exchange it with the %s", shown(match.cmd.name), f, match.as[i+1].word)
	}
}

// sisters reports whether other calls of the script have two words in each other's places: so they are exchanged here.
func (m *machine) sisters(match *matching, i, j int) bool {
	of, f, text, a, b := m.used(), match.as[i].word, match.as[j].word, m.subject(match.words[i]), m.subject(match.words[j])
	switch {
	case a == " " || a == b:
		return false
	case text == "value":
		return b != " " && units[f].per != 0 && !m.called(match.words[i], ttlName) && of[b+"time"] > 0 && of[a+"time"] == 1
	}
	return !m.measure(match.words[i]) && of[a+match.cmd.name+text] > 0 && of[a+f] == 1 && of[b+text] <= 1
}

// limit finds the words of LIMIT that are exchanged.
func (m *machine) limit(match *matching) {
	if count := match.at("count"); count > 1 && match.as[count-1].word == "offset" &&
		(bound(match.words[count]) == 0 || m.called(match.words[count], offsetName) && !m.called(match.words[count-1], offsetName)) {
		m.find(match.words[count-1].Pos(), Command, "LIMIT takes the offset first: exchange it with the count")
	}
}

// reversed finds a range that is always empty, as its ends are exchanged, and one by ranks where scores are meant.
func (m *machine) reversed(match *matching) {
	options, known := match.options()
	low, high := match.at("min", "start"), match.at("max", "stop", "end")
	rev, name := options.has("rev"), match.cmd.name
	if !known || low*high == 0 {
		return
	}
	first := match.as[min(low, high)].word
	ranks := match.as[low].word == "start" && !options.has("byscore", "bylex")
	if rev && !ranks {
		low, high, first = high, low, "highest"
	}
	from, to, lex := match.words[low], match.words[high], strings.Contains(name, "lex") || options.has("bylex")
	a, b := bound(from), bound(to)
	word := func(e parse.Expr, n float64) bool {
		_, isText := m.c.origin(e).(*parse.StringExpr)
		return isText && (math.IsNaN(n) || math.IsInf(n, 0))
	}
	switch {
	case lex && !isLiteral(from, "+") && !isLiteral(to, "-"):
	case ranks && name == "zrange" && (word(from, a) || word(to, b) || options.has("limit")):
		m.find(from.Pos(), Command, "ZRANGE takes scores, and LIMIT, only with BYSCORE: write it behind them")
	case ranks && (match.as[low].number || name == "zrange") && (m.moment(from) || m.moment(to)):
		m.find(to.Pos(), Command, "%s takes ranks, and this is a time or a score: the command by score is meant", shown(name))
	case !ranks && a == 0 && name != "zcount" && (m.counts(to) || b == 0 && !lex || math.IsNaN(b) && negative(to)):
		m.find(to.Pos(), Command, "%s takes scores, and this is a rank: the command by rank is meant", shown(name))
	case ranks && name == "ltrim" && !math.IsNaN(a), ranks && a == 1 && b == 0: // nobody writes that by mistake
	case ranks && (a < 0) == (b < 0) && a > b, ranks && a == -1 && b == 0,
		!ranks && (a > b || math.IsInf(a, 1) || math.IsInf(b, -1)), isLiteral(from, "+"), isLiteral(to, "-"), math.IsNaN(a) && b == 0 && !negative(from),
		!strings.HasPrefix(name, "zrev") && m.called(from, highName) && m.called(to, lowName) && !m.c.turned(from) && !m.c.turned(to),
		m.less(to, from, "-"), m.less(from, to, "+"):
		m.find(from.Pos(), Command, "this range is always empty: exchange its ends, %s takes the %s first", shown(name), first)
	}
}

// moment reports whether an end of a range is a time or a score, by its value or its name.
func (m *machine) moment(e parse.Expr) bool {
	return m.peek(e).unit.as == aTime || m.called(e, momentName)
}

// counts reports whether an end of a range is a number of elements, or one less.
func (m *machine) counts(e parse.Expr) bool {
	b, ok := m.c.origin(e).(*parse.BinaryExpr)
	less := ok && b.Op == "-" && bound(b.R) == 1
	return m.peek(e).size == aCount().size || less && (m.peek(b.L).size == aCount().size || m.called(b.L, countName))
}

// turned reports whether a name may hold something negative, which counts from the other end.
func (c *checker) turned(e parse.Expr) bool {
	return slices.ContainsFunc(c.flow.sources[varOf(e)], func(s source) bool { return negative(s.expr) })
}

// less reports whether an expression is another less, or more, something.
func (m *machine) less(e, than parse.Expr, op string) bool {
	b, ok := m.c.origin(e).(*parse.BinaryExpr)
	return ok && b.Op == op && m.keyName(b.L, 1) != "" && m.keyName(b.L, 1) == m.keyName(than, 1)
}

func negative(e parse.Expr) bool {
	minus, ok := unparen(e).(*parse.UnaryExpr)
	return ok && minus.Op == "-"
}

// bound returns the end of a range that is written out, NaN if it is not.
func bound(e parse.Expr) float64 {
	text, _ := constantText(e)
	if minus, isUnary := e.(*parse.UnaryExpr); isUnary && minus.Op == "-" {
		return -bound(minus.X)
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
