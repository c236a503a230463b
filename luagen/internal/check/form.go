package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// form is a part of the form of a command's arguments.
type form struct {
	word   string   // a token in capital letters, or the name of a value; "" for a group
	number bool     // the value is one
	alts   [][]form // of a group: its choices

	optional, many bool
}

var formParts = regexp.MustCompile(`\.\.\.|[][()|,]|[^][()|,.]+`)

// readForm reads the choices of a form as a table has it: key,value,[NX|XX],[EX,seconds#|PX,milliseconds#].
func readForm(parts []string) (alts [][]form, rest []string) {
	alts = [][]form{nil}
	for len(parts) > 0 {
		var f form
		part, last := parts[0], &alts[len(alts)-1]
		parts = parts[1:]
		switch part {
		case "]", ")":
			return alts, parts
		case "|":
			alts = append(alts, nil)
			continue
		case "...":
			if len(*last) > 0 {
				(*last)[len(*last)-1].many = true
			}
			continue
		case ",":
			continue
		case "[", "(":
			f.optional = part == "["
			f.alts, parts = readForm(parts)
		default:
			f.word, f.number = strings.CutSuffix(part, "#")
		}
		*last = append(*last, f)
	}
	return alts, nil
}

// isToken reports whether a word of a form stands in a call as it is.
func (f form) isToken() bool { return f.word != "" && strings.ToUpper(f.word) == f.word }

// movable reports whether a part may stand in any order with its like: all of its choices begin with a token.
func (f form) movable() bool {
	for _, alt := range f.alts {
		if len(alt) == 0 || !alt[0].isToken() && !alt[0].movable() {
			return false
		}
	}
	return len(f.alts) > 0
}

// matching finds out whether the words of a call have a form, which is given by its parts.
type matching struct {
	cmd      *command
	words    []parse.Expr
	fits     func(i int, f form) bool // whether a word may stand in a place
	as       []form                   // the places that the words have, if they match
	furthest int                      // the first word that fits nowhere
	steps    int
}

// maxSteps is how long a match is looked for; then there may be one.
const maxSteps = 20_000

func (m *matching) sequence(s []form, i int, next func(int) bool) bool {
	if len(s) == 0 {
		return next(i)
	}
	moved := 0
	for moved < len(s) && s[moved].movable() {
		moved++
	}
	for k := range moved {
		rest := append(append([]form{}, s[:k]...), s[k+1:]...)
		if m.part(s[k], i, func(j int) bool { return j > i && m.sequence(rest, j, next) }) {
			return true
		}
	}
	if moved == 0 {
		return m.part(s[0], i, func(j int) bool { return m.sequence(s[1:], j, next) })
	}
	for _, f := range s[:moved] {
		if !f.optional {
			return false
		}
	}
	return m.sequence(s[moved:], i, next)
}

// part matches one part from a word on, and goes on with next.
func (m *matching) part(f form, i int, next func(int) bool) bool {
	m.steps++
	again := next
	if f.many {
		more := f
		more.optional = false
		again = func(j int) bool { return j > i && m.part(more, j, next) || next(j) }
	}
	switch {
	case m.steps > maxSteps:
		return true
	case f.alts == nil:
		return m.word(f, i) && again(i+1)
	}
	for _, alt := range f.alts {
		if m.sequence(alt, i, again) {
			return true
		}
	}
	return f.optional && next(i)
}

func (m *matching) word(f form, i int) bool {
	if i < len(m.words) && m.fits(i, f) {
		m.as[i] = f
		return true
	}
	m.furthest = max(m.furthest, i)
	return false
}

// match reports whether all words from a place on have a form, which is given by its parts.
func (m *matching) match(parts []form, from int) bool {
	m.as = make([]form, len(m.words))
	return m.sequence(parts, from, func(i int) bool {
		m.furthest = max(m.furthest, i)
		return i == len(m.words)
	})
}

// tokens are words of a call that stand in the form of its command.
type tokens []string

func (t tokens) has(some ...string) bool {
	return slices.ContainsFunc(some, func(token string) bool { return slices.Contains(t, token) })
}

// options returns the tokens of a call, in small letters. It is false if one of them is not written out, or if the words
// do not match.
func (m *matching) options() (all tokens, written bool) {
	written = m.as != nil
	for i, f := range m.as {
		switch token, literal := m.words[i].(*parse.StringExpr); {
		case f.isToken() && literal:
			all = append(all, strings.ToLower(token.Value))
		case f.isToken():
			written = false
		}
	}
	return all, written
}

// isNumeral reports whether the server may take a text for a number, or for the bound of a range.
func isNumeral(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimLeft(text, "(#"), 64)
	return err == nil
}
