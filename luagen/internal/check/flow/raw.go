package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// IsList reports whether e is KEYS or ARGV of a raw script, by any local name.
func (c *code) IsList(e parse.Expr, name string) bool {
	return c.S.Raw && parse.IsGlobal(c.Origin(e), name)
}

// list returns what is known of KEYS and ARGV: texts, unless the script itself puts something in their place.
func (m *Machine) list(e *parse.NameExpr) Value {
	if !m.C.S.Raw || m.C.Flow.changed[e.Name] || e.Name != "KEYS" && e.Name != "ARGV" {
		return unknown()
	}
	return replies["texts"] // made once: a script may have many uses of them
}

// HasKeys reports whether a raw script has keys at all.
func HasKeys(s *parse.Script) bool {
	return slices.ContainsFunc(s.Globals, func(g *parse.NameExpr) bool { return g.Name == "KEYS" })
}

// IsParam reports whether an expression is the parameter of a function, or a global that another part of the script may make.
func (c *code) IsParam(e parse.Expr) bool {
	name, ok := e.(*parse.NameExpr)
	if !ok || name.Var == nil {
		return ok && !parse.KnownGlobal(name.Name)
	}
	_, known := c.Flow.Params[name.Var]
	return known || len(c.Flow.Sources[name.Var]) == 0
}

// Elsewhere reports whether any server takes a command in scripts: what a raw script is meant for is not known.
func (c *code) Elsewhere(name string) bool {
	return c.S.Raw && slices.ContainsFunc(c.Tables.all, func(t *Table) bool {
		cmd := t.Commands[name]
		return cmd != nil && !cmd.Noscript
	})
}

// Assembled reports whether a raw script is a part: it names files that a program of its own puts in, or only declares names.
func (c *code) Assembled() bool {
	return c.S.Raw && (slices.ContainsFunc(c.S.Comments, func(m parse.Comment) bool {
		return strings.Contains(m.Text, "@include") || strings.Contains(m.Text, "$include")
	}) || !slices.ContainsFunc(c.S.Body.Stmts, func(stmt parse.Stmt) bool {
		_, isFunc := stmt.(*parse.LocalFuncStmt)
		_, isLocal := stmt.(*parse.LocalStmt)
		return !isFunc && !isLocal
	}))
}

// runners are globals by which a script reaches others without their names.
var runners = []string{"_G", "load", "loadstring"}

// Escape returns the first use of redis.call, or of redis, that is no call whose command is followed.
func (c *code) Escape() parse.Expr {
	known := map[parse.Expr]bool{}
	for _, e := range c.Flow.Calls {
		known[e.Fn] = c.isCommandFunction(e.Fn)
		if parse.IsGlobal(e.Fn, "pcall") && len(e.Args) > 0 {
			known[e.Args[0]] = true
		}
	}
	for x, sources := range c.Flow.Sources {
		for _, name := range x.Writes {
			known[name] = true
		}
		if name := (&parse.NameExpr{Name: x.Name, Var: x}); !c.isServer(name) && !c.isCommandFunction(name) {
			continue
		}
		for _, s := range sources {
			parse.Walk(s.Expr, func(e parse.Expr) { known[e] = true })
		}
	}
	for _, e := range c.Flow.Exprs {
		if index, ok := e.(*parse.IndexExpr); ok && c.isServer(index.X) {
			known[parse.Unparen(index.X)] = true
			_, literal := index.Key.(*parse.StringExpr)
			known[index] = known[index] || literal && !c.isCommandFunction(index)
		}
	}
	i := slices.IndexFunc(c.Flow.Exprs, func(e parse.Expr) bool {
		if index, ok := e.(*parse.IndexExpr); ok && c.isServer(index.X) {
			found := parse.IsGlobal(index.X, "server") && !c.S.Raw && c.S.Header.Targets("redis") // it is not declared
			return !known[e] && !found
		}
		name, ok := e.(*parse.NameExpr)
		global := ok && name.Var == nil
		return ok && !known[e] && (global && slices.Contains(runners, name.Name) ||
			(!global || name.Name == "redis") && (c.isServer(e) || c.isCommandFunction(e)))
	})
	if i < 0 {
		return nil
	}
	return c.Flow.Exprs[i]
}

// NamesOf returns the words that names and comments have for an element of KEYS or ARGV.
func (c *code) NamesOf(list string, n int) string {
	element := list + "[" + Itoa(n) + "]"
	return recalled(c.named, element, func() string {
		text := c.Said[element]
		for _, x := range c.S.Vars {
			if source, ok := c.Flow.Only(x); ok && n > 0 && c.Nth(source, list) == n {
				text += " " + x.Name
			}
		}
		return units.Spoken(text)
	})
}

// Nth returns n if an expression is element n of KEYS or ARGV, the number of one, or a local name for these; else 0.
func (c *code) Nth(e parse.Expr, list string) int {
	e = c.Origin(e)
	for range MaxNames { // A name may be a number of itself.
		call, isCall := e.(*parse.CallExpr)
		either, isEither := e.(*parse.BinaryExpr)
		if isCall && c.Callee(call) == "tonumber" && len(call.Args) == 1 {
			e = c.Origin(call.Args[0])
		} else if isEither && either.Op == "or" && ConstantKind(either.R) != 0 { // a default
			e = c.Origin(either.L)
		} else {
			break
		}
	}
	index, ok := e.(*parse.IndexExpr)
	if !ok || !c.IsList(index.X, list) {
		return 0
	}
	number, ok := index.Key.(*parse.NumberExpr)
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(number.Text)
	return n
}
