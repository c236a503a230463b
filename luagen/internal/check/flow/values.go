package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// values is what the code of a script does with its names, wherever in the code it stands.
type values struct {
	Exprs    []parse.Expr // every one
	Binaries []*parse.BinaryExpr
	Conds    []parse.Expr // of if
	Calls    []*parse.CallExpr
	Blocks   map[*parse.CallExpr]*parse.Block // that they are in
	Sources  map[*parse.Var][]Source          // the values that a name may hold
	Stores   map[*parse.Var][]parse.Expr      // the values that are put into the table of a name
	Appends  map[*parse.Var]int               // how many of these are put behind the end, or at the index of a loop
	along    map[*parse.Var][]*parse.Var      // names that count where a list grows
	aliases  map[*parse.Var][]*parse.Var      // names and parameters that may hold the same
	Called   map[*parse.Var][]*parse.CallExpr
	Bodies   map[*parse.Var]*parse.FuncExpr // of local functions that are never replaced
	Params   map[*parse.Var]param
	Returned map[*parse.FuncExpr][]parse.Expr // the first value of each return
	Replied  map[*parse.Var]bool              // what is returned, alone or in a table
	Loops    map[*parse.Var]*parse.NumForStmt
	Indices  map[*parse.Var][]*parse.IndexExpr
	changed  map[string]bool            // the globals that have an element which is assigned to
	HasText  map[string]bool            // [] and {}, if a literal text has these in it
	Careful  map[parse.Expr]bool        // what stands there to be on the safe side: see syntax.go
	chained  map[*parse.BinaryExpr]bool // parts of chains of or and and that were seen
}

// Within reports whether an expression, or what the names in it may hold, has in it what is meant, or too much to look at.
func (v *values) Within(e parse.Expr, meant func(parse.Expr) bool) bool {
	seen, left := map[*parse.Var]bool{nil: true}, MaxWithin
	var search func(e parse.Expr) bool
	search = func(e parse.Expr) bool {
		x := parse.VarOf(e)
		if left--; left < 0 {
			return true
		}
		if seen[x] {
			return meant(e)
		}
		seen[x] = true
		return meant(e) || slices.ContainsFunc(v.Sources[x], func(s Source) bool {
			return s.in != nil && parse.Contains(s.in, search) || s.Expr != nil && parse.Contains(s.Expr, search)
		}) || slices.ContainsFunc(v.Stores[x], func(e parse.Expr) bool { return e == nil || parse.Contains(e, search) })
	}
	return parse.Contains(e, search)
}

// Source is one thing that a name may hold.
type Source struct {
	Expr  parse.Expr // nil: unknown
	Nth   int        // the place among expr's values, from 0
	in    parse.Expr // of a loop over ipairs(in) or pairs(in): an element of it
	index bool       // of such a loop: the index
}

type param struct {
	Owner *parse.Var // the name of the function
	N     int
}

// Itoa returns the text of a number.
func Itoa(n int) string { return strconv.Itoa(n) }

func collect(s *parse.Script) *values {
	v := newValues()
	v.block(s.Body, nil)
	for _, e := range v.Calls {
		v.insert(e)
	}
	v.link()
	return v
}

// link notes which names and parameters get what another name is.
func (v *values) link() {
	alias := func(e parse.Expr, y *parse.Var) {
		if x := parse.VarOf(e); x != nil {
			v.aliases[x] = append(v.aliases[x], y)
		}
	}
	for y, sources := range v.Sources {
		for _, s := range sources {
			alias(s.Expr, y)
		}
	}
	for p, of := range v.Params {
		for _, call := range v.Called[of.Owner] {
			if of.N < len(call.Args) {
				alias(call.Args[of.N], p)
			}
		}
	}
}

// sameTable returns a name, and the names and parameters of local functions that may get its table.
func (v *values) sameTable(x *parse.Var) []*parse.Var {
	all := []*parse.Var{x}
	for i := 0; i < len(all); i++ {
		for _, y := range v.aliases[all[i]] {
			if !slices.Contains(all, y) {
				all = append(all, y)
			}
		}
	}
	return all
}

// origin returns what e is, if e is a local name for it.
func (v *values) origin(e parse.Expr) parse.Expr {
	for range MaxNames {
		switch x := e.(type) {
		case *parse.ParenExpr:
			e = x.X
		case *parse.NameExpr:
			source, ok := v.Only(x.Var)
			if !ok {
				return e
			}
			e = source
		default:
			return e
		}
	}
	return e
}

func newValues() *values {
	return &values{
		Blocks:  map[*parse.CallExpr]*parse.Block{},
		Sources: map[*parse.Var][]Source{}, Stores: map[*parse.Var][]parse.Expr{}, Appends: map[*parse.Var]int{},
		Called: map[*parse.Var][]*parse.CallExpr{}, Bodies: map[*parse.Var]*parse.FuncExpr{},
		Params: map[*parse.Var]param{}, Returned: map[*parse.FuncExpr][]parse.Expr{},
		changed: map[string]bool{}, HasText: map[string]bool{},
		along: map[*parse.Var][]*parse.Var{}, aliases: map[*parse.Var][]*parse.Var{}, Loops: map[*parse.Var]*parse.NumForStmt{}, Replied: map[*parse.Var]bool{},
		Careful: map[parse.Expr]bool{}, chained: map[*parse.BinaryExpr]bool{},
		Indices: map[*parse.Var][]*parse.IndexExpr{},
	}
}

func (v *values) block(b *parse.Block, fn *parse.FuncExpr) {
	for _, stmt := range b.Stmts {
		v.statement(stmt, fn)
		for _, e := range parse.Exprs(stmt) {
			parse.Walk(e, func(e parse.Expr) { v.expr(e, b) })
		}
		for _, inner := range parse.Blocks(stmt) {
			v.block(inner, fn)
			v.counting(inner)
		}
	}
}

// counting notes the names that get another value where a list grows: by them a script may know whether it is empty.
func (v *values) counting(b *parse.Block) {
	var lists, names []*parse.Var
	for _, stmt := range b.Stmts[:min(len(b.Stmts), MaxAsked)] {
		switch s := stmt.(type) {
		case *parse.AssignStmt:
			lists, names = append(lists, appended(s)...), append(names, parse.VarOf(s.Targets[0]))
		case *parse.CallStmt:
			if len(s.Call.Args) > 1 {
				lists = append(lists, parse.VarOf(s.Call.Args[0]))
			}
		}
	}
	for _, list := range lists {
		v.along[list] = append(v.along[list], names...)
	}
}

// expr notes a call in a block, and goes into the body of a function.
func (v *values) expr(e parse.Expr, in *parse.Block) {
	v.Exprs = append(v.Exprs, e)
	switch e := e.(type) {
	case *parse.IndexExpr:
		v.Indices[parse.VarOf(e.X)] = append(v.Indices[parse.VarOf(e.X)], e)
	case *parse.BinaryExpr:
		v.Binaries = append(v.Binaries, e)
		switch e.Op {
		case "and", "or":
			if !v.chained[e] {
				v.cover(e)
			}
			for _, side := range []parse.Expr{e.L, e.R} {
				b, ok := parse.Unparen(side).(*parse.BinaryExpr)
				v.chained[b] = ok && b.Op == e.Op
			}
		}
	case *parse.FuncExpr:
		v.block(e.Body, e)
	case *parse.StringExpr:
		for _, text := range []string{"[]", "{}"} {
			v.HasText[text] = v.HasText[text] || strings.Contains(e.Value, text)
		}
	case *parse.CallExpr:
		v.Calls, v.Blocks[e] = append(v.Calls, e), in
		if name, ok := e.Fn.(*parse.NameExpr); ok && name.Var != nil && e.Method == "" {
			v.Called[name.Var] = append(v.Called[name.Var], e)
			for _, arg := range e.Args { // A function of the script may change what it gets.
				if global, ok := arg.(*parse.NameExpr); ok && global.Var == nil {
					v.changed[global.Name] = true
				}
			}
		}
	}
}

// insert notes table.insert(t, x) and rawset(t, key, x).
func (v *values) insert(e *parse.CallExpr) {
	origin := v.origin(e.Fn)
	fn, ok := origin.(*parse.IndexExpr)
	inserts := ok && parse.IsGlobal(fn.X, "table") && parse.IsLiteral(fn.Key, "insert") || parse.IsGlobal(origin, "rawset")
	if !inserts || len(e.Args) < 2 {
		return
	}
	if x := parse.VarOf(e.Args[0]); x != nil {
		v.Stores[x] = append(v.Stores[x], e.Args[len(e.Args)-1])
		if fn != nil {
			v.Appends[x]++
		}
	}
}

func (v *values) statement(stmt parse.Stmt, fn *parse.FuncExpr) {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		for i, x := range s.Vars {
			if len(s.Values) > 0 { // "local x" holds nothing until it is assigned
				v.assign(x, s.Values, i)
			}
		}
	case *parse.AssignStmt:
		v.assignment(s)
	case *parse.GenForStmt:
		v.loop(s)
	case *parse.IfStmt:
		v.Conds = append(v.Conds, s.Conds...)
		v.defaults(s)
	case *parse.NumForStmt:
		v.Sources[s.Var], v.Loops[s.Var] = append(v.Sources[s.Var], Source{}), s
	case *parse.LocalFuncStmt:
		v.assign(s.Var, []parse.Expr{s.Func}, 0)
	case *parse.FuncStmt:
		if x := parse.VarOf(s.Target); x != nil {
			v.Sources[x] = append(v.Sources[x], Source{})
		}
	case *parse.ReturnStmt:
		first := parse.Expr(nil)
		if len(s.Values) > 0 {
			first = s.Values[0]
		}
		v.Returned[fn] = append(v.Returned[fn], first)
		v.Replied[parse.VarOf(first)] = true
		if table, ok := first.(*parse.TableExpr); ok {
			for _, f := range table.Fields {
				v.Replied[parse.VarOf(f.Value)] = true
			}
		}
		delete(v.Replied, nil) // of what is no name
	}
}

// assign notes that x gets the i-th value of a list.
func (v *values) assign(x *parse.Var, list []parse.Expr, i int) {
	from := Source{}
	switch {
	case i < len(list):
		from.Expr = list[i]
	case parse.ManyValues(list[len(list)-1]):
		from.Expr, from.Nth = list[len(list)-1], i-len(list)+1
	}
	if f, ok := from.Expr.(*parse.FuncExpr); ok && len(x.Writes) == 0 {
		v.Bodies[x] = f
		for i, p := range f.Params {
			v.Params[p] = param{x, i}
		}
		return
	}
	v.Sources[x] = append(v.Sources[x], from)
}

func (v *values) assignment(s *parse.AssignStmt) {
	for i, target := range s.Targets {
		switch t := target.(type) {
		case *parse.NameExpr:
			if t.Var != nil {
				v.assign(t.Var, s.Values, i)
			}
		case *parse.IndexExpr:
			x := parse.VarOf(t.X)
			if name, ok := t.X.(*parse.NameExpr); ok && x == nil {
				v.changed[name.Name] = true
			}
			if x == nil {
				continue
			}
			stored := parse.Expr(nil)
			if i < len(s.Values) {
				stored = s.Values[i]
			}
			if parse.BehindLast(t.Key, x) || v.IsIndex(t.Key) {
				v.Appends[x]++
			}
			v.Stores[x] = append(v.Stores[x], stored)
		}
	}
}

// loop notes the names of a loop over ipairs(x) or pairs(x).
func (v *values) loop(s *parse.GenForStmt) {
	var in parse.Expr
	var list bool
	if call, ok := s.Values[0].(*parse.CallExpr); ok && len(call.Args) == 1 {
		if list = parse.IsGlobal(call.Fn, "ipairs"); list || parse.IsGlobal(call.Fn, "pairs") {
			in = call.Args[0]
		}
	}
	for i, x := range s.Vars {
		v.Sources[x] = append(v.Sources[x], Source{in: in, index: list && i == 0})
	}
}

// Only returns the one expression that a name ever holds.
func (v *values) Only(x *parse.Var) (parse.Expr, bool) {
	if x == nil || len(v.Sources[x]) != 1 {
		return nil, false
	}
	from := v.Sources[x][0]
	return from.Expr, from.Expr != nil && from.Nth == 0
}

// IsIndex reports whether a key is the index of a loop over a list, or from 1 on.
func (v *values) IsIndex(key parse.Expr) bool {
	i, more := parse.Added(key)
	if loop := v.Loops[parse.VarOf(i)]; loop != nil {
		return parse.Bound(loop.From)+more == 1 && loop.Step == nil
	}
	return slices.ContainsFunc(v.Sources[parse.VarOf(key)], func(s Source) bool { return s.index })
}
