package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// names checks how local and declared names are used.
func (c *checker) names() {
	assembled, last := c.assembled(), c.lastRead()
	for _, v := range c.s.Vars {
		switch v.Kind {
		case parse.DeclaredVar:
			if len(v.Reads) == 0 {
				c.find(v.Pos, Unused, "%s is declared and never used", v.Name)
			}
			for _, w := range v.Writes {
				c.find(w.P, Assign, "assignment to the declared name %s", v.Name)
			}
		case parse.LocalVar, parse.FuncVar:
			shared := v.Kind == parse.FuncVar && (c.s.Header.Library || c.s.Raw) || assembled
			before := slices.ContainsFunc(c.flow.sources[v], func(s source) bool { return s.nth < last[s.expr] })
			if len(v.Reads) == 0 && v.Name != "_" && !shared && !before {
				c.find(v.Pos, Unused, "%s is never used", v.Name)
			}
		}
	}
}

// lastRead returns the last place among the values of an expression that a name which is read gets. Those before it need
// names, too.
func (c *checker) lastRead() map[parse.Expr]int {
	last := map[parse.Expr]int{}
	for x, all := range c.flow.sources {
		for _, s := range all {
			if s.expr != nil && len(x.Reads) > 0 {
				last[s.expr] = max(last[s.expr], s.nth)
			}
		}
	}
	return last
}

// globals checks every use of a name that is not local. A name without a declaration is one fault.
func (c *checker) globals() {
	assembled, found := c.assembled(), c.assigned()
	unread := slices.ContainsFunc(c.s.Header.Includes, func(i *parse.Include) bool { return i.Unread })
	for _, g := range c.s.Globals {
		switch {
		case c.s.Raw && (g.Name == "KEYS" || g.Name == "ARGV" || g.Name == "server"):
		case assembled && !parse.KnownGlobal(g.Name):
		case g.Name == "KEYS" || g.Name == "ARGV":
			c.find(g.P, Index, "%s by index: declare a name with %s", g.Name,
				map[string]string{"KEYS": "---@key", "ARGV": "---@arg"}[g.Name])
		case slices.Contains(c.s.Header.Tried, g.Name): // its declaration has a finding
		case g.Name == "server" && !c.s.Header.Targets("redis"):
		case found[g.Name] || unread && !parse.KnownGlobal(g.Name):
		case !parse.KnownGlobal(g.Name):
			found[g.Name] = true
			near := ""
			if len(found) <= maxNames {
				near = c.near(g.Name)
			}
			c.find(g.P, Undeclared, "%s is not declared%s", g.Name, near)
		default:
			c.lacking(g.P, g.Name)
		}
	}
}

// assigned finds the global names that the script assigns to.
func (c *checker) assigned() map[string]bool {
	found := map[string]bool{}
	for _, g := range c.s.Globals {
		if g.Set && !found[g.Name] {
			found[g.Name] = true
			c.find(g.P, SetGlobal, "assignment to the global %s: write local", g.Name)
		}
	}
	return found
}

// lacking finds a name that a server of the script does not have, and others do.
// What a raw script is meant for is not known.
func (c *checker) lacking(pos parse.Pos, name string) {
	if c.s.Raw {
		return
	}
	for _, t := range c.targets {
		if slices.Contains(t.lacks, name) {
			c.find(pos, Undeclared, "%s %s has no %s", title(t.server), t.version, name)
		}
	}
}

// near returns a suggestion for a name that is not known.
func (c *checker) near(name string) string {
	if name == "server" {
		return ": only Valkey has it; write redis"
	}
	var names []string
	for _, v := range c.s.Vars {
		names = append(names, v.Name)
	}
	names = append(names, parse.GlobalNames()...)
	slices.Sort(names)
	if near := parse.Nearest(name, names); near != "" && near != name {
		return ": did you mean " + near + "?"
	}
	if slices.Contains(names, name) {
		return " here: the name of that spelling is not visible"
	}
	return ""
}

// ask notes what a condition asks for: members of libraries, as in (table.unpack or unpack)(list), and fields, as in
// "not job.at".
func (c *checker) ask(condition parse.Expr) {
	switch e := unparen(condition).(type) {
	case *parse.BinaryExpr:
		if e.Op == "and" || e.Op == "or" {
			c.ask(e.L)
			c.ask(e.R)
		}
	case *parse.IndexExpr:
		if lib, name := memberOf(e); lib != nil {
			c.members[lib.Name+"."+name.Value] = true
		}
		c.members[c.nameOf(e)] = true
	case *parse.CallExpr:
		c.members[c.nameOf(e)] = true
	case *parse.UnaryExpr:
		c.ask(e.X)
	}
}

// memberOf returns X and name of X.name, if X is a global name.
func memberOf(e *parse.IndexExpr) (lib *parse.NameExpr, name *parse.StringExpr) {
	lib, isName := e.X.(*parse.NameExpr)
	name, isText := e.Key.(*parse.StringExpr)
	if !isName || !isText || lib.Var != nil {
		return nil, nil
	}
	return lib, name
}

// member checks a use of X.name where X is a library of the server.
func (c *checker) member(e *parse.IndexExpr) {
	lib, name := memberOf(e)
	if lib == nil {
		return
	}
	members := parse.Members(lib.Name)
	switch {
	case members == nil, c.members[lib.Name+"."+name.Value]:
		return
	case slices.Contains(members, name.Value):
		c.lacking(name.P, lib.Name+"."+name.Value)
		return
	}
	near := parse.Nearest(name.Value, members)
	if near != "" {
		near = ": did you mean " + lib.Name + "." + near + "?"
	}
	c.find(name.P, Undeclared, "there is no %s.%s%s", lib.Name, strings.TrimSpace(name.Value), near)
}

// skipsElement finds an element of KEYS or ARGV that follows one which is left out, if all that the script uses are written out.
func (c *checker) skipsElement(list string) {
	at, whole := map[int]parse.Expr{}, 0
	for _, e := range c.flow.exprs {
		index, ok := e.(*parse.IndexExpr)
		switch n := c.nth(e, list); {
		case isGlobal(e, list):
			whole++
		case ok && n > 0 && isGlobal(index.X, list):
			whole--
			at[n] = e
		}
	}
	for n := 1; whole == 0 && n <= len(at); n++ {
		if e := at[n+1]; at[n] == nil && e != nil && (n > 1 || list == "KEYS") {
			if !c.assembled() {
				c.find(e.Pos(), Unused, "%s[%d] is used, and %s[%d] is not: is this number right?", list, n+1, list, n)
			}
			return
		}
	}
}

// field finds a field that the key of a call is declared without.
func (m *machine) field(match *matching, e parse.Expr, f form) {
	name, literal := m.c.origin(e).(*parse.StringExpr)
	if !literal || f.word != "field" {
		return
	}
	if key := m.c.declaredKey(match.words[1]); key != nil && key.Fields != nil {
		if _, msg := key.Field(name.Value); msg != "" {
			m.find(e.Pos(), Field, "%s", msg)
		}
	}
}

// hash finds a reply that is not what a result with the fields of a hash is read from.
func (m *machine) hash(r *parse.Result, v value, pos parse.Pos) {
	h := r.Type.Hash
	call, _ := m.c.commandCall(v.from)
	shown := strings.ToUpper(call.names[0])
	want := "HGETALL"
	if h.Listed {
		want = "HMGET"
	}
	switch key := m.c.declaredKey(call.words[1]); {
	case r.Type.List:
		m.find(pos, Result, "this is one hash, and %s", declares(r))
	case shown != want:
		m.find(pos, Result, "this is the reply of %s, and %s: write %s for HGETALL, and %s(a,b) for HMGET",
			shown, declares(r), h.Key.Name, h.Key.Name)
	case key != nil && key != h.Key:
		m.find(pos, Result, "this is the hash %s, and %s", key.Name, declares(r))
	case h.Listed && m.otherFields(call, h.Names()):
		m.find(pos, Result, "these are other fields, or in another order, than %s is declared: %s", r.Name, typeText(r.Type))
	}
}

// otherFields reports whether HMGET certainly replies with other fields than those.
func (m *machine) otherFields(call commandCall, names []string) bool {
	if len(call.words)-2 != len(names) {
		return !call.open
	}
	return slices.ContainsFunc(names, func(name string) bool {
		literal, ok := m.c.origin(call.words[2+slices.Index(names, name)]).(*parse.StringExpr)
		return ok && literal.Value != name && slices.Contains(names, literal.Value)
	})
}
