package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

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

	commandsOf map[*parse.Var][]string // the commands that a name may hold
	members    map[string]bool         // of libraries, and fields, that the script has asked for
	said       map[string]string       // what comments say, by "ARGV[1]", by a name, by a line
	keyed      map[int]bool            // the KEYS[n] that commands take for keys
	units      map[*parse.Var]unit     // that names and comments say
	compared   []comparison            // all of the script
	formsOf    map[string][]form       // of commands, by their texts
	targets    []*table                // of the servers that the script is meant for
}

func newCode(s *parse.Script, tables *Tables) *code {
	c := &code{
		s: s, tables: tables, said: comments(s), units: map[*parse.Var]unit{}, flow: collect(s), frames: new(int),
		commandsOf: map[*parse.Var][]string{}, members: map[string]bool{}, formsOf: map[string][]form{}, keyed: map[int]bool{},
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
	return c
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
