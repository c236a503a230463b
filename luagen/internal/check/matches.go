package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

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
