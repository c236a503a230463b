// Package check finds what a script can get wrong beyond its syntax and its header. A finding needs certainty: where
// something is not known, nothing is found.
//
// The code is read twice. First values notes all expressions and calls, and what each name may hold at any time. From
// that the checker knows which commands a call may be (calls.go), what the servers' tables say of them (table.go,
// form.go), and which words certainly are declared keys (surely.go). Then the machine follows the statements in their
// order. It has the state of the place where it is: the value of each name (value.go), what conditions have shown
// (state.go, asked.go), and the keys that have no expiry yet (expire.go, path.go, touch.go). It evaluates each expression
// (eval.go, arithmetic.go, function.go), and hands the values to the rules: compare.go, missing.go, precise.go,
// result.go, unit.go and so on.
package check

import (
	"fmt"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// The rules of this package, by the names that "---@allow" takes.
const (
	Unused      = "unused"      // a name that is never read, or an element of KEYS or ARGV
	Undeclared  = "undeclared"  // a global that the server does not have
	SetGlobal   = "global"      // an assignment to a global
	Assign      = "assign"      // an assignment to a declared name
	Index       = "index"       // KEYS or ARGV themselves
	Unreachable = "unreachable" // code that never runs
	Optional    = "optional"    // an absent argument compared with an empty text
	Command     = "command"     // unknown, refused in scripts, or with a wrong number of arguments
	ReadOnly    = "readonly"    // a write in a read-only script, or a script that could be one
	Key         = "key"         // an undeclared key
	Field       = "field"       // a field that a hash is declared without
	Kind        = "kind"        // a command for another kind of key
	Channel     = "channel"     // an undeclared channel
	Precision   = "precision"   // digits of a number that are lost
	Time        = "time"        // microseconds that are not padded; times of different units
	Compare     = "compare"     // a comparison that fails, is always the same, or is of letters
	Nil         = "nil"         // what is nil, or may be, where that fails
	JSON        = "json"        // a list that may be empty, in JSON
	Result      = "result"      // a reply that is not what the script declares
	Expire      = "expire"      // a key without an expiry; an expiry that is 0 or has a fraction
	Refused     = "refused"     // a key that a refused EXPIRE leaves without an expiry: in strict runs
	uselessRule = "allow"       // an allow that allows nothing
	Note        = "note"        // what may be meant, and so is no finding
)

// Rules lists what "---@allow" may name.
var Rules = []string{
	Unused, Undeclared, SetGlobal, Assign, Index, Unreachable, Optional, Command, ReadOnly, Key, Field, Kind,
	Channel, Precision, Time, Compare, Nil, JSON, Result, Expire, Refused,
}

// Script returns the findings of a script that parsed, those allowed left out. In a strict run they
// are also of what is wrong only for users who may not call every command.
func Script(s *parse.Script, tables *Tables, strict bool) []parse.Finding {
	c := newChecker(s, tables)
	c.names()
	c.globals()
	c.expressions()
	c.commands()
	c.hidden()
	c.skipsElement("KEYS")
	c.skipsElement("ARGV")
	c.includedCalls()
	c.follow()
	for _, find := range c.unproven {
		find()
	}
	return c.allowed(strict)
}

// expressions checks those that need nothing known of names.
func (c *checker) expressions() {
	for _, condition := range c.flow.conds {
		c.ask(condition)
	}
	for _, e := range c.flow.exprs {
		switch e := e.(type) {
		case *parse.IndexExpr:
			c.member(e)
		case *parse.BinaryExpr:
			if e.Op == "and" || e.Op == "or" {
				c.ask(e.L)
			}
			c.never(e)
		}
	}
}

type checker struct {
	s        *parse.Script
	tables   *Tables
	findings []parse.Finding
	flow     *values
	asked    map[question]bool // the questions that the present one has led to
	included map[string]included
	bound    map[*parse.Var]argument // parameters of the included function that is looked at
	depth    int                     // of calls of included functions
	frames   *int                    // how many such calls were followed

	settled    map[parse.Expr]bool     // words that are equal to a declared key where they stand, or are tables
	unproven   []func()                // finds keys, or too few words, unless they are such words; and what all the code may show
	commandsOf map[*parse.Var][]string // the commands that a name may hold
	members    map[string]bool         // of libraries, and fields, that the script has asked for
	said       map[string]string       // what comments say, by "ARGV[1]", by a name, by a line
	keyed      map[int]bool            // the KEYS[n] that commands take for keys
	units      map[*parse.Var]unit     // that names and comments say
	compared   []comparison            // all of the script
	formsOf    map[string][]form       // of commands, by their texts
	keyFound   bool                    // a raw script has no further finding of rule key
	noted      bool                    // a script has one note
	targets    []*table                // of the servers that the script is meant for
}

func newChecker(s *parse.Script, tables *Tables) *checker {
	c := &checker{
		s: s, tables: tables, said: comments(s), units: map[*parse.Var]unit{}, flow: collect(s), frames: new(int),
		commandsOf: map[*parse.Var][]string{}, members: map[string]bool{}, formsOf: map[string][]form{}, keyed: map[int]bool{},
		settled: map[parse.Expr]bool{}, asked: map[question]bool{}, included: includedFunctions(s, map[string]included{}), targets: tables.targets(s.Header),
	}
	c.compared = c.comparisons()
	return c
}

func (c *checker) find(pos parse.Pos, rule, format string, args ...any) {
	c.findings = append(c.findings,
		parse.Finding{File: c.s.File, Pos: pos, Msg: fmt.Sprintf(format, args...), Rule: rule})
}

// allowed drops the findings that are allowed on their lines, and reports what allows nothing.
func (c *checker) allowed(strict bool) []parse.Finding {
	var kept []parse.Finding
	used := map[*parse.Allow]bool{}
	for _, f := range c.findings {
		allowed := !strict && f.Rule == Refused
		for _, a := range c.s.Header.Allows {
			if a.Rule == f.Rule && a.Line == f.Pos.Line {
				used[a], allowed = true, true
			}
		}
		if !allowed {
			kept = append(kept, f)
		}
	}
	for _, a := range c.s.Header.Allows {
		if !used[a] && a.Reason != "" {
			kept = append(kept, parse.Finding{
				File: c.s.File, Pos: a.Pos, Rule: uselessRule,
				Msg: fmt.Sprintf("allow %s: line %d has no such finding", a.Rule, a.Line),
			})
		}
	}
	return kept
}
