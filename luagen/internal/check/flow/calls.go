package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// CommandCall is one call of redis.call or redis.pcall.
type CommandCall struct {
	Expr  *parse.CallExpr
	Words []parse.Expr // the command and its arguments
	Names []string     // the commands that it may be, in small letters; none: unknown
	Open  bool         // the last word may stand for any number of words
}

// CommandCall reads a call, if it is one of a command.
func (c *code) CommandCall(e *parse.CallExpr) (CommandCall, bool) {
	words, ok := c.words(e)
	call := CommandCall{Expr: e, Words: words}
	if len(words) > 0 {
		last := words[len(words)-1]
		call.Open = parse.ManyValues(last) && !c.single(last)
		call.Names = c.commandNames(words[0])
	}
	return call, ok
}

// words returns the words of the command that a call sends, if it does.
func (c *code) words(e *parse.CallExpr) ([]parse.Expr, bool) {
	if c.isCommandFunction(e.Fn) {
		return e.Args, true
	}
	// pcall(redis.call, 'get', key)
	if parse.IsGlobal(e.Fn, "pcall") && len(e.Args) > 0 && c.isCommandFunction(e.Args[0]) {
		return e.Args[1:], true
	}
	return nil, false
}

// Sent returns the words of the call of a command whose reply an expression is, nil if it is none.
func (c *code) Sent(e parse.Expr, name string) []parse.Expr {
	call, _ := c.Origin(e).(*parse.CallExpr)
	if call == nil {
		return nil
	}
	command, _ := c.CommandCall(call)
	if !slices.Equal(command.Names, []string{name}) {
		return nil
	}
	return command.Words
}

// isCommandFunction reports whether e certainly is redis.call or redis.pcall, by any local name.
func (c *code) isCommandFunction(e parse.Expr) bool { return c.isCommand(e, maxAliases) }

func (c *code) isCommand(e parse.Expr, left int) bool {
	switch e := c.Origin(e).(type) {
	case *parse.IndexExpr:
		key, ok := e.Key.(*parse.StringExpr)
		return ok && (key.Value == "call" || key.Value == "pcall") && c.isServer(e.X)
	case *parse.BinaryExpr: // condition and redis.call or redis.pcall
		return left > 0 && (e.Op == "and" || e.Op == "or" && c.isCommand(e.L, left-1)) && c.isCommand(e.R, left-1)
	case *parse.NameExpr:
		sources := c.Flow.Sources[e.Var]
		return left > 0 && len(sources) > 1 && !slices.ContainsFunc(sources, func(s Source) bool {
			return s.Expr == nil || s.Nth > 0 || !c.isCommand(s.Expr, left-1)
		})
	}
	return false
}

// Origin returns what e is, if e is a local name for it.
func (c *code) Origin(e parse.Expr) parse.Expr { return c.Flow.origin(e) }

// isServer reports whether e is the library redis or server, by any local name.
func (c *code) isServer(e parse.Expr) bool {
	e = c.Origin(e)
	return parse.IsGlobal(e, "redis") || parse.IsGlobal(e, "server")
}

// commandNames returns the commands that the first word of a call may be, nil if that is unknown.
func (c *code) commandNames(e parse.Expr) []string {
	switch e := parse.Unparen(e).(type) {
	case *parse.StringExpr:
		return []string{strings.ToLower(e.Value)}
	case *parse.BinaryExpr:
		left, right := c.commandNames(e.L), c.commandNames(e.R)
		if e.Op == "and" {
			return right
		} else if e.Op == "or" && len(left) > 0 && len(right) > 0 {
			return slices.Compact(slices.Sorted(slices.Values(slices.Concat(left, right))))
		}
	case *parse.NameExpr:
		if e.Var != nil && e.Var.Decl != nil && e.Var.Decl.Kind == parse.Command {
			return e.Var.Decl.Choices
		}
		names, known := c.commandsOf[e.Var]
		if source, ok := c.Flow.Only(e.Var); ok && !known {
			c.commandsOf[e.Var] = nil // while it is looked into
			names = c.commandNames(source)
			c.commandsOf[e.Var] = names
		}
		return names
	}
	return nil
}

// Least returns how many words a call has at least: the last may be none.
func (call CommandCall) Least() int {
	if call.Open {
		return len(call.Words) - 1
	}
	return len(call.Words)
}

// Refuses reports whether a command takes another number of words.
func (cmd *Command) Refuses(call CommandCall) bool {
	n := call.Least()
	return cmd.Arity >= 0 && n > cmd.Arity || n < max(cmd.Arity, -cmd.Arity) && !call.Open
}

// Subcommand returns the literal subcommand of a call.
func Subcommand(call CommandCall) (string, bool) {
	if len(call.Words) < 2 {
		return "", false
	}
	text, ok := parse.ConstantText(call.Words[1])
	return strings.ToLower(text), ok
}

// KnownBy returns the first version of a server that knows a command, and whether any server does.
func (c *code) KnownBy(server, name string) (version string, known bool) {
	for _, t := range c.Tables.all {
		if t.Commands[name] == nil {
			continue
		}
		known = true
		if t.Server == server && version == "" {
			version = minor(t.Version)
		}
	}
	return version, known
}

// Title returns a server's name as a sentence begins with it.
func Title(server string) string {
	if server == embedded {
		return "Embedded miniredis"
	}
	return strings.ToUpper(server[:1]) + server[1:]
}

// ask notes the members of libraries for which a condition asks, as in (table.unpack or unpack)(list).
func (c *code) ask(condition parse.Expr) {
	parse.Walk(condition, func(e parse.Expr) {
		if index, ok := e.(*parse.IndexExpr); ok {
			if lib, name := MemberOf(index); lib != nil {
				c.Members[lib.Name+"."+name.Value] = true
			}
		}
	})
}

// MemberOf returns X and name of X.name, if X is a global name.
func MemberOf(e *parse.IndexExpr) (lib *parse.NameExpr, name *parse.StringExpr) {
	lib, isName := e.X.(*parse.NameExpr)
	name, isText := e.Key.(*parse.StringExpr)
	if !isName || !isText || lib.Var != nil {
		return nil, nil
	}
	return lib, name
}
