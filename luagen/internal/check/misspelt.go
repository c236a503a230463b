package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// written is what a script does with a field of a hash.
type written struct {
	read, wrote bool
	uses        int
	pos         parse.Pos
}

// tableField notes a field of a table that the script makes, or that comes from elsewhere: from cjson.decode, or from a
// reply of HGETALL. A table that a function gets may have other fields.
func (m *machine) tableField(e *parse.IndexExpr, write bool) {
	if m.quiet > 0 {
		return
	}
	name, literal := e.Key.(*parse.StringExpr)
	record, made := m.c.origin(e.X).(*parse.TableExpr)
	library, _ := memberOf(e)
	key, x := m.hashOf(e.X), varOf(e.X)
	element, ok := m.c.origin(e.Key).(*parse.IndexExpr)
	switch {
	case ok && write && x != nil:
		m.filled[x] = element.X
		return
	case !literal || library != nil || made && key == "" && m.c.flow.others(x):
		return
	case !made:
		key = cmp.Or(key, anyTable)
	case key == "":
		key = aRecord + fixed(e.X)
		first := m.hashes[key] == nil
		for i := 0; first && i < len(record.Fields); i++ {
			if field, ok := record.Fields[i].Key.(*parse.StringExpr); ok {
				m.fieldUsed(key, field, false, true)
			}
		}
	}
	m.fieldUsed(key, name, !write, write)
}

// others reports whether a table that a script makes may get fields which are not known.
func (v *values) others(x *parse.Var) bool {
	return x == nil || len(v.aliases[x]) > 0 || len(v.stores[x]) > len(v.fields[x])
}

// hashOf returns the key of the hash from which a table was made, in the script or by a function that gets the reply.
func (m *machine) hashOf(table parse.Expr) string {
	reply := m.filled[varOf(table)]
	if call, ok := m.c.origin(table).(*parse.CallExpr); ok && m.c.flow.bodies[varOf(call.Fn)] != nil && len(call.Args) == 1 {
		reply = call.Args[0]
	}
	if reply == nil || m.peek(reply).from == nil {
		return ""
	}
	words, _ := m.c.words(m.peek(reply).from)
	return m.keyText(words, 1)
}

const (
	anyTable = "of a table"
	aRecord  = "made "
)

// fieldUsed notes a literal field of a hash with this key, or of tables.
func (m *machine) fieldUsed(key string, name *parse.StringExpr, reads, writes bool) {
	if m.hashes[key] == nil {
		m.hashes[key] = map[string]*written{}
	}
	f := m.hashes[key][name.Value]
	if f == nil {
		f = &written{pos: name.Pos()}
		m.hashes[key][name.Value] = f
	}
	f.wrote, f.uses = f.wrote || writes, f.uses+1
	f.read = f.read || reads
}

// misspelt finds a field of a hash that nearly has the name of another: it is only read and the other only written, or
// it has a letter more or less, and is no plural. The rarer one is found.
func (m *machine) misspelt() {
	for key, fields := range m.hashes {
		if key == "" || len(fields) > maxNames {
			continue
		}
		names, single := slices.Sorted(maps.Keys(fields)), halves(fields)
		for _, name := range names {
			f := fields[name]
			other := slices.IndexFunc(names, func(other string) bool {
				w := fields[other]
				return instead(key, name, other, f, w) || single && !f.wrote && !w.read && begins(name, other)
			})
			if found := fmt.Sprint(f.pos); other >= 0 && !m.found[found] {
				m.found[found] = true
				m.c.find(f.pos, Field, "the script has the field %s, too: is this misspelt?", names[other])
			}
		}
	}
}

// halves reports whether only one field is read and not written, and only one written and not read.
func halves(fields map[string]*written) bool {
	reads, writes := 0, 0
	for _, f := range fields {
		if !f.wrote {
			reads++
		} else if !f.read {
			writes++
		}
	}
	return reads == 1 && writes == 1
}

// begins reports whether one of two names begins with the other.
func begins(a, b string) bool {
	return min(len(a), len(b)) > 2 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// instead reports whether another field is meant instead of f.
func instead(key, name, other string, f, w *written) bool {
	half, plural := (!f.wrote || !f.read) && w.wrote && w.read, name == other+"s" || name+"s" == other
	apart, rarer := !f.wrote && !w.read, len(name) != len(other) && (f.uses < w.uses || f.uses == w.uses && name < other)
	switch {
	case strings.HasPrefix(key, aRecord):
		return w.wrote && !f.wrote && parse.Nearest(name, []string{other}) != ""
	case key != anyTable && (apart || half) && alike(name, other) && (apart || strings.Contains(spoken(name), " ")):
		return true
	}
	return (apart || rarer && len(other) > 4 && !plural) && nearly(name, other)
}

// nearly reports whether two names differ in one letter, and not in a digit, which counts.
func nearly(a, b string) bool {
	return min(len(a), len(b)) > 3 && parse.Distance(a, b) == 1 && !strings.ContainsAny(a+b, "0123456789")
}

var unitEnd = regexp.MustCompile(` ` + aUnit + `$`)

// alike reports whether two names have the same words but for a unit. One may lack the end or the vowels of a word: msg.
func alike(a, b string) bool {
	v, w := strings.Fields(unitEnd.ReplaceAllString(spoken(a), "")), strings.Fields(unitEnd.ReplaceAllString(spoken(b), ""))
	same := len(v) == len(w) && !strings.ContainsAny(a+b, "0123456789")
	for i := range min(len(v), len(w)) {
		same = same && (shortens(v[i], w[i], len(v) > 1) || shortens(w[i], v[i], len(v) > 1))
	}
	return same
}

// shortens reports whether a word is another one without its end or its vowels.
func shortens(short, long string, end bool) bool {
	rest := short
	for i := range long {
		rest = strings.TrimPrefix(rest, long[i:i+1])
	}
	consonants := rest == "" && len(short) > 1 && short[0] == long[0] && !strings.ContainsAny(short, "aeiou")
	return short == long || consonants || end && len(short) > 2 && strings.HasPrefix(long, short)
}
