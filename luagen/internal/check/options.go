package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// words checks that a call has the form of its command.
func (m *machine) words(call commandCall, name string) {
	for _, word := range call.words[:len(call.words)-1] {
		if fn, ok := word.(*parse.CallExpr); ok && m.c.callee(fn) == "unpack" {
			m.find(word.Pos(), Command, "unpack gives one value here, as it is not the last word: put all words into a table")
		}
	}
	switch match := m.formOf(call, name); {
	case match.cmd == nil:
	case match.as == nil:
		m.misses(call, match)
	default:
		m.places(match)
		m.useless(call, match)
	}
}

// formOf matches the words of a call with the form of its command: it has that of one server, for a raw script, or of
// all that are meant.
func (m *machine) formOf(call commandCall, name string) *matching {
	if known := m.forms[call.expr]; known != nil {
		return known
	}
	targets := m.c.targets
	if m.c.s.Raw {
		targets = slices.Concat(targets, m.c.tables.all)
	}
	match := &matching{}
	for _, t := range targets {
		cmd := t.of(call, name)
		if cmd == nil || cmd.form == "" {
			continue
		}
		if match = m.matched(call, cmd); (match.as != nil) == m.c.s.Raw {
			break
		}
	}
	m.forms[call.expr] = match
	return match
}

// of returns what a server knows of a command, or of a subcommand, that a call may be.
func (t *table) of(call commandCall, name string) *command {
	cmd := t.commands[name]
	if cmd != nil && cmd.subs {
		sub, _ := subcommand(call)
		cmd = t.commands[name+"|"+sub]
	}
	if cmd == nil || cmd.noscript || cmd.refuses(call) {
		return nil
	}
	return cmd
}

// maxOpen is the most words that are tried in the place of an expression with any number of values.
const maxOpen = 8

// matched looks for a match of a call's words, which has none if it finds none.
func (m *machine) matched(call commandCall, cmd *command) *matching {
	words, from, last := call.words, 1+strings.Count(cmd.name, "|"), 0
	if call.open {
		last = maxOpen
		words = words[:len(words)-1]
	}
	parts := recalled(m.c.formsOf, cmd.form, func() []form {
		alts, _ := readForm(formParts.FindAllString(cmd.form, -1))
		return alts[0]
	})
	best := &matching{cmd: cmd}
	for n := range last + 1 {
		match := &matching{cmd: cmd, words: words}
		match.fits = func(i int, f form) bool { return m.fits(match, i, f) }
		if match.match(parts, from) {
			return match
		}
		best.furthest = max(best.furthest, match.furthest)
		if n < last {
			words = append(slices.Clone(words), call.words[len(call.words)-1])
		}
	}
	return best
}

// fits reports whether a word of a call may stand in a place. Only a word that is not known to be a number may be a
// token at run time, and only if there is no such token before it: the caller chooses all of them.
func (m *machine) fits(match *matching, i int, f form) bool {
	if f.number && m.c.keyed[m.c.nth(match.words[i], "KEYS")] {
		return false
	}
	switch e := m.c.origin(match.words[i]).(type) {
	case *parse.StringExpr:
		tokens := strings.FieldsFunc(match.cmd.form, func(r rune) bool { return r < 'A' || r > 'Z' })
		value := match.cmd.writes && i == len(match.words)-1 && i < 4 // SET key 'GET' may mean the text
		lost := len(e.Value) > 1 && !value && (slices.Contains(tokens, e.Value) || i > 3 && match.cmd.name == "set" && slices.Contains(tokens, strings.ToUpper(e.Value)))
		return !f.isToken() && !lost && (!f.number || isNumeral(e.Value) && !(strings.HasPrefix(f.word, "st") && strings.Contains(e.Value, "inf"))) ||
			f.isToken() && strings.EqualFold(e.Value, f.word)
	case *parse.NumberExpr:
		return !f.isToken()
	case *parse.BinaryExpr:
		if first, literal := m.c.origin(e.L).(*parse.StringExpr); literal && e.Op == ".." && f.isToken() {
			return strings.HasPrefix(f.word, strings.ToUpper(first.Value))
		} else if f.number && worded(e) {
			return false
		}
	}
	_, behind := m.c.origin(match.words[i-1]).(*parse.StringExpr)
	return !f.isToken() || !m.peek(match.words[i]).numeric() && !(behind && match.as[i-1].isToken())
}

// worded reports whether texts are joined that are no number, as one of them has other letters.
func worded(e parse.Expr) bool {
	b, ok := unparen(e).(*parse.BinaryExpr)
	part, literal := unparen(e).(*parse.StringExpr)
	return ok && b.Op == ".." && (worded(b.L) || worded(b.R)) || literal && text(strings.TrimLeft(part.Value, "(#")).word
}

// misses finds a call that does not have the form of its command.
func (m *machine) misses(call commandCall, match *matching) {
	cmd := match.cmd
	form := shown(cmd.name) + " " + strings.NewReplacer(",", " ", "#", "").Replace(cmd.form)
	if match.furthest >= len(call.words) {
		m.find(call.words[len(call.words)-1].Pos(), Command, "%s lacks a word behind this: its form is %s", shown(cmd.name), form)
		return
	}
	m.find(call.words[match.furthest].Pos(), Command, "%s does not take this word here: its form is %s", shown(cmd.name), form)
}

// places checks the values of a call whose words have these places.
func (m *machine) places(match *matching) {
	cmd := match.cmd
	for i, f := range match.as {
		word := match.words[i]
		m.field(match, word, f)
		m.pattern(cmd, word, f)
		if v := m.peek(word); f.number {
			m.member(v, word.Pos())
			if slices.Contains(counting, cmd.name) && (v.frac || v.split && !m.state.knows(someWhole)) {
				m.find(word.Pos(), Command, "%s fails if this has a fraction: write math.ceil", shown(cmd.name))
			}
		}
		_, chosen := m.c.origin(match.words[max(i, 1)-1]).(*parse.StringExpr)
		if chosen || i > 0 && !match.as[i-1].isToken() { // else the caller chooses the unit
			m.expiry(cmd, word, f, match.words[len(match.words)-1])
			if cmd.writes && units[f.word].per != 0 {
				m.state.sure[lives+m.keyText(match.words, 1)] = true
			}
		}
		m.stores(match, i)
		if !f.number {
			m.rounded(word)
		}
	}
}

// counting are the commands that add whole numbers only.
var counting = []string{"decrby", "hincrby", "incrby"}

// useless finds a call that does nothing, or whose reply is always the same, as it lacks an option or has another one.
func (m *machine) useless(call commandCall, match *matching) {
	options, written := match.options()
	has, last, key, says := options.has, match.words[len(match.words)-1], m.keyText(match.words, 1), ""
	set, zadd := match.cmd.name == "set", match.cmd.name == "zadd"
	switch first, tested := set && !m.follows(call, "", key), (set || zadd) && m.c.inCondition(call.expr); {
	case first && has("xx"):
		says = "with XX stores nothing if the key is missing, and no call before asks for it: NX is for a key that is missing"
	case first && tested && written && !call.open && m.raises(call.expr) && !has("nx") && !has("get") && !has("ifeq"):
		says = "without NX always stores, so its reply is always true: write NX"
	case zadd && key != "" && has("nx") && m.c.nth(last, "ARGV") == 0 && m.follows(call, "zr", key):
		says = "with NX changes no member that is there, and this one was read from the same key: write XX"
	case zadd && tested && has("xx") && !has("ch") && !has("incr"):
		says = "with XX always replies 0, as it counts new members: write CH, too"
	default:
		return
	}
	m.find(match.words[0].Pos(), Command, "%s %s", shown(match.cmd.name), says)
}

// follows reports whether a call before this one is on the same key, of a command that begins so; in a long script one may.
func (m *machine) follows(call commandCall, begin, key string) bool {
	all := m.c.flow.calls
	return len(all) > maxWithin && begin == "" || slices.ContainsFunc(all[:min(maxWithin, slices.Index(all, call.expr))], func(e *parse.CallExpr) bool {
		c, _ := m.c.commandCall(e)
		return len(c.names) > 0 && strings.HasPrefix(c.names[0], begin) && m.keyText(c.words, 1) == key
	})
}

// pattern finds a word of SORT that makes it read keys which are not declared.
func (m *machine) pattern(cmd *command, e parse.Expr, f form) {
	text, literal := m.c.origin(e).(*parse.StringExpr)
	reads := literal && strings.Contains(text.Value, "*") || !literal && !m.c.s.Raw
	if reads && strings.HasPrefix(cmd.name, "sort") && strings.HasSuffix(f.word, "pattern") {
		m.find(e.Pos(), Key, "%s reads keys by this pattern that luagen cannot check: read them by their names",
			strings.ToUpper(cmd.name))
	}
}
