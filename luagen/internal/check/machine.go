package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// machine follows the code of a script with what is known of its values, each statement once.
type machine struct {
	c        *code
	watch    func(sight) // gets what the machine sees
	state    *state
	volatile map[*parse.Var]bool // assigned in a function that is not the one of the name
	branch   int                 // how many branches were taken
	depth    int                 // how many functions are around the code
	quiet    int                 // if it is positive, nothing is found, and nothing is done
	level    int                 // how many expressions are around this one
	budget   int                 // how many parts of a condition may still be looked at
	plain    bool                // the script is sent as one command
	resp3    bool                // replies may have other shapes
	seeds    bool                // some name has a seed in it
	lists    map[string]value    // KEYS and ARGV of a raw script
	forms    map[*parse.CallExpr]*matching
	returned []value                   // what a raw script returns
	gave     bool                      // a call gives a key an expiry
	way      *walk                     // the one way that is followed alone, if one is
	conds    []parse.Expr              // the conditions around the code
	yields   *value                    // what the function that is followed returns
	yielded  map[*parse.FuncExpr]value // what those that were followed return
	params   map[string]*parse.Var     // parameters of the function that is followed, by the texts of arguments
	plainly  map[*parse.FuncExpr]bool  // those that call no command, and nothing that is not known
	calls    int                       // how many calls of commands, and of what is not known, were seen
	unclear  bool                      // an element of the reply may be nil on some ways
	hints    int                       // calls that give an expiry, and what may be nil: a way alone may show more of these
	hintless map[*parse.FuncExpr]bool  // functions that were followed and have none of these
}

// maxRefine is how many parts of a condition are looked at.
const maxRefine = 50

// follow goes through the script.
func (m *machine) follow() {
	m.block(m.c.s.Body)
	if stmts := m.c.s.Body.Stmts; !m.state.dead && len(stmts) > 0 {
		m.see(sight{use: ended, stmt: stmts[len(stmts)-1]})
	}
}

// machine returns a machine that stands before the code.
func (c *code) machine() *machine {
	m := &machine{
		c: c, state: newState(), volatile: map[*parse.Var]bool{}, branch: 1,
		plain: emit.Plain(c.s) != "", lists: map[string]value{}, forms: map[*parse.CallExpr]*matching{},
		yields:  &value{},
		yielded: map[*parse.FuncExpr]value{}, params: map[string]*parse.Var{}, plainly: map[*parse.FuncExpr]bool{}, hintless: map[*parse.FuncExpr]bool{},
	}
	for _, x := range c.s.Vars {
		if x.Decl != nil && len(x.Writes) == 0 {
			m.state.set(x, declared(x.Decl))
		}
	}
	for _, e := range c.flow.exprs {
		if f, ok := e.(*parse.FuncExpr); ok {
			m.capture(f)
		}
		index, ok := e.(*parse.IndexExpr)
		m.resp3 = m.resp3 || ok && isLiteral(index.Key, "setresp")
		m.seeds = m.seeds || ok && isLiteral(index.Key, "randomseed")
	}
	return m
}

// capture notes the outer names that a function assigns to, or whose lists it appends to.
func (m *machine) capture(f *parse.FuncExpr) {
	for _, x := range slices.AppendSeq(m.collected(f.Body), maps.Keys(assigned(f.Body))) {
		if !slices.Contains(f.Params, x) {
			m.volatile[x] = true
		}
	}
}

// peek returns the value of an expression that was evaluated before.
func (m *machine) peek(e parse.Expr) value {
	m.quiet++
	defer func() { m.quiet-- }()
	return m.eval(e)
}

// assume notes that a condition that was evaluated is true, or is not.
func (m *machine) assume(cond parse.Expr, truth bool) {
	m.budget = maxRefine
	m.quiet++
	m.refine(cond, truth)
	m.quiet--
}

func (m *machine) block(b *parse.Block) {
	m.see(sight{use: entered, in: b})
	for _, stmt := range b.Stmts {
		if m.state.dead && m.quiet == 0 {
			m.state.dead = false
			m.see(sight{use: unreached, stmt: stmt})
			m.state.dead = true
			break
		}
		m.statement(stmt)
	}
	for _, stmt := range b.Stmts { // Its names end here: the state stays small.
		if s, ok := stmt.(*parse.LocalStmt); ok {
			for _, x := range s.Vars {
				delete(m.state.vars, x)
			}
		}
	}
}

func (m *machine) statement(stmt parse.Stmt) {
	if m.way != nil {
		m.way.steps++
		m.state.dead = m.state.dead || m.way.steps > maxFollowed
	}
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
	case *parse.DoStmt:
		m.block(s.Body)
	case *parse.IfStmt:
		m.ifs(s)
	case *parse.FuncStmt:
		m.function(s.Func)
	case *parse.LocalFuncStmt:
		m.function(s.Func)
	case *parse.ReturnStmt:
		m.returns(s)
		m.state.dead = true
	case *parse.BreakStmt:
		m.state.dead = m.way == nil
	default:
		m.loop(stmt)
	}
}

// values evaluates a list for n names. A name beyond the list is nil, unless the last expression
// may stand for many values.
func (m *machine) values(list []parse.Expr, n int) []value {
	all := make([]value, 0, max(n, len(list)))
	for _, e := range list {
		all = append(all, m.eval(e))
	}
	missing := value{is: isNil, nilAt: m.state.at}
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
	if m.volatile[x] {
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

func (m *machine) ifs(s *parse.IfStmt) {
	if m.way != nil {
		m.fork(s)
		return
	}
	end, at := &state{dead: true}, m.state.at
	for i, cond := range s.Conds {
		m.eval(cond)
		m.see(sight{use: asked, e: cond})
		before := m.state.clone()
		m.conds = append(m.conds, cond)
		m.turn(cond, true)
		m.block(s.Blocks[i])
		end = merge(end, m.state, at)
		m.state = before
		m.turn(cond, false)
	}
	if s.Else != nil {
		m.block(s.Else)
	}
	m.conds = m.conds[:len(m.conds)-len(s.Conds)]
	m.state = merge(end, m.state, at)
}

// turn takes the way on which a condition is true, or is not.
func (m *machine) turn(cond parse.Expr, truth bool) {
	m.branch++
	m.state.at = m.branch
	m.assume(cond, truth)
}

// loop follows a loop's body once, with nothing known of the names that it assigns to.
func (m *machine) loop(stmt parse.Stmt) {
	body := parse.Blocks(stmt)[0]
	if _, ok := stmt.(*parse.RepeatStmt); !ok {
		m.head(stmt, body)
	}
	m.forget(body, true)
	m.grow(stmt, body)
	after, head := m.state.clone(), m.branch+1
	for _, e := range parse.Exprs(stmt) {
		if !m.each(stmt) {
			m.asks(head, e)
		}
	}
	m.branch += 2
	m.state.at = m.branch
	switch s := stmt.(type) {
	case *parse.WhileStmt:
		m.turn(s.Cond, true)
		m.block(body)
		after.dead = after.dead || isBool(s.Cond, true) && !breaks(body)
	case *parse.RepeatStmt:
		m.repeat(s, after)
	case *parse.NumForStmt:
		m.counter(s)
		m.block(body)
	case *parse.GenForStmt:
		m.elements(s)
		m.block(body)
	}
	counts, _ := stmt.(*parse.NumForStmt)
	m.leave(after, head, counts != nil && bound(counts.From) <= bound(counts.To))
	m.forget(body, false)
}

// each reports whether a loop goes through all elements of a reply in which some may be missing: that says nothing of them.
func (m *machine) each(stmt parse.Stmt) bool {
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

// head evaluates what stands at the head of a loop. The condition of a while loop is seen again
// after the body, so what that assigns to is not known in it.
func (m *machine) head(stmt parse.Stmt, body *parse.Block) {
	_, isWhile := stmt.(*parse.WhileStmt)
	_, counts := stmt.(*parse.NumForStmt)
	if isWhile {
		m.forget(body, true)
	}
	for _, e := range parse.Exprs(stmt) {
		if v := m.eval(e); counts {
			m.uses(passed, e, v)
		}
		if isWhile {
			m.see(sight{use: asked, e: e})
		}
	}
}

// leave goes on behind a loop, which certainly has a turn or may have none. What its head asked says nothing there.
func (m *machine) leave(after *state, head int, turns bool) {
	if m.way != nil {
		m.state.dead = m.state.dead || after.dead
		return
	}
	for what, at := range m.state.asked {
		if at != head {
			after.ask(at, what)
		}
	}
	for x, v := range after.vars {
		if w := m.state.vars[x]; w != nil {
			table := *v
			table.digits, table.hollow = cmp.Or(v.digits, w.digits), v.hollow && (w.hollow || !turns)
			after.vars[x] = &table
		}
	}
	m.state = after
}

func (m *machine) repeat(s *parse.RepeatStmt, after *state) {
	for _, stmt := range s.Body.Stmts {
		m.statement(stmt)
	}
	if !m.state.dead {
		m.eval(s.Cond)
		m.see(sight{use: asked, e: s.Cond})
	}
	// A body whose end control never reaches returns in its first turn.
	after.dead = after.dead || !breaks(s.Body) && (m.state.dead || isBool(s.Cond, false))
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
