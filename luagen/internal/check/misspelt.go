package check

import (
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

// tableField notes a field of a table that comes from elsewhere, such as from cjson.decode.
func (m *machine) tableField(e *parse.IndexExpr, write bool) {
	name, literal := e.Key.(*parse.StringExpr)
	_, made := m.c.origin(e.X).(*parse.TableExpr)
	if library, _ := memberOf(e); literal && !made && library == nil && m.quiet == 0 {
		m.fieldUsed("of a table", name, !write, write)
	}
}

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
				apart, rarer := !f.wrote && !w.read, len(name) != len(other) && (f.uses < w.uses || f.uses == w.uses && name < other)
				if nearly(name, other) && (apart || rarer && len(other) > 4 && name != other+"s" && name+"s" != other) {
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
