package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// values is what the code of a script does with its names, wherever in the code it stands.
type values struct {
	exprs    []parse.Expr // every one
	conds    []parse.Expr // of if
	calls    []*parse.CallExpr
	blocks   map[*parse.CallExpr]*parse.Block // that they are in
	sources  map[*parse.Var][]source          // the values that a name may hold
	stores   map[*parse.Var][]parse.Expr      // the values that are put into the table of a name
	appends  map[*parse.Var]int               // how many of these are put behind the end, or at the index of a loop
	along    map[*parse.Var][]*parse.Var      // names that count where a list grows
	called   map[*parse.Var][]*parse.CallExpr
	aliases  map[*parse.Var][]*parse.Var    // names and parameters that may hold the same
	bodies   map[*parse.Var]*parse.FuncExpr // of local functions that are never replaced
	params   map[*parse.Var]param
	returned map[*parse.FuncExpr][]parse.Expr // the first value of each return
	replied  map[*parse.Var]bool              // what is returned, alone or in a table
	uses     map[*parse.NameExpr]bool         // uses of a name that calls it
	loops    map[*parse.Var]*parse.NumForStmt
	compared map[*parse.Var]bool // a comparison, or a remainder, is of the name, or of it and a number
	indices  map[*parse.Var][]*parse.IndexExpr
	changed  map[string]bool            // the globals that have an element which is assigned to
	hasText  map[string]bool            // [] and {}, if a literal text has these in it
	careful  map[parse.Expr]bool        // see careful.go
	chained  map[*parse.BinaryExpr]bool // parts of chains of or and and that were seen
}

// maxWithin is how many expressions are looked at to find what is meant.
const maxWithin = 1000

// within reports whether an expression, or what the names in it may hold, has in it what is meant, or what is not known,
// or too much to look at.
func (v *values) within(e parse.Expr, meant func(parse.Expr) bool) bool {
	seen, left := map[*parse.Var]bool{nil: true}, maxWithin
	var search func(e parse.Expr) bool
	search = func(e parse.Expr) bool {
		x := varOf(e)
		if left--; left < 0 {
			return true
		}
		if seen[x] {
			return meant(e)
		}
		seen[x] = true
		return meant(e) || slices.ContainsFunc(v.sources[x], func(s source) bool {
			return s.in != nil && parse.Contains(s.in, search) || s.expr != nil && parse.Contains(s.expr, search)
		}) || slices.ContainsFunc(v.stores[x], func(e parse.Expr) bool { return e == nil || parse.Contains(e, search) })
	}
	return parse.Contains(e, search)
}

// source is one thing that a name may hold.
type source struct {
	expr  parse.Expr // nil: unknown
	nth   int        // the place among expr's values, from 0
	in    parse.Expr // of a loop over ipairs(in) or pairs(in): an element of it
	index bool       // of such a loop: the index
}

type param struct {
	owner *parse.Var // the name of the function
	n     int
}

func itoa(n int) string { return strconv.Itoa(n) }

// collect reads the whole tree of a script.
func collect(s *parse.Script) *values {
	v := newValues()
	v.block(s.Body, nil)
	for _, e := range v.calls {
		v.insert(e)
	}
	v.link()
	return v
}

// origin returns what e is, if e is a local name for it.
func (v *values) origin(e parse.Expr) parse.Expr {
	for range maxNames {
		switch x := e.(type) {
		case *parse.ParenExpr:
			e = x.X
		case *parse.NameExpr:
			source, ok := v.only(x.Var)
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
		blocks:  map[*parse.CallExpr]*parse.Block{},
		sources: map[*parse.Var][]source{}, stores: map[*parse.Var][]parse.Expr{}, appends: map[*parse.Var]int{},
		called: map[*parse.Var][]*parse.CallExpr{}, bodies: map[*parse.Var]*parse.FuncExpr{},
		params: map[*parse.Var]param{}, returned: map[*parse.FuncExpr][]parse.Expr{},
		uses: map[*parse.NameExpr]bool{}, changed: map[string]bool{}, hasText: map[string]bool{},
		aliases: map[*parse.Var][]*parse.Var{}, along: map[*parse.Var][]*parse.Var{},
		loops: map[*parse.Var]*parse.NumForStmt{}, replied: map[*parse.Var]bool{},
		careful: map[parse.Expr]bool{}, chained: map[*parse.BinaryExpr]bool{},
		compared: map[*parse.Var]bool{}, indices: map[*parse.Var][]*parse.IndexExpr{},
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
	for _, stmt := range statements(b) {
		switch s := stmt.(type) {
		case *parse.AssignStmt:
			lists = append(lists, appended(s)...)
		case *parse.CallStmt:
			fn, isIndex := s.Call.Fn.(*parse.IndexExpr)
			if isIndex && isLiteral(fn.Key, "insert") && len(s.Call.Args) > 1 {
				lists = append(lists, namesIn(s.Call.Args[0])...)
			}
		}
	}
	for _, stmt := range b.Stmts {
		if s, ok := stmt.(*parse.AssignStmt); ok && varOf(s.Targets[0]) != nil && len(names) < maxAsked {
			names = append(names, varOf(s.Targets[0]))
		}
	}
	for _, list := range lists {
		if len(v.along[list]) < maxAsked {
			v.along[list] = append(v.along[list], names...)
		}
	}
}

// expr notes a call in a block, and goes into the body of a function.
func (v *values) expr(e parse.Expr, in *parse.Block) {
	v.exprs = append(v.exprs, e)
	switch e := e.(type) {
	case *parse.IndexExpr:
		v.indices[varOf(e.X)] = append(v.indices[varOf(e.X)], e)
	case *parse.BinaryExpr:
		for _, side := range []parse.Expr{e.L, e.R} {
			x, _ := added(side)
			v.compared[varOf(x)] = v.compared[varOf(x)] || negated[e.Op] != "" || e.Op == "%"
		}
		switch e.Op {
		case "and", "or":
			v.cover(e)
		case "==", "~=":
			v.compares(e)
		}
	case *parse.FuncExpr:
		v.block(e.Body, e)
	case *parse.StringExpr:
		for _, text := range []string{"[]", "{}", "null"} {
			v.hasText[text] = v.hasText[text] || strings.Contains(e.Value, text)
		}
	case *parse.CallExpr:
		v.calls, v.blocks[e] = append(v.calls, e), in
		if name, ok := e.Fn.(*parse.NameExpr); ok && name.Var != nil && e.Method == "" {
			v.called[name.Var] = append(v.called[name.Var], e)
			v.uses[name] = true
		}
	}
}

// insert notes table.insert(t, x) and rawset(t, key, x).
func (v *values) insert(e *parse.CallExpr) {
	origin := v.origin(e.Fn)
	fn, ok := origin.(*parse.IndexExpr)
	inserts := ok && isGlobal(fn.X, "table") && isLiteral(fn.Key, "insert") || isGlobal(origin, "rawset")
	if !inserts || len(e.Args) < 2 {
		return
	}
	if x := varOf(e.Args[0]); x != nil {
		v.stores[x] = append(v.stores[x], e.Args[len(e.Args)-1])
		if fn != nil {
			v.appends[x]++
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
		v.conds = append(v.conds, s.Conds...)
		v.defaults(s)
	case *parse.NumForStmt:
		v.sources[s.Var], v.loops[s.Var] = append(v.sources[s.Var], source{}), s
	case *parse.LocalFuncStmt:
		v.assign(s.Var, []parse.Expr{s.Func}, 0)
	case *parse.FuncStmt:
		if x := varOf(s.Target); x != nil {
			v.sources[x] = append(v.sources[x], source{})
		} else if field, ok := s.Target.(*parse.IndexExpr); ok {
			v.stores[varOf(field.X)] = append(v.stores[varOf(field.X)], nil)
		}
	case *parse.ReturnStmt:
		first := parse.Expr(nil)
		if len(s.Values) > 0 {
			first = s.Values[0]
		}
		v.returned[fn] = append(v.returned[fn], first)
		v.reply(first)
	}
}

// reply notes a name that is returned, or those in a table that is.
func (v *values) reply(e parse.Expr) {
	v.replied[varOf(e)] = true
	if table, ok := e.(*parse.TableExpr); ok {
		for _, f := range table.Fields {
			v.replied[varOf(f.Value)] = true
		}
	}
	delete(v.replied, nil) // of what is no name
}

// assign notes that x gets the i-th value of a list.
func (v *values) assign(x *parse.Var, list []parse.Expr, i int) {
	from := source{}
	switch {
	case i < len(list):
		from.expr = list[i]
	case parse.ManyValues(list[len(list)-1]):
		from.expr, from.nth = list[len(list)-1], i-len(list)+1
	}
	if f, ok := from.expr.(*parse.FuncExpr); ok && len(x.Writes) == 0 {
		v.function(x, f)
		return
	}
	v.sources[x] = append(v.sources[x], from)
}

func (v *values) assignment(s *parse.AssignStmt) {
	for i, target := range s.Targets {
		switch t := target.(type) {
		case *parse.NameExpr:
			if t.Var != nil {
				v.assign(t.Var, s.Values, i)
			}
		case *parse.IndexExpr:
			x := varOf(t.X)
			if x == nil {
				if name, ok := t.X.(*parse.NameExpr); ok {
					v.changed[name.Name] = true
				}
				continue
			}
			stored := parse.Expr(nil)
			if i < len(s.Values) {
				stored = s.Values[i]
			}
			if behindLast(t.Key, x) || v.isIndex(t.Key) {
				v.appends[x]++
			}
			v.stores[x] = append(v.stores[x], stored)
		}
	}
}

// loop notes the names of a loop over ipairs(x) or pairs(x).
func (v *values) loop(s *parse.GenForStmt) {
	var in parse.Expr
	var list bool
	if call, ok := s.Values[0].(*parse.CallExpr); ok && len(call.Args) == 1 {
		if list = isGlobal(call.Fn, "ipairs"); list || isGlobal(call.Fn, "pairs") {
			in = call.Args[0]
		}
	}
	for i, x := range s.Vars {
		v.sources[x] = append(v.sources[x], source{in: in, index: list && i == 0})
	}
}

func (v *values) function(x *parse.Var, f *parse.FuncExpr) {
	v.bodies[x] = f
	for i, p := range f.Params {
		v.params[p] = param{x, i}
	}
}

// only returns the one expression that a name ever holds.
func (v *values) only(x *parse.Var) (parse.Expr, bool) {
	if x == nil || len(v.sources[x]) != 1 {
		return nil, false
	}
	from := v.sources[x][0]
	return from.expr, from.expr != nil && from.nth == 0
}

// isElement reports whether a key is a text or an element of a table, and so no index that counts.
func (v *values) isElement(key parse.Expr) bool {
	switch e := v.origin(key).(type) {
	case *parse.StringExpr, *parse.IndexExpr:
		return true
	case *parse.BinaryExpr:
		return e.Op == ".."
	case *parse.NameExpr:
		return slices.ContainsFunc(v.sources[e.Var], func(s source) bool { return s.in != nil && !s.index })
	}
	return false
}

// isIndex reports whether a key is the index of a loop over a list, or from 1 on.
func (v *values) isIndex(key parse.Expr) bool {
	i, more := added(key)
	if loop := v.loops[varOf(i)]; loop != nil {
		return bound(loop.From)+more == 1 && loop.Step == nil
	}
	return slices.ContainsFunc(v.sources[varOf(key)], func(s source) bool { return s.index })
}

// isList reports whether all that is put into a table of a name is put behind its end, or at an index.
func (v *values) isList(x *parse.Var) bool {
	return len(v.stores[x]) > 0 && v.appends[x] == len(v.stores[x])
}

// onlyCalled reports whether a function's name is used for calls alone, so all are known.
func (v *values) onlyCalled(x *parse.Var) bool {
	return !slices.ContainsFunc(x.Reads, func(n *parse.NameExpr) bool { return !v.uses[n] })
}
