package emit

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Each run of a script makes the functions that it comes by, also those that it does not call. So the shipped text
// lacks the included functions that it does not call. The body of a function replaces its calls in the script itself,
// and all its calls if there is one or if it is very small. See place.go for the functions that are still made.

// maxSmall is how many tokens a function may have that stands instead of several calls.
const maxSmall = 60

// linker knows what a script and the files that it includes consist of.
type linker struct {
	units   []*unit
	order   []*function                   // of included files, as they stand there
	funcs   map[*parse.Var]*function      // the same by their names in each file
	words   map[string]bool               // all names in all files
	inPlace map[*parse.CallExpr]*function // those that stand instead of a call
	places  map[place][]*function         // those that are made there
}

// unit is one file.
type unit struct {
	*parse.Script
	token map[int]int             // of each token's offset, its index
	vars  map[int]*parse.Var      // by the offsets of their declarations and uses
	stmts map[int]parse.Stmt      // by their offsets
	calls map[int]*parse.CallExpr // of a name, by the name's offset
	alone map[int]parse.Stmt      // statements whose only value is such a call, by the name's offset
}

// function is a function of an included file.
type function struct {
	*parse.FuncExpr
	unit    *unit
	v       *parse.Var
	from    int // the index of its first token, and of that of its body
	body    int
	end     int                 // the index of its last token
	returns []*parse.ReturnStmt // its own
	looping bool                // one of them is in a loop
	values  []parse.Expr        // that they return
	sites   []site
	made    bool // a site remains
}

// site is a use of a function.
type site struct {
	unit *unit
	in   *function // nil: the script itself
	at   int       // the offset
}

// link reads a script and what it includes, and decides which functions stand instead of their calls.
func link(s *parse.Script) *linker {
	l := &linker{
		funcs: map[*parse.Var]*function{}, words: map[string]bool{}, inPlace: map[*parse.CallExpr]*function{}, places: map[place][]*function{},
	}
	l.read(s)
	main := l.units[len(l.units)-1]
	l.follow(main, nil, 0, len(main.Tokens)-1)
	for _, f := range l.order {
		l.replace(f)
	}
	for _, f := range l.order {
		if f.made {
			at := l.placeOf(f)
			l.places[at] = append(l.places[at], f)
		}
	}
	return l
}

// read adds a file, behind those that it includes.
func (l *linker) read(s *parse.Script) {
	for _, inc := range s.Header.Includes {
		if inc.Script != nil {
			l.read(inc.Script)
		}
	}
	u := &unit{
		Script: s, token: make(map[int]int, len(s.Tokens)), vars: map[int]*parse.Var{},
		stmts: map[int]parse.Stmt{}, calls: map[int]*parse.CallExpr{}, alone: map[int]parse.Stmt{},
	}
	l.units = append(l.units, u)
	for i, tok := range s.Tokens {
		u.token[tok.Pos.Offset] = i
		if tok.Kind == parse.Name {
			l.words[tok.Text] = true
		}
	}
	for _, v := range s.Vars {
		if v.Kind == parse.IncludedVar {
			l.funcs[v] = l.order[slices.IndexFunc(l.order, func(f *function) bool { return f.v.Name == v.Name })]
		} else {
			u.vars[v.Pos.Offset] = v
		}
		for _, use := range slices.Concat(v.Reads, v.Writes) {
			u.vars[use.P.Offset] = v
		}
	}
	if !s.Header.Library {
		u.block(s.Body, nil, false)
		return
	}
	for _, stmt := range s.Body.Stmts {
		if local, ok := stmt.(*parse.LocalFuncStmt); ok {
			l.function(u, local)
		}
	}
}

func (l *linker) function(u *unit, local *parse.LocalFuncStmt) {
	f := &function{
		FuncExpr: local.Func, unit: u, v: local.Var, from: u.token[local.P.Offset], end: u.token[local.Func.Last.Offset],
	}
	for f.body = f.from; u.Tokens[f.body].Text != ")"; f.body++ {
	}
	f.body++
	u.block(f.Body, f, false)
	l.order, l.funcs[f.v] = append(l.order, f), f
}

// block notes the statements of a block, and the calls in it. f is the function whose own block it is, or nil.
func (u *unit) block(b *parse.Block, f *function, loop bool) {
	for _, stmt := range b.Stmts {
		u.stmts[stmt.Pos().Offset] = stmt
		if call := soleCall(stmt); call != nil {
			u.alone[call.P.Offset] = stmt
		}
		if r, ok := stmt.(*parse.ReturnStmt); ok && f != nil {
			f.returns, f.values, f.looping = append(f.returns, r), append(f.values, r.Values...), f.looping || loop
		}
		for _, e := range parse.Exprs(stmt) {
			parse.Walk(e, u.expr)
		}
		for _, inner := range parse.Blocks(stmt) {
			u.block(inner, f, loop || loops(stmt))
		}
	}
}

func (u *unit) expr(e parse.Expr) {
	if call := namedCall(e); call != nil {
		u.calls[call.P.Offset] = call
	}
	if f, ok := e.(*parse.FuncExpr); ok {
		u.block(f.Body, nil, false)
	}
}

func loops(stmt parse.Stmt) bool {
	switch stmt.(type) {
	case *parse.WhileStmt, *parse.RepeatStmt, *parse.NumForStmt, *parse.GenForStmt:
		return true
	}
	return false
}

// soleCall returns the call of a name that is all of a statement, or its only value if that is for local names; else nil.
func soleCall(stmt parse.Stmt) *parse.CallExpr {
	values := parse.Exprs(stmt)
	switch s := stmt.(type) {
	case *parse.CallStmt, *parse.LocalStmt, *parse.ReturnStmt:
	case *parse.AssignStmt:
		values = s.Values
		if slices.ContainsFunc(s.Targets, func(target parse.Expr) bool { return parse.VarOf(target) == nil }) {
			return nil
		}
	default:
		return nil
	}
	if len(values) != 1 {
		return nil
	}
	return namedCall(values[0])
}

// namedCall returns the call of a name that an expression is, or nil.
func namedCall(e parse.Expr) *parse.CallExpr {
	if call, ok := e.(*parse.CallExpr); ok && call.Method == "" {
		if _, named := call.Fn.(*parse.NameExpr); named {
			return call
		}
	}
	return nil
}

// follow notes the uses of functions between two tokens, and in the functions that are used there.
func (l *linker) follow(u *unit, in *function, from, to int) {
	for _, tok := range u.Tokens[from:to] {
		f := l.funcs[u.vars[tok.Pos.Offset]]
		if f == nil || f == in && u.token[tok.Pos.Offset] < f.body {
			continue
		}
		f.sites = append(f.sites, site{u, in, tok.Pos.Offset})
		if len(f.sites) == 1 {
			l.follow(f.unit, f, f.from, f.end)
		}
	}
}

// fits reports whether a function can stand instead of a call.
func (l *linker) fits(f *function) bool {
	first := f.unit.Tokens[f.body]
	if f.Vararg || len(f.v.Writes) > 0 || len(f.Body.Stmts) == 0 || first.Text == "(" || f.unit.Tokens[f.end-1].Text == ";" || !l.clear(f) {
		return false
	}
	return !slices.ContainsFunc(f.values, hasFunction)
}

func hasFunction(e parse.Expr) bool {
	return parse.Contains(e, func(e parse.Expr) bool {
		_, ok := e.(*parse.FuncExpr)
		return ok
	})
}

// result returns the expression of a function that only returns one value, or nil.
func (f *function) result() parse.Expr {
	r, ok := f.Body.Stmts[0].(*parse.ReturnStmt)
	if !ok || len(r.Values) != 1 || parse.ManyValues(r.Values[0]) {
		return nil
	}
	return r.Values[0]
}

// clear reports whether each name that f uses, and that is not its own, means the same everywhere.
func (l *linker) clear(f *function) bool {
	free := map[string]bool{}
	for _, tok := range f.unit.Tokens[f.body:f.end] {
		v := f.unit.vars[tok.Pos.Offset]
		if tok.Kind == parse.Name && (v == nil || l.funcs[v] != nil) {
			free[tok.Text] = true
		}
	}
	for _, u := range l.units {
		for _, v := range u.Vars {
			if free[v.Name] && l.funcs[v] == nil && !f.declares(u, v) {
				return false
			}
		}
	}
	return true
}

// declares reports whether a variable of a file is one of f's.
func (f *function) declares(u *unit, v *parse.Var) bool {
	i, ok := u.token[v.Pos.Offset]
	return u == f.unit && ok && i > f.from+2 && i < f.end
}

// takes reports whether f can stand instead of one use.
func (l *linker) takes(s site, f *function) bool {
	call, i := s.unit.calls[s.at], s.unit.token[s.at]
	if call == nil || s.unit.Tokens[i+1].Text != "(" || len(call.Args) > len(f.Params) || slices.ContainsFunc(call.Args, hasFunction) {
		return false
	}
	if n := len(call.Args); n > 0 && n < len(f.Params) && parse.ManyValues(call.Args[n-1]) {
		return false
	}
	switch stmt := s.unit.alone[s.at].(type) {
	case *parse.CallStmt:
		return !f.looping && len(f.values) == 0
	case *parse.LocalStmt:
		return !f.looping && !s.mentions(call, stmt.Vars)
	case *parse.AssignStmt:
		return !f.looping && f.closed()
	case *parse.ReturnStmt:
		return f.closed() && (s.in == nil || !f.looping)
	}
	return f.result() != nil && !slices.ContainsFunc(f.Params, func(p *parse.Var) bool {
		_, ok := f.instead(s.unit, call, slices.Index(f.Params, p), nil)
		return !ok
	})
}

// mentions reports whether a call's arguments have one of these names.
func (s site) mentions(call *parse.CallExpr, vars []*parse.Var) bool {
	return slices.ContainsFunc(s.unit.Tokens[s.unit.token[s.at]+1:s.unit.behind(call)], func(tok parse.Token) bool {
		return tok.Kind == parse.Name && slices.ContainsFunc(vars, func(v *parse.Var) bool { return v.Name == tok.Text })
	})
}

// behind returns the index of the token behind a call.
func (u *unit) behind(call *parse.CallExpr) int { return u.token[call.Last.Offset] + 1 }

// argument returns the index of an argument's first token, and that of the token behind it.
func (u *unit) argument(call *parse.CallExpr, i int) (from, to int) {
	behind := u.behind(call)
	if i+1 < len(call.Args) {
		behind = u.token[call.Args[i+1].Pos().Offset]
	}
	return u.token[call.Args[i].Pos().Offset], behind - 1
}
