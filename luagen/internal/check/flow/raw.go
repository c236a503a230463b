package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// IsList reports whether e is KEYS or ARGV of a raw script, by any local name.
func (c *code) IsList(e parse.Expr, name string) bool {
	return c.S.Raw && isGlobal(c.Origin(e), name)
}

// list returns what is known of KEYS and ARGV: texts, unless the script itself puts something in their place.
func (m *Machine) list(e *parse.NameExpr) Value {
	if !m.C.S.Raw || m.C.Flow.changed[e.Name] || e.Name != "KEYS" && e.Name != "ARGV" {
		return unknown()
	}
	return listOf(textValue(), 0)
}

// readers are the functions that change no table which they get.
var readers = Words("readers")

// HasKeys reports whether a raw script has keys at all.
func HasKeys(s *parse.Script) bool {
	return slices.ContainsFunc(s.Globals, func(g parse.Global) bool { return g.Name == "KEYS" })
}

// IsParam reports whether an expression is the parameter of a function, of which a library of functions gets its keys, or
// a global that another part of the script may make.
func (c *code) IsParam(e parse.Expr) bool {
	name, ok := e.(*parse.NameExpr)
	if !ok || name.Var == nil {
		return ok && !parse.KnownGlobal(name.Name)
	}
	_, known := c.Flow.Params[name.Var]
	return known || len(c.Flow.Sources[name.Var]) == 0
}

// passing are the functions whose result is made of their arguments alone.
var passing = Words("passing")

// Elsewhere reports whether another server or version than those that are asked for takes a command in scripts. What a
// raw script is meant for is not known.
func (c *code) Elsewhere(name string) bool {
	return c.S.Raw && slices.ContainsFunc(c.Tables.all, func(t *Table) bool {
		cmd := t.Commands[name]
		return cmd != nil && !cmd.Noscript
	})
}

// Assembled reports whether a raw script is a part: it names files that a program of its own puts in before it is sent,
// or it has functions alone.
func (c *code) Assembled() bool {
	return c.S.Raw && (slices.ContainsFunc(c.S.Comments, func(m parse.Comment) bool {
		return strings.Contains(m.Text, "@include") || strings.Contains(m.Text, "$include")
	}) || !slices.ContainsFunc(c.S.Body.Stmts, func(stmt parse.Stmt) bool {
		_, ok := stmt.(*parse.LocalFuncStmt)
		return !ok
	}))
}
