package check

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	f.read, f.wrote, f.uses = f.read || reads, f.wrote || writes, f.uses+1
}

// misspelt finds a field of a hash that nearly has the name of another.
func (m *machine) misspelt() {
	for key, fields := range m.hashes {
		if key == "" || len(fields) > maxNames {
			continue
		}
		names := slices.Sorted(maps.Keys(fields))
		for _, name := range names {
			f := fields[name]
			other := slices.IndexFunc(names, func(other string) bool { return instead(key, name, other, f, fields[other]) })
			if other >= 0 {
				m.c.find(f.pos, Field, "the script has the field %s, too: is this misspelt?", names[other])
			}
		}
	}
}

// instead reports whether another field is meant instead of f, which is only read while the other is only written, or is used
// less often, and is no plural.
func instead(key, name, other string, f, w *written) bool {
	apart, half := !f.wrote && !w.read, (!f.wrote || !f.read) && w.wrote && w.read
	rarer := len(name) != len(other) && f.uses < w.uses && len(other) > 4 && name != other+"s" && name+"s" != other
	begins := min(len(name), len(other)) > 2 && (strings.HasPrefix(name, other) || strings.HasPrefix(other, name))
	switch {
	case strings.HasPrefix(key, aRecord):
		return w.wrote && !f.wrote && parse.Nearest(name, []string{other}) != ""
	case key != anyTable && (apart && begins || (apart || half) && letters(name) == letters(other)):
		return true
	}
	return (apart || rarer) && nearly(name, other)
}

// nearly reports whether two names differ in one letter, and not in a digit, which counts.
func nearly(a, b string) bool {
	return min(len(a), len(b)) > 3 && max(len(a), len(b)) < 50 && parse.Distance(a, b) == 1 && !strings.ContainsAny(a+b, "0123456789")
}

// letters returns those of a name, all small.
func letters(name string) string { return strings.NewReplacer(" ", "", ".", "").Replace(spoken(name)) }

var aName = regexp.MustCompile(`^[A-Za-z_][\w.:-]*$`)

// wordsOf returns the words of a text that have three letters or more, in small letters. One begins with each hump of a name.
func wordsOf(text string) (words []string) {
	from := 0
	for i := 0; i <= len(text); i++ {
		inside := i < len(text) && text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' // 0x20 makes a letter small
		if inside && (i == from || text[i] >= 'a' || text[i-1] < 'a') {
			continue
		}
		if i >= from+3 {
			words = append(words, strings.ToLower(text[from:i]))
		}
		if from = i; !inside {
			from = i + 1
		}
	}
	return words
}

// tally returns how often each word is there.
func tally(words []string) map[string]int {
	all := map[string]int{}
	for _, word := range words {
		all[word]++
	}
	return all
}

// usual are words that names in scripts often have.
const usual = "accepted active amount attempt attempts available balance blocked canceled cancelled capacity client completed " +
	"conflict consumer counter created current deadline delay delayed error event expired expires failed failure finished group " +
	"history identifier interval invalid lease length level limit locked member message metadata owner paused payload pending " +
	"previous price priority processed processing quantity queue queued reason received refill rejected released remaining " +
	"replay reply request reserved response result retries retry running scheduled score sequence session stale started " +
	"state stats status stock success tenant timeout timestamp token tokens total updated user value version waiting worker"

// usualWords has these, and with them the words of commands and options, which are none that a script means.
var usualWords = sync.OnceValues(func() (usualWords, known map[string]int) {
	tables, _ := tableFiles.ReadFile("commands/redis-8.2.txt") // It is embedded.
	return tally(wordsOf(usual)), tally(wordsOf(usual + " " + string(tables)))
})

// mistyped finds a literal name with a word that is nowhere else, and is another word of the script, or a usual one, but for a
// letter that is dropped, doubled or exchanged.
func (m *machine) mistyped() {
	usual, known := usualWords()
	uses := tally(wordsOf(string(m.c.s.Source)))
	if len(uses) > maxWithin {
		return
	}
	words := slices.Concat(slices.Sorted(maps.Keys(uses)), slices.Sorted(maps.Keys(usual)))
	for _, e := range m.c.flow.exprs {
		name, literal := e.(*parse.StringExpr)
		if !literal || !aName.MatchString(name.Value) {
			continue
		}
		for _, word := range wordsOf(name.Value) {
			if uses[word] != 1 || known[word]+known[strings.TrimSuffix(word, "s")] > 0 {
				continue
			}
			i := slices.IndexFunc(words, func(other string) bool { return mistypes(word, other) })
			if i >= 0 && !slices.ContainsFunc(m.c.findings, func(f parse.Finding) bool { return f.Pos.Line == name.P.Line }) {
				m.c.find(name.P, Field, "is this misspelt, and %s meant?", words[i])
			}
		}
	}
}

// mistypes reports whether a word is another one with a letter dropped, doubled or exchanged with the next, behind the first.
// A word that begins with the other may be its plural.
func mistypes(a, b string) bool {
	sorted := func(s string) string { return strings.Join(slices.Sorted(slices.Values(strings.Split(s, ""))), "") }
	longer := len(a) != len(b) && !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)
	return a[0] == b[0] && nearly(a, b) && (longer || sorted(a) == sorted(b))
}
