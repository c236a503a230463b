// Package flow knows Lua, the commands of servers, and what a script does with its values. It knows no rule, and makes no
// finding: what follows a script passes on each use that it sees.
package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// How far is looked: what is beyond is not known.
const (
	maxStates   = 4      // states that go through the code. Of all scripts of testdata, and 300 public ones, 8 find no more
	maxLevel    = 300    // expressions in each other: a sum of so many, say
	maxParts    = 50     // parts of a condition in each other
	MaxAsked    = 200    // what conditions are about: beyond that the script is taken to know everything
	MaxWithin   = 1000   // expressions that are looked at to find what is meant
	MaxNames    = 100    // names that are followed from one to the next
	MaxCallers  = 2      // functions from which a key is followed to where they are called
	MaxKeyParts = 20     // parts of the text of a key
	maxAliases  = 5      // names that have several values
	maxCalls    = 8      // calls of included functions in each other,
	maxFrame    = 10_000 // and in all
	maxSteps    = 20_000 // steps in which a match of a form is looked for; then there may be one
	maxOpen     = 8      // words that are tried in the place of an expression with any number of values
)

// Machine follows the code of a script with what is known of its values, each statement once in each of a set of states.
type Machine struct {
	C      *code
	Watch  func(Sight) // gets what the machine sees
	State  *state      // in which it stands
	here   []*state    // those in which the present statement is followed
	broken []*state    // those that have left the loop around the code
	Frame  *Frame      // of the function that is followed, or of the script
	Frames map[*parse.FuncExpr]*Frame
	branch int // how many sides of conditions were taken
	Depth  int // how many functions are around the code
	Quiet  int // if it is positive, nothing is passed on, and nothing is done
	level  int // how many expressions are around this one
	forms  map[*parse.CallExpr]*Matching
	Conds  []parse.Expr // the conditions around the code
}

// Frame is what is seen of a function, or of the script.
type Frame struct {
	yields   Value             // what it returns,
	Returned []Value           // and in each return statement
	calls    int               // how many calls of commands, and of what is not known, it has
	Given    map[string][]Mark // by key: calls that give it an expiry,
	Left     map[string][]Mark // and ends of ways that have written it and have given it none
}

func newFrame() *Frame {
	return &Frame{Given: map[string][]Mark{}, Left: map[string][]Mark{}}
}

// Follow goes through the script, and reports whether control may come to its end.
func (m *Machine) Follow() bool {
	all := m.block([]*state{m.State}, m.C.S.Body)
	m.closes(all)
	if stmts := m.C.S.Body.Stmts; len(all) > 0 && len(stmts) > 0 {
		m.see(Sight{Use: Ended, Stmt: stmts[len(stmts)-1]})
	}
	return len(all) > 0
}

// closes notes what is left at the end of a body.
func (m *Machine) closes(all []*state) {
	for _, s := range all {
		m.State = s
		m.leaves(parse.Pos{}, Value{})
		m.yield(Value{Is: IsNil})
	}
}

// Machine returns a machine that stands before the code.
func (c *code) Machine() *Machine {
	m := &Machine{C: c, State: NewState(), Frame: newFrame(), Frames: map[*parse.FuncExpr]*Frame{}, branch: 1, forms: map[*parse.CallExpr]*Matching{}}
	for _, x := range c.S.Vars {
		if x.Decl != nil && len(x.Writes) == 0 {
			m.State.set(x, declared(x.Decl))
		}
	}
	return m
}

// Peek returns the value of an expression that was evaluated before.
func (m *Machine) Peek(e parse.Expr) Value {
	m.Quiet++
	defer func() { m.Quiet-- }()
	return m.eval(e)
}

func (m *Machine) block(all []*state, b *parse.Block) []*state {
	m.State = all[0]
	m.see(Sight{Use: Entered, In: b})
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

func (m *Machine) statements(all []*state, b *parse.Block) []*state {
	for _, stmt := range b.Stmts {
		if len(all) == 0 {
			m.State.Dead = false
			m.see(Sight{Use: Unreached, Stmt: stmt})
			return nil
		}
		all = m.statement(all, stmt)
	}
	return all
}

func (m *Machine) statement(all []*state, stmt parse.Stmt) []*state {
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
func (m *Machine) simple(stmt parse.Stmt) {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		for i, v := range m.values(s.Values, len(s.Vars)) {
			m.bind(s.Vars[i], v.In(m.C.says(s.Vars[i])))
		}
	case *parse.AssignStmt:
		m.assign(s)
	case *parse.CallStmt:
		m.see(Sight{Use: Dropped, E: s.Call, V: m.eval(s.Call)})
		m.State.Dead = m.State.Dead || parse.IsGlobal(s.Call.Fn, "error") && s.Call.Method == "" // which does not come back
		if parse.IsGlobal(s.Call.Fn, "assert") && len(s.Call.Args) > 0 {
			m.assume(s.Call.Args[0], true)
		}
	case *parse.FuncStmt:
		m.function(s.Func)
	case *parse.LocalFuncStmt:
		m.function(s.Func)
	case *parse.ReturnStmt:
		m.returns(s)
		m.State.Dead = true
	}
}

// values evaluates a list for n names. A name beyond it is nil, unless the last expression may stand for many values.
func (m *Machine) values(list []parse.Expr, n int) []Value {
	all := make([]Value, 0, max(n, len(list)))
	for _, e := range list {
		all = append(all, m.eval(e))
	}
	missing := Value{Is: IsNil}
	if len(list) > 0 && parse.ManyValues(list[len(list)-1]) {
		missing = unknown()
		call, ok := list[len(list)-1].(*parse.CallExpr)
		if ok && len(call.Args) == 2 && m.C.Callee(call) == "pcall" && m.C.Callee(&parse.CallExpr{Fn: call.Args[0]}) == "cjson.decode" {
			all = append(all[:len(list)-1], Value{Is: Boolean}, Value{Is: anything, Decoded: true, doubted: true})
		}
	}
	for len(all) < n {
		all = append(all, missing)
	}
	return all[:n]
}

func (m *Machine) bind(x *parse.Var, v Value) {
	delete(m.State.vars, x)
	if m.C.volatile[x] {
		return
	}
	stored := len(m.C.Flow.Stores[x]) > 0
	if v.Is&IsTable != 0 && (stored || v.Closed || v.Elem == nil) {
		// Values that are put into it, here or by a function that gets it, are not followed.
		kept := Value{Is: v.Is | IsStatus | IsFailed, Missing: v.Missing, hollow: v.hollow,
			Decoded: v.Decoded, doubted: v.doubted, Empty: v.Empty, of: v.of, mixed: v.mixed, ByName: v.ByName, Rows: v.Rows}
		if !stored {
			kept.Elem, kept.listed = v.Elem, v.listed
		}
		v = kept
	}
	m.State.set(x, v)
}

func (m *Machine) assign(s *parse.AssignStmt) {
	all := m.values(s.Values, len(s.Targets))
	for i, target := range s.Targets {
		switch t := target.(type) {
		case *parse.NameExpr:
			if t.Var != nil && t.Var.Decl == nil {
				m.bind(t.Var, all[i].In(m.C.says(t.Var)))
			}
		case *parse.IndexExpr:
			m.eval(t.X)
			m.eval(t.Key)
			if v, _ := m.State.Get(parse.VarOf(t.X)); v.Decoded {
				m.State.ask(proved, aField+m.C.NameOf(t))
			}
			m.put(t.X, t.Key, all[i], s.Values[min(i, len(s.Values)-1)])
		}
	}
}

// name notes that a table has an item by a key.
func (v *Value) name(e parse.Expr, key, item Value) {
	text, literal := parse.ConstantText(e)
	if v.Rows = v.Rows || !key.Surely(IsText) || Is(text, "names of replies"); key.Is == IsNumber || v.Decoded || v.Elem != nil {
		return
	}
	if item.Is&(IsTable|IsStatus|IsFailed|isOther) != 0 {
		item = unknown()
	}
	if !literal || item.Is&Absent == 0 { // It may be another, or on another way.
		item.Is |= IsNil
	}
	if v.ByName != nil { // one may be a default
		item = Join(*v.ByName, item)
		item.Missing = ""
	}
	v.ByName = &item
}

// put notes that a value is put into the table of a name.
func (m *Machine) put(table, key parse.Expr, item Value, e parse.Expr) {
	if _, written := parse.ConstantText(key); !written && (m.C.Flow.Loops[parse.VarOf(key)] != nil || m.Peek(key).Surely(IsNumber)) {
		m.see(Sight{Use: Put, E: e, F: table, V: item})
	}
	if v, known := m.State.Get(parse.VarOf(table)); known {
		m.insert(&v, item, e)
		v.name(key, m.Peek(key), item)
		m.State.set(parse.VarOf(table), v)
	}
}

// overAll reports whether a loop goes through all elements of a reply in which some may be missing: that says nothing of them.
func (m *Machine) overAll(stmt parse.Stmt) bool {
	s, ok := stmt.(*parse.GenForStmt)
	if !ok {
		return false
	}
	list := m.Peek(m.C.Flow.Sources[s.Vars[0]][0].in)
	return list.Elem != nil && list.Elem.Is == IsText|IsFalseValue
}

func (m *Machine) head(stmt parse.Stmt) {
	_, counts := stmt.(*parse.NumForStmt)
	for _, e := range parse.Exprs(stmt) {
		if v := m.eval(e); counts {
			m.uses(Passed, e, v)
		}
	}
}

// elements binds the names of a loop over ipairs(list) or pairs(list).
func (m *Machine) elements(s *parse.GenForStmt) {
	list := m.Peek(m.C.Flow.Sources[s.Vars[0]][0].in)
	if list.Elem == nil {
		if list.Decoded && len(s.Vars) > 1 {
			m.bind(s.Vars[1], Value{Is: anything &^ IsNil, Decoded: true})
		}
		return
	}
	m.bind(s.Vars[0], aCount())
	if len(s.Vars) > 1 {
		element := *list.Elem
		element.Paired = element.Paired && m.C.blind(s.Body, s.Vars[0])
		m.bind(s.Vars[1], element)
	}
}

// forget drops what is known of the names that a block assigns to. At the head of a loop some have no value in its first
// turn: those that get only sums, and so on, of their own.
func (m *Machine) forget(b *parse.Block, head bool) {
	for x := range parse.Assigned(b) {
		if v, _ := m.State.Get(x); !head || v.Is != IsNil || slices.ContainsFunc(m.C.Flow.Sources[x], func(s Source) bool {
			b, ok := s.Expr.(*parse.BinaryExpr)
			return !ok || b.Op == "and" || b.Op == "or" || !parse.Mentions(b, x)
		}) {
			delete(m.State.vars, x)
		}
	}
}

// Use is how the code uses an expression, or what it does.
type Use int

// The first uses fail for nil.
const (
	InArithmetic Use = iota
	InText           // an operand of .., or of what makes a text of a number
	AsWord           // of a command, behind its first
	Indexed          // x[key]: key is the second expression
	Measured         // by #
	Ordered          // an operand of <
	Passed           // to a function, or to a loop that counts
	Called           // as a function

	Asked   // a condition
	Equal   // l == r
	Less    // l < r
	Sum     // l + r, l - r and l / r
	Either  // l and r, l or r: of the left one only
	Chained // all operands of a chain of ..

	Given     // a function of the server gets its arguments
	Sent      // a command gets its words
	Refusable // a command gives an expiry to a key that was just created
	Put       // an element of a table
	Returned  // by a return statement
	Dropped   // the value of a statement
	Entered   // a block
	Ended     // the script, without a return statement
	Unreached // a statement that never runs
)

// Sight is what the machine sees of one use, in the state in which it stands.
type Sight struct {
	Use  Use
	E, F parse.Expr // two where a use is of two
	Stmt parse.Stmt
	In   *parse.Block
	V, W Value   // of e, and of f
	Args []Value // of a call, or of a chain
	Call CommandCall
	Name string
	Pos  parse.Pos
}

// see passes on what the machine sees where it stands, unless it only looks again, or control never comes here.
func (m *Machine) see(s Sight) {
	if m.Quiet == 0 && !m.State.Dead && m.Watch != nil {
		m.Watch(s)
	}
}

// uses passes on that an expression is used in a way for which nil fails: behind it the value is there.
func (m *Machine) uses(u Use, e parse.Expr, v Value) {
	if u != InArithmetic && u != Ordered { // A counter may be missing where the rest of a hash is there.
		v.Missing = strings.TrimSuffix(v.Missing, itsOwn)
	}
	m.see(Sight{Use: u, E: e, V: v})
	m.proves(v)
}

// proves notes that a value is there: the script would fail here else.
func (m *Machine) proves(v Value) {
	if m.MayMiss(v) {
		m.State.ask(proved, v.Missing)
	}
}

// UseAt is what identifies a use.
type UseAt struct {
	use   Use
	of    [4]any
	pos   parse.Pos
	Never bool
}

// Place returns what identifies the use.
func (s Sight) Place(never bool) UseAt {
	return UseAt{s.Use, [4]any{s.E, s.Stmt, s.In, s.Call.Expr}, s.Pos, never}
}
