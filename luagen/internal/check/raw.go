package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// isList reports whether e is KEYS or ARGV of a raw script, by any local name.
func (c *checker) isList(e parse.Expr, name string) bool {
	return c.s.Raw && isGlobal(c.origin(e), name)
}

// list returns what is known of KEYS and ARGV: texts, unless the script itself puts something in their place.
func (m *machine) list(e *parse.NameExpr) value {
	if !m.c.s.Raw || e.Name != "KEYS" && e.Name != "ARGV" {
		return unknown()
	}
	return recalled(m.lists, e.Name, func() value {
		if m.c.replaces(e.Name) {
			return unknown()
		}
		return listOf(textValue(), 0)
	})
}

// readers are the functions that change no table which they get.
var readers = strings.Fields(`ipairs next pairs select unpack table.concat table.getn table.maxn cjson.encode cmsgpack.pack redis.call redis.pcall server.call server.pcall`)

// replaces reports whether a script assigns to the elements of KEYS or ARGV, or gives the whole to a function that may.
func (c *checker) replaces(list string) bool {
	return c.flow.changed[list] || slices.ContainsFunc(c.flow.calls, func(call *parse.CallExpr) bool {
		return !slices.Contains(readers, c.callee(call)) && slices.ContainsFunc(call.Args, func(e parse.Expr) bool {
			return c.isList(e, list)
		})
	})
}

// hasKeys reports whether a raw script has keys at all.
func hasKeys(s *parse.Script) bool {
	return slices.ContainsFunc(s.Globals, func(g parse.Global) bool { return g.Name == "KEYS" })
}

// rawKey finds the first key of a raw script that certainly does not come from KEYS: it is an argument, or begins with a
// text that is written out, or with each argument in turn. What one argument or a reply begins with may be the hash tag of the
// script's keys, if it has any. Of a function's parameter it looks at what each call passes.
func (c *checker) rawKey(e parse.Expr, cmd *command, left int) {
	of, isParam := c.flow.params[varOf(unparen(e))]
	for _, call := range c.flow.called[of.owner] {
		if isParam && of.n < len(call.Args) && left > 0 {
			c.rawKey(call.Args[of.n], cmd, left-1)
		}
	}
	given := c.certainly(aForeign, e) && (c.certainly(aWritten, e) || c.eachOf(e))
	if isParam || c.keyFound || !given && (hasKeys(c.s) || c.assembled() || c.flow.within(e, c.isParam)) {
		return
	}
	c.keyFound = true
	c.find(e.Pos(), Key, "%s takes a key here that does not come from KEYS: a cluster may have it on "+
		"another node", shown(cmd.name))
}

// isParam reports whether an expression is the parameter of a function, of which a library of functions gets its keys, or
// a global that another part of the script may make.
func (c *checker) isParam(e parse.Expr) bool {
	name, ok := e.(*parse.NameExpr)
	if !ok || name.Var == nil {
		return ok && !parse.KnownGlobal(name.Name)
	}
	_, known := c.flow.params[name.Var]
	return known || len(c.flow.sources[name.Var]) == 0
}

// eachOf reports whether a key is an element of ARGV, or begins with each in turn.
func (c *checker) eachOf(key parse.Expr) bool {
	front := key
	for b, ok := c.origin(front).(*parse.BinaryExpr); ok && b.Op == ".."; b, ok = c.origin(front).(*parse.BinaryExpr) {
		front = b.L
	}
	return c.certainly(aGiven, front) && (front == key || c.nth(front, "ARGV") == 0)
}

// passing are the functions whose result is made of their arguments alone.
var passing = strings.Fields(`tostring tonumber cjson.decode cjson.encode string.format string.lower string.sub string.upper`)

// elsewhere reports whether another server or version than those that are asked for takes a command in scripts. What a
// raw script is meant for is not known.
func (c *checker) elsewhere(name string) bool {
	return c.s.Raw && slices.ContainsFunc(c.tables.all, func(t *table) bool {
		cmd := t.commands[name]
		return cmd != nil && !cmd.noscript
	})
}

// assembled reports whether a raw script is a part: it names files that a program of its own puts in before it is sent,
// or it has functions alone.
func (c *checker) assembled() bool {
	return c.s.Raw && (slices.ContainsFunc(c.s.Comments, func(m parse.Comment) bool {
		return strings.Contains(m.Text, "@include") || strings.Contains(m.Text, "$include")
	}) || !slices.ContainsFunc(c.s.Body.Stmts, func(stmt parse.Stmt) bool {
		_, ok := stmt.(*parse.LocalFuncStmt)
		return !ok
	}))
}
