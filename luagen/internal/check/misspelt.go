package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// records finds a field of a local table that it never gets, if it has one of nearly that name, and if nothing else may
// put fields into it.
func (c *checker) records() {
	used, plain := map[*parse.Var][]*parse.IndexExpr{}, map[*parse.Var]int{}
	for _, e := range c.flow.exprs {
		switch e := e.(type) {
		case *parse.IndexExpr:
			if _, ok := e.Key.(*parse.StringExpr); ok && varOf(e.X) != nil {
				used[varOf(e.X)] = append(used[varOf(e.X)], e)
				plain[varOf(e.X)]++
			}
		case *parse.CallExpr:
			for _, arg := range e.Args {
				if slices.Contains(readers, c.callee(e)) {
					plain[varOf(arg)]++
				}
			}
		}
	}
	for x, all := range used {
		table, ok := c.flow.only(x)
		record, isTable := table.(*parse.TableExpr)
		if !ok || !isTable || plain[x] < len(x.Reads) {
			continue
		}
		names := slices.Clone(c.flow.fields[x])
		for _, f := range record.Fields {
			if name, ok := f.Key.(*parse.StringExpr); ok {
				names = append(names, name.Value)
			}
		}
		for _, e := range all {
			name := e.Key.(*parse.StringExpr).Value
			if near := parse.Nearest(name, names); !slices.Contains(names, name) && near != "" {
				c.find(e.Key.Pos(), Undeclared, "there is no %s.%s: did you mean %s.%s?", x.Name, name, x.Name, near)
			}
		}
	}
}

// written is what a script does with a field of a hash.
type written struct {
	read, wrote bool
	uses        int
	pos         parse.Pos
}

// tableField notes a field of a table that comes from elsewhere: from cjson.decode, or from a reply of HGETALL.
func (m *machine) tableField(e *parse.IndexExpr, write bool) {
	name, literal := e.Key.(*parse.StringExpr)
	_, made := m.c.origin(e.X).(*parse.TableExpr)
	library, _ := memberOf(e)
	key := m.hashOf(e.X)
	switch element, ok := m.c.origin(e.Key).(*parse.IndexExpr); {
	case ok && write:
		m.filled[varOf(e.X)] = element.X
	case !literal || library != nil || m.quiet > 0:
	case key != "" || !made:
		m.fieldUsed(cmp.Or(key, fixed(e.X)), name, !write, write)
		if !made {
			m.fieldUsed(anyTable, name, !write, write)
		}
	}
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

const anyTable = "of a table"

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
		for name, f := range fields {
			if key == "" || len(fields) > maxNames {
				break
			}
			for other, w := range fields {
				if m.found[fmt.Sprint(f.pos)] {
					break
				}
				half, plural := (!f.wrote || !f.read) && w.wrote && w.read && len(name) > 5, name == other+"s" || name+"s" == other
				apart, rarer := !f.wrote && !w.read, len(name) != len(other) && (f.uses < w.uses || f.uses == w.uses && name < other)
				if (apart || half && !plural) && key != anyTable && alike(name, other) ||
					nearly(name, other) && (apart || rarer && len(other) > 4 && !plural) {
					m.found[fmt.Sprint(f.pos)] = true
					m.c.find(f.pos, Field, "the script has the field %s, too: is this misspelt?", other)
				}
			}
		}
	}
}

// nearly reports whether two names differ in one letter, and not in a digit, which counts.
func nearly(a, b string) bool {
	return min(len(a), len(b)) > 3 && parse.Distance(a, b) == 1 && !strings.ContainsAny(a+b, "0123456789")
}

var unitEnd = regexp.MustCompile(` ` + aUnit + `$`)

// alike reports whether two names have the same words but for a unit, of which some are shorter in one: msg, refill.
func alike(a, b string) bool {
	v, w := strings.Fields(unitEnd.ReplaceAllString(spoken(a), "")), strings.Fields(unitEnd.ReplaceAllString(spoken(b), ""))
	same := len(v) == len(w) && !strings.ContainsAny(a+b, "0123456789")
	for i := range min(len(v), len(w)) {
		same = same && (shortens(v[i], w[i]) || shortens(w[i], v[i]))
	}
	return same
}

// shortens reports whether a word is another one without some of its letters.
func shortens(short, long string) bool {
	if len(short) > 2 && short[0] == long[0] {
		for i := range long {
			short = strings.TrimPrefix(short, long[i:i+1])
		}
		return short == ""
	}
	return short == long
}
