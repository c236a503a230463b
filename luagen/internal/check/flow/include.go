package flow

import "github.com/hasp-go/hasp/luagen/internal/parse"

const (
	maxCalls = 8      // how deep calls of included functions are followed into each other
	maxFrame = 10_000 // how many are followed in all
)

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
		call, ok := c.CommandCall(e)
		if !ok {
			continue
		}
		for _, p := range c.allPlaces(call) {
			if !c.IsAt(call, p) && library.IsAt(call, p) {
				return true
			}
		}
	}
	return false
}

// allPlaces returns the places of a call on all servers.
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
