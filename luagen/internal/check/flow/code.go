package flow

import (
	"maps"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// code is what is known of a script's code before it is followed.
type code struct {
	S        *parse.Script
	Tables   *Tables
	Flow     *values
	asked    map[question]bool // the questions that the present one has led to
	included map[string]included
	bound    map[*parse.Var]argument // parameters of the included function that is looked at
	depth    int                     // of calls of included functions
	frames   *int                    // how many such calls were followed

	commandsOf map[*parse.Var][]string      // the commands that a name may hold
	Members    map[string]bool              // of libraries, and fields, that the script has asked for
	Said       map[string]string            // what comments say, by "ARGV[1]", by a line
	Keyed      map[int]bool                 // the KEYS[n] that commands take for keys
	units      map[*parse.Var]units.Unit    // that names and comments say
	heard      map[string]units.Unit        // likewise, by their texts
	named      map[string]string            // what NamesOf returns
	formsOf    map[string][]Form            // of commands, by their texts
	Targets    []*Table                     // of the servers that the script is meant for
	within     map[parse.Expr][]CommandCall // the calls of commands in an expression, and in what its names hold; of nil: all
	volatile   map[*parse.Var]bool          // assigned in a function that is not the one of the name
	Resp3      bool                         // replies may have other shapes
	Seeds      bool                         // some name has a seed in it
}

// NewCode reads the code of a script.
func NewCode(s *parse.Script, tables *Tables) *code {
	c := &code{
		S: s, Tables: tables, Said: units.Comments(s), units: map[*parse.Var]units.Unit{}, heard: map[string]units.Unit{}, named: map[string]string{}, Flow: collect(s), frames: new(int),
		commandsOf: map[*parse.Var][]string{}, Members: map[string]bool{}, formsOf: map[string][]Form{}, Keyed: map[int]bool{},
		within: map[parse.Expr][]CommandCall{}, volatile: map[*parse.Var]bool{},
		asked: map[question]bool{}, included: includedFunctions(s, map[string]included{}), Targets: tables.targets(s.Header),
	}
	for _, condition := range c.Flow.Conds {
		c.ask(condition)
	}
	for _, call := range c.Calls() {
		for _, p := range c.allPlaces(call) {
			n := c.Nth(call.Words[p.Word], "KEYS")
			c.Keyed[n] = n > 0
		}
	}
	for _, e := range c.Flow.Exprs {
		if f, ok := e.(*parse.FuncExpr); ok {
			for _, x := range slices.AppendSeq(c.collected(f.Body), maps.Keys(parse.Assigned(f.Body))) {
				c.volatile[x] = c.volatile[x] || !slices.Contains(f.Params, x)
			}
		}
		if b, ok := e.(*parse.BinaryExpr); ok && (b.Op == "and" || b.Op == "or") {
			c.ask(b.L)
		}
		index, ok := e.(*parse.IndexExpr)
		c.Resp3 = c.Resp3 || ok && parse.IsLiteral(index.Key, "setresp")
		c.Seeds = c.Seeds || ok && parse.IsLiteral(index.Key, "randomseed")
	}
	return c
}

// Calls returns the calls of commands that have words.
func (c *code) Calls() []CommandCall {
	return recalled(c.within, nil, func() (all []CommandCall) {
		for _, e := range c.Flow.Calls {
			if call, ok := c.CommandCall(e); ok && len(call.Words) > 0 {
				all = append(all, call)
			}
		}
		return all
	})
}

// CommandsIn returns the calls of commands in an expression, and in what the names in it may hold.
func (c *code) CommandsIn(e parse.Expr) []CommandCall {
	return recalled(c.within, e, func() (all []CommandCall) {
		c.Flow.Within(e, func(e parse.Expr) bool {
			if call, isCall := e.(*parse.CallExpr); isCall {
				if command, ok := c.CommandCall(call); ok && len(command.Words) > 0 {
					all = append(all, command)
				}
			}
			return false
		})
		return all
	})
}

// included is a function of an included file.
type included struct {
	script *parse.Script
	flow   *values
	body   *parse.FuncExpr
}

// argument is what a parameter holds during a call: an expression, and where it stands.
type argument struct {
	from *code
	expr parse.Expr // nil: nothing is passed
}

// includedFunctions returns the functions of all files that a script includes.
func includedFunctions(s *parse.Script, all map[string]included) map[string]included {
	for _, inc := range s.Header.Includes {
		if inc.Script == nil || inc.Script.Body == nil {
			continue
		}
		includedFunctions(inc.Script, all)
		flow := collect(inc.Script)
		for _, stmt := range inc.Script.Body.Stmts {
			if f, ok := stmt.(*parse.LocalFuncStmt); ok {
				all[f.Var.Name] = included{inc.Script, flow, f.Func}
			}
		}
	}
	return all
}

// Enter returns a code that looks at the body of an included function as this call makes it run.
func (c *code) Enter(call *parse.CallExpr) (*code, *parse.FuncExpr) {
	name, ok := call.Fn.(*parse.NameExpr)
	if !ok || name.Var == nil || call.Method != "" || c.depth == maxCalls || *c.frames == maxFrame {
		return c, nil
	}
	f, ok := c.included[name.Name]
	// Inside an included file its own functions are entered too, to know what they get.
	sibling := c.bound != nil && ok && c.Flow.Bodies[name.Var] == f.body
	if !ok || name.Var.Kind != parse.IncludedVar && !sibling {
		return c, nil
	}
	*c.frames++
	in := &code{
		S: f.script, Tables: c.Tables, Flow: f.flow, included: c.included, frames: c.frames, depth: c.depth + 1,
		asked: map[question]bool{}, commandsOf: map[*parse.Var][]string{},
		bound: map[*parse.Var]argument{},
	}
	for i, p := range f.body.Params {
		in.bound[p] = argument{from: c}
		if i < len(call.Args) {
			in.bound[p] = argument{c, call.Args[i]}
		}
	}
	return in, f.body
}

// Misuses reports whether a function's body, with the arguments that are bound, has a key or channel
// that is none. Code that is wrong with any arguments is found in the library.
func (c *code) Misuses(body *parse.FuncExpr) bool {
	library := &code{S: c.S, Tables: c.Tables, Flow: c.Flow, included: c.included, frames: c.frames}
	inner := newValues()
	inner.block(body.Body, body)
	for _, e := range inner.Calls {
		if in, deeper := c.Enter(e); deeper != nil && in.Misuses(deeper) {
			return true
		}
		call, _ := c.CommandCall(e)
		if slices.ContainsFunc(c.allPlaces(call), func(p Place) bool { return !c.IsAt(call, p) && library.IsAt(call, p) }) {
			return true
		}
	}
	return false
}

func (c *code) allPlaces(call CommandCall) []Place {
	var all []Place
	for _, name := range call.Names {
		for _, t := range c.Tables.all {
			if cmd := t.Of(call, name); cmd != nil {
				all = append(all, Places(call, cmd)...)
			}
		}
	}
	return all
}
