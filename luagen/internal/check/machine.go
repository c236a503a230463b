package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// machine follows the code of a script with what is known of its values, each statement once in each of a set of states.
type machine struct {
	c      *code
	watch  func(sight) // gets what the machine sees
	state  *state      // in which it stands
	here   []*state    // those in which the present statement is followed
	broken []*state    // those that have left the loop around the code
	frame  *frame      // of the function that is followed, or of the script
	frames map[*parse.FuncExpr]*frame
	branch int // how many sides of conditions were taken
	depth  int // how many functions are around the code
	quiet  int // if it is positive, nothing is passed on, and nothing is done
	level  int // how many expressions are around this one
	forms  map[*parse.CallExpr]*matching
	conds  []parse.Expr // the conditions around the code
	helps  bool         // some function gives keys an expiry
}

// frame is what is seen of a function, or of the script.
type frame struct {
	yields   value                 // what it returns,
	returned []value               // and in each return statement
	params   map[string]*parse.Var // its parameters, by the texts of arguments
	calls    int                   // how many calls of commands, and of what is not known, it has
	given    map[string][]mark     // by key: calls that give it an expiry,
	left     map[string][]mark     // and ends of ways that have written it and have given it none
}

func newFrame() *frame {
	return &frame{params: map[string]*parse.Var{}, given: map[string][]mark{}, left: map[string][]mark{}}
}

// follow goes through the script, and reports whether control may come to its end.
func (m *machine) follow() bool {
	all := m.block([]*state{m.state}, m.c.s.Body)
	m.closes(all)
	if stmts := m.c.s.Body.Stmts; len(all) > 0 && len(stmts) > 0 {
		m.see(sight{use: ended, stmt: stmts[len(stmts)-1]})
	}
	return len(all) > 0
}

// closes notes what is left at the end of a body.
func (m *machine) closes(all []*state) {
	for _, s := range all {
		m.state = s
		m.leaves(parse.Pos{}, value{})
		m.yield(value{is: isNil})
	}
}

// machine returns a machine that stands before the code.
func (c *code) machine() *machine {
	m := &machine{c: c, state: newState(), frame: newFrame(), frames: map[*parse.FuncExpr]*frame{}, branch: 1, forms: map[*parse.CallExpr]*matching{}}
	for _, x := range c.s.Vars {
		if x.Decl != nil && len(x.Writes) == 0 {
			m.state.set(x, declared(x.Decl))
		}
	}
	return m
}

// peek returns the value of an expression that was evaluated before.
func (m *machine) peek(e parse.Expr) value {
	m.quiet++
	defer func() { m.quiet-- }()
	return m.eval(e)
}

// block follows a block in each state.
func (m *machine) block(all []*state, b *parse.Block) []*state {
	if len(all) == 0 {
		return nil
	}
	m.state = all[0]
	m.see(sight{use: entered, in: b})
	all = m.statements(all, b)
	for _, stmt := range b.Stmts { // Its names end here: the state stays small.
		if s, ok := stmt.(*parse.LocalStmt); ok {
			for _, x := range s.Vars {
				for _, s := range all {
					delete(s.vars, x)
				}
			}
		}
	}
	return all
}

func (m *machine) statements(all []*state, b *parse.Block) []*state {
	for _, stmt := range b.Stmts {
		if len(all) == 0 {
			m.state.dead = false
			m.see(sight{use: unreached, stmt: stmt})
			return nil
		}
		all = m.statement(all, stmt)
	}
	return all
}

func (m *machine) statement(all []*state, stmt parse.Stmt) []*state {
	switch s := stmt.(type) {
	case *parse.DoStmt:
		return m.block(all, s.Body)
	case *parse.IfStmt:
		return m.ifs(all, s)
	case *parse.BreakStmt:
		m.broken = append(m.broken, all...)
		return nil
	case *parse.WhileStmt, *parse.RepeatStmt, *parse.NumForStmt, *parse.GenForStmt:
		return m.loop(all, stmt)
	}
	return m.each(all, func() { m.simple(stmt) })
}

// simple follows a statement without a block in the present state.
func (m *machine) simple(stmt parse.Stmt) {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		for i, v := range m.values(s.Values, len(s.Vars)) {
			m.bind(s.Vars[i], m.named(s.Vars[i].Name, m.c.says(s.Vars[i]), v, s.Vars[i].Pos))
		}
	case *parse.AssignStmt:
		m.assign(s)
	case *parse.CallStmt:
		m.see(sight{use: dropped, e: s.Call, v: m.eval(s.Call)})
		m.state.dead = m.state.dead || isError(s.Call)
		if isGlobal(s.Call.Fn, "assert") && len(s.Call.Args) > 0 {
			m.assume(s.Call.Args[0], true)
		}
	case *parse.FuncStmt:
		m.function(s.Func)
	case *parse.LocalFuncStmt:
		m.function(s.Func)
	case *parse.ReturnStmt:
		m.returns(s)
		m.state.dead = true
	}
}

// values evaluates a list for n names. A name beyond the list is nil, unless the last expression
// may stand for many values.
func (m *machine) values(list []parse.Expr, n int) []value {
	all := make([]value, 0, max(n, len(list)))
	for _, e := range list {
		all = append(all, m.eval(e))
	}
	missing := m.nothing()
	if len(list) > 0 && parse.ManyValues(list[len(list)-1]) {
		missing = unknown()
		if items := m.unpackedItems(list[len(list)-1]); items != nil {
			all = append(all[:len(list)-1], items...)
		}
	}
	for len(all) < n {
		all = append(all, missing)
	}
	return all[:n]
}

// named returns a value that gets a name, with the unit that the name says, if none is known.
func (m *machine) named(name string, says unit, v value, pos parse.Pos) value {
	m.see(sight{use: named, name: name, v: v, w: value{number: number{unit: says}}, pos: pos})
	return v.in(says)
}

// bind gives a name a value.
func (m *machine) bind(x *parse.Var, v value) {
	delete(m.state.vars, x)
	if m.c.volatile[x] {
		return
	}
	stored := len(m.c.flow.stores[x]) > 0
	if v.is&isTable != 0 && (stored || v.closed || v.elem == nil) {
		// Values that are put into it, here or by a function that gets it, are not followed.
		kept := value{is: v.is | isStatus | isFailed, missing: v.missing, digits: v.digits, hollow: v.hollow,
			decoded: v.decoded, doubted: v.doubted, empty: v.empty, of: v.of, mixed: v.mixed}
		if !stored {
			kept.elem, kept.listed = v.elem, v.listed
		}
		v = kept
	}
	m.state.set(x, v)
}

func (m *machine) assign(s *parse.AssignStmt) {
	all := m.values(s.Values, len(s.Targets))
	for i, target := range s.Targets {
		switch t := target.(type) {
		case *parse.NameExpr:
			if t.Var != nil && t.Var.Decl == nil {
				m.see(sight{use: reassigned, e: s.Values[min(i, len(s.Values)-1)], f: t, v: all[i]})
				m.bind(t.Var, m.named(t.Name, m.c.says(t.Var), all[i], t.P))
			}
		case *parse.IndexExpr:
			m.eval(t.X)
			m.eval(t.Key)
			if v, _ := m.state.get(varOf(t.X)); v.decoded {
				m.state.ask(proved, aField+m.c.nameOf(t))
			}
			item := s.Values[min(i, len(s.Values)-1)]
			m.see(sight{use: stored, e: item, f: t, v: all[i]})
			m.put(t.X, all[i], item, m.c.nameOf(t))
		}
	}
}

// put notes that a value is put into the table of a name.
func (m *machine) put(table parse.Expr, item value, e parse.Expr, field string) {
	if v, known := m.state.get(varOf(table)); known {
		m.insert(&v, item, e, field)
		m.state.set(varOf(table), v)
	}
}

// overAll reports whether a loop goes through all elements of a reply in which some may be missing: that says nothing of them.
func (m *machine) overAll(stmt parse.Stmt) bool {
	s, ok := stmt.(*parse.GenForStmt)
	if !ok {
		return false
	}
	list := m.peek(m.c.flow.sources[s.Vars[0]][0].in)
	return list.elem != nil && list.elem.is == isText|isFalseValue
}

// counter binds the name of a loop that counts. What it goes through in parts may have any number of elements.
func (m *machine) counter(s *parse.NumForStmt) {
	m.bind(s.Var, value{is: isNumber, number: number{low: m.peek(s.From).low}})
	list := varOf(m.lengthOf(s.To))
	if v, known := m.state.get(list); known && bound(s.Step) > 2 {
		v.endless = true
		m.state.set(list, v)
	}
}

// head evaluates what stands at the head of a loop.
func (m *machine) head(stmt parse.Stmt) {
	_, counts := stmt.(*parse.NumForStmt)
	for _, e := range parse.Exprs(stmt) {
		if v := m.eval(e); counts {
			m.uses(passed, e, v)
		}
	}
}

// elements binds the names of a loop over ipairs(list) or pairs(list).
func (m *machine) elements(s *parse.GenForStmt) {
	list := m.peek(m.c.flow.sources[s.Vars[0]][0].in)
	if list.elem == nil {
		return
	}
	m.see(sight{use: looped, e: s.Values[0], stmt: s, v: list})
	m.bind(s.Vars[0], aCount())
	if len(s.Vars) > 1 {
		m.bind(s.Vars[1], *list.elem)
	}
}

// forget drops what is known of the names that a block assigns to. At the head of a loop some have no value in its first turn.
func (m *machine) forget(b *parse.Block, head bool) {
	for x := range assigned(b) {
		if !head || !m.unmade(x) {
			delete(m.state.vars, x)
		}
	}
}

// unmade reports whether a name has no value, and gets only sums, and so on, of its own.
func (m *machine) unmade(x *parse.Var) bool {
	v, _ := m.state.get(x)
	return v.is == isNil && !slices.ContainsFunc(m.c.flow.sources[x], func(s source) bool {
		b, ok := s.expr.(*parse.BinaryExpr)
		return !ok || b.Op == "and" || b.Op == "or" || !mentions(b, x)
	})
}
