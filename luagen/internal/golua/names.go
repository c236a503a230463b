package golua

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"sync"
)

// packageFile has what is needed of packages that callers of scripts import: their own files need not be there.
//
//go:embed packages.txt
var packageFile string

// imports are those packages.
type imports map[string]*types.Package

// known returns them.
var known = sync.OnceValue(func() imports {
	all, set := imports{}, token.NewFileSet()
	config := types.Config{Importer: all, Error: func(error) {}}
	for part := range strings.SplitSeq(packageFile, "== ") {
		head, src, _ := strings.Cut(part, "\n")
		f, _ := parser.ParseFile(set, "", src, parser.SkipObjectResolution)
		for at := range strings.FieldsSeq(head) {
			all[at], _ = config.Check(at, set, []*ast.File{f}, nil)
		}
	}
	return all
})

// Import returns one of them.
func (i imports) Import(path string) (*types.Package, error) { return i[path], nil }

func (r *reader) give(target, value ast.Expr) {
	if object := r.own(target); object != nil {
		r.values[object] = append(r.values[object], value)
	}
}

// note notes what a statement, a declaration or a call gives to names, fields, parameters, and as results.
func (r *reader) note(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, target := range n.Lhs {
			r.give(target, nth(n.Rhs, i, len(n.Lhs)))
			if n.Tok == token.ADD_ASSIGN {
				r.grown[r.own(target)] = true
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) > 0 {
				r.give(name, nth(n.Values, i, len(n.Names)))
			}
		}
	case *ast.GenDecl:
		for _, s := range n.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if ok && len(n.Specs) == 1 && spec.Doc == nil {
				spec.Doc = n.Doc
			}
			if ok && embedded(spec.Doc) != "" {
				r.embeds[r.own(spec.Names[0])] = spec
			}
		}
	case *ast.CallExpr:
		if fn, ok := r.own(n.Fun).(*types.Func); ok {
			for i := range min(fn.Signature().Params().Len(), len(n.Args)) {
				parameter := fn.Signature().Params().At(i)
				r.values[parameter] = append(r.values[parameter], n.Args[i])
			}
		}
		if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "WriteString" && len(n.Args) == 1 { // of a strings.Builder
			r.grown[r.own(fn.X)] = r.values[r.own(fn.X)] != nil
			r.give(fn.X, n.Args[0])
		}
	case *ast.KeyValueExpr:
		if field, ok := r.own(n.Key).(*types.Var); ok && field.IsField() {
			r.give(n.Key, n.Value)
		}
	case *ast.FuncDecl:
		r.returns(n)
	case *ast.RangeStmt:
		r.give(n.Key, nil)
		r.give(n.Value, nil)
	}
	return true
}

// returns notes what a function returns as its first result.
func (r *reader) returns(fn *ast.FuncDecl) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.ReturnStmt); ok && len(s.Results) > 0 {
			r.give(fn.Name, s.Results[0])
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
}

// own returns what a name of the package stands for, or a field or a method.
func (r *reader) own(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return r.ObjectOf(e)
	case *ast.SelectorExpr:
		return r.ObjectOf(e.Sel)
	case *ast.IndexExpr: // of a function with type parameters
		if fn, ok := r.own(e.X).(*types.Func); ok {
			return fn
		}
	}
	return nil
}

// embedded returns the pattern of a go:embed directive, or "".
func embedded(doc *ast.CommentGroup) string {
	if doc != nil {
		for _, c := range doc.List {
			if pattern, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
				return strings.TrimSpace(pattern)
			}
		}
	}
	return ""
}

// nth returns the i-th of n values. If they come from one call, it returns that for the first, and nil for the others.
func nth(values []ast.Expr, i, n int) ast.Expr {
	if len(values) == n || i == 0 {
		return values[i]
	}
	return nil
}

// origins returns the expressions from which a value may come: texts that are known, and what is not followed further.
func (r *reader) origins(e ast.Expr) []ast.Expr { return r.follow(e, map[types.Object]bool{}) }

// follow returns the origins of a value that do not come by way of names which are done.
func (r *reader) follow(e ast.Expr, done map[types.Object]bool) (all []ast.Expr) {
	e = ast.Unparen(e)
	given, object := r.given(e)
	if given == nil {
		return []ast.Expr{e}
	}
	if object != nil && done[object] {
		return nil
	}
	done[object] = true
	for _, value := range given {
		if value == nil {
			all = append(all, e)
		} else {
			all = append(all, r.follow(value, done)...)
		}
	}
	return all
}

// maxValues are those of a name, or of a function, that are followed: each call looks at all of them.
const maxValues = 200

// given returns what an expression stands for, nil if that is not known, and the name of it if there is one.
func (r *reader) given(e ast.Expr) ([]ast.Expr, types.Object) {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		object := r.own(e)
		if spec := r.embeds[object]; spec != nil && spec.Names[0] != e {
			return []ast.Expr{spec.Names[0]}, nil
		}
		if _, ok := object.(*types.Func); ok || object == nil || r.grown[object] || len(r.values[object]) > maxValues {
			return nil, nil
		}
		return r.values[object], object
	case *ast.IndexExpr:
		return r.elements(e.X), nil
	case *ast.CallExpr:
		if fn, ok := r.own(e.Fun).(*types.Func); ok && r.values[fn] != nil && len(r.values[fn]) <= maxValues {
			return r.values[fn], fn
		}
		return r.result(e), nil
	}
	return nil, nil
}

// elements returns the elements of a map or a list that a name is given, if that is written out.
func (r *reader) elements(of ast.Expr) (all []ast.Expr) {
	given, _ := r.given(of)
	for _, e := range given {
		list, _ := e.(*ast.CompositeLit)
		if list == nil {
			return nil
		}
		for _, e := range list.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			all = append(all, e)
		}
	}
	return all
}

// result returns the texts that a function of others gets, which may change its form, or what is converted.
func (r *reader) result(call *ast.CallExpr) (all []ast.Expr) {
	if t, known := r.text(call); known || t.holes {
		return nil
	}
	if r.embeds[r.own(before(call))] != nil { // a file of several, which are seen by themselves
		return []ast.Expr{}
	}
	if inner, ok := before(call).(*ast.CallExpr); ok { // redis.Args{}.Add(script).Add(1)
		all = r.result(inner)
	}
	for _, e := range call.Args {
		if t, known := r.text(e); r.conversion(call) || known && calling.Match(t.bytes) {
			all = append(all, e)
		}
	}
	return all
}
