package check

import (
	"maps"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// code is what is known of a script's code before it is followed.
type code struct {
	s        *parse.Script
	tables   *Tables
	flow     *values
	asked    map[question]bool // the questions that the present one has led to
	included map[string]included
	bound    map[*parse.Var]argument // parameters of the included function that is looked at
	depth    int                     // of calls of included functions
	frames   *int                    // how many such calls were followed

	commandsOf map[*parse.Var][]string      // the commands that a name may hold
	members    map[string]bool              // of libraries, and fields, that the script has asked for
	said       map[string]string            // what comments say, by "ARGV[1]", by a name, by a line
	keyed      map[int]bool                 // the KEYS[n] that commands take for keys
	units      map[*parse.Var]unit          // that names and comments say
	compared   []comparison                 // all of the script
	formsOf    map[string][]form            // of commands, by their texts
	targets    []*table                     // of the servers that the script is meant for
	within     map[parse.Expr][]commandCall // the calls of commands in an expression, and in what its names hold
	lists      map[string]value             // KEYS and ARGV of a raw script
	volatile   map[*parse.Var]bool          // assigned in a function that is not the one of the name
	plain      bool                         // the script is sent as one command
	resp3      bool                         // replies may have other shapes
	seeds      bool                         // some name has a seed in it
}

func newCode(s *parse.Script, tables *Tables) *code {
	c := &code{
		s: s, tables: tables, said: comments(s), units: map[*parse.Var]unit{}, flow: collect(s), frames: new(int),
		commandsOf: map[*parse.Var][]string{}, members: map[string]bool{}, formsOf: map[string][]form{}, keyed: map[int]bool{},
		lists: map[string]value{}, within: map[parse.Expr][]commandCall{}, volatile: map[*parse.Var]bool{}, plain: emit.Plain(s) != "",
		asked: map[question]bool{}, included: includedFunctions(s, map[string]included{}), targets: tables.targets(s.Header),
	}
	c.compared = c.comparisons()
	for _, condition := range c.flow.conds {
		c.ask(condition)
	}
	for _, e := range c.flow.exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && (b.Op == "and" || b.Op == "or") {
			c.ask(b.L)
		}
	}
	for _, e := range c.flow.calls {
		c.takesKeys(e)
	}
	for _, e := range c.flow.exprs {
		if f, ok := e.(*parse.FuncExpr); ok {
			c.capture(f)
		}
		index, ok := e.(*parse.IndexExpr)
		c.resp3 = c.resp3 || ok && isLiteral(index.Key, "setresp")
		c.seeds = c.seeds || ok && isLiteral(index.Key, "randomseed")
	}
	return c
}

// capture notes the outer names that a function assigns to, or whose lists it appends to.
func (c *code) capture(f *parse.FuncExpr) {
	for _, x := range slices.AppendSeq(c.collected(f.Body), maps.Keys(assigned(f.Body))) {
		if !slices.Contains(f.Params, x) {
			c.volatile[x] = true
		}
	}
}

// takesKeys notes the elements of KEYS that a call's command takes for keys.
func (c *code) takesKeys(e *parse.CallExpr) {
	call, _ := c.commandCall(e)
	for _, name := range call.names {
		for _, t := range c.targets {
			if cmd := t.of(call, name); cmd != nil && c.s.Raw {
				for _, p := range places(call, cmd) {
					n := c.nth(call.words[p.word], "KEYS")
					c.keyed[n] = n > 0
				}
			}
		}
	}
}

// calls returns the calls of commands that have words.
func (c *code) calls() []commandCall {
	var all []commandCall
	for _, e := range c.flow.calls {
		if call, ok := c.commandCall(e); ok && len(call.words) > 0 {
			all = append(all, call)
		}
	}
	return all
}

// commandsIn returns the calls of commands in an expression, and in what the names in it may hold.
func (c *code) commandsIn(e parse.Expr) []commandCall {
	return recalled(c.within, e, func() (all []commandCall) {
		c.flow.within(e, func(e parse.Expr) bool {
			if call, isCall := e.(*parse.CallExpr); isCall {
				if command, ok := c.commandCall(call); ok && len(command.words) > 0 {
					all = append(all, command)
				}
			}
			return false
		})
		return all
	})
}
