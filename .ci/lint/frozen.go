package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// frozen prints what a release freezes, in sorted lines: each exported name of the packages that users can import, and
// what processes share by a server.
func frozen(patterns []string) {
	lines := wire()
	for _, p := range load(packages.LoadTypes, patterns...) {
		if p.Name != "main" && len(p.GoFiles) > 0 && !isInternal(p.Types) {
			a := api{p: p.Types}
			a.scope()
			lines = append(lines, a.lines...)
		}
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(slices.Compact(lines), "\n"))
}

// load loads packages, or ends the program.
func load(mode packages.LoadMode, patterns ...string) []*packages.Package {
	all, err := packages.Load(&packages.Config{Mode: mode}, patterns...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
	return all
}

func isInternal(p *types.Package) bool { return strings.Contains(p.Path()+"/", "/internal/") }

// api has a line for each exported name of a package.
type api struct {
	p     *types.Package
	lines []string
}

func (a *api) add(text string, args ...any) {
	path := strings.TrimPrefix(strings.TrimPrefix(a.p.Path(), "github.com/hasp-go/hasp"), "/")
	a.lines = append(a.lines, "api "+path+": "+fmt.Sprintf(text, args...))
}

// text returns a type as the package's own source would have it.
func (a *api) text(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == a.p {
			return ""
		}
		return p.Name()
	})
}

func (a *api) scope() {
	for _, name := range a.p.Scope().Names() {
		if !token.IsExported(name) {
			continue
		}
		switch o := a.p.Scope().Lookup(name).(type) {
		case *types.Const:
			a.add("const %s %s = %s", name, a.text(o.Type()), o.Val().ExactString())
		case *types.Var:
			a.add("%s", unnamed("var "+name+" "+a.text(o.Type())))
		case *types.Func:
			a.function(name, o.Type())
		case *types.TypeName:
			a.typeName(o)
		}
	}
}

// function adds a function or a method, whose name begins with its receiver.
func (a *api) function(name string, signature types.Type) {
	a.add("%s", unnamed("func "+name+strings.TrimPrefix(a.text(signature), "func")))
}

// typeName adds a type and its members; those of a type elsewhere only if users cannot import that package.
func (a *api) typeName(o *types.TypeName) {
	t := types.Unalias(o.Type())
	if o.IsAlias() {
		a.add("%s", unnamed("type "+o.Name()+" = "+a.text(t)))
		if named, ok := t.(*types.Named); !ok || !isInternal(named.Obj().Pkg()) {
			return
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		a.add("type %s struct", a.text(o.Type()))
		a.fields(o.Name(), u)
	case *types.Interface:
		a.add("type %s interface { %s }", a.text(o.Type()), a.methods(u))
	default:
		a.add("%s", unnamed("type "+a.text(o.Type())+" "+a.text(u)))
	}
	for _, m := range typeutil.IntuitiveMethodSet(t, nil) {
		receiver := o.Name()
		if _, isPointer := m.Recv().(*types.Pointer); isPointer {
			receiver = "*" + receiver
		}
		if m.Obj().Exported() {
			a.function("("+receiver+") "+m.Obj().Name(), m.Type())
		}
	}
}

// fields adds the exported fields, also those that are promoted.
func (a *api) fields(name string, s *types.Struct) {
	for f := range s.Fields() {
		inner, isStruct := types.Unalias(f.Type()).Underlying().(*types.Struct)
		switch {
		case f.Exported():
			a.add("type %s struct, %s", name, unnamed("var " + f.Name() + " " + a.text(f.Type()))[len("var "):])
		case f.Embedded() && isStruct:
			a.fields(name, inner)
		}
	}
}

// methods returns what a type must have to be an interface's: a further method breaks the types of users.
func (a *api) methods(i *types.Interface) string {
	if !i.IsMethodSet() {
		return a.text(i)
	}
	var names []string
	for m := range i.Methods() {
		if !m.Exported() {
			return "unexported methods"
		}
		names = append(names, m.Name())
	}
	return strings.Join(names, ", ")
}

// unnamed returns a declaration without the names of parameters and results, which may change.
func unnamed(declaration string) string {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+declaration, 0)
	if err != nil {
		panic(declaration + ": " + err.Error())
	}
	ast.Inspect(file.Decls[0], func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok {
			for _, list := range []*ast.FieldList{f.Params, f.Results} {
				for i := range list.NumFields() { // Each has one name, or none has.
					list.List[i].Names = nil
				}
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), file.Decls[0]); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
