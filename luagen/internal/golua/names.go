package golua

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
)

// pack is one package of a folder.
type pack struct {
	set     *token.FileSet
	files   []*ast.File
	sources map[string][]byte   // by path, also of other packages
	within  ast.Node            // the declaration that is looked at
	labels  map[ast.Expr]string // what calls are assigned to

	// What resolve finds.
	info   types.Info                  // which constant or variable each name is, and types
	values map[types.Object][]ast.Expr // all that each is given, nil for what is not one expression
	embeds map[types.Object]string     // the file that go:embed names
	docs   map[string]string           // comments on the names of the package
	asked  map[types.Object]bool       // those whose value is looked for
}

// unread imports packages of which only the names are known.
type unread struct{}

func (unread) Import(path string) (*types.Package, error) {
	name := version.ReplaceAllString(path, "")
	return types.NewPackage(path, name[strings.LastIndexByte(name, '/')+1:]), errors.New("not read")
}

var version = regexp.MustCompile(`[/.]v[0-9]+$`)

// resolve finds out, once, what names are, and what they are given. Faults of types do not matter: imports are not read.
func (p *pack) resolve() {
	if p.values != nil {
		return
	}
	p.info = types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	p.values, p.embeds, p.asked = map[types.Object][]ast.Expr{}, map[types.Object]string{}, map[types.Object]bool{}
	p.docs = map[string]string{}
	config := types.Config{Importer: unread{}, FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check("", p.set, p.files, &p.info)
	for _, f := range p.files {
		ast.Inspect(f, p.note)
		for _, d := range f.Decls {
			if decl, ok := d.(*ast.GenDecl); ok {
				p.declaration(decl)
			}
		}
	}
}

// note notes what a statement, a declaration or a list of parameters gives to names.
func (p *pack) note(n ast.Node) bool {
	give := func(target, value ast.Expr) {
		if name, ok := target.(*ast.Ident); ok {
			object := p.info.ObjectOf(name)
			p.values[object] = append(p.values[object], value)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, target := range n.Lhs {
			give(target, nth(n.Rhs, i, len(n.Lhs)))
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			give(name, nth(n.Values, i, len(n.Names)))
		}
	case *ast.Field:
		for _, name := range n.Names {
			give(name, nil)
		}
	case *ast.RangeStmt:
		give(n.Key, nil)
		give(n.Value, nil)
	}
	return true
}

// declaration notes the comments on constants and variables of the package, and embedded files.
func (p *pack) declaration(decl *ast.GenDecl) {
	dir := filepath.Dir(p.set.PositionFor(decl.Pos(), false).Filename)
	for _, s := range decl.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, name := range spec.Names {
			p.docs[name.Name] = decl.Doc.Text() + spec.Doc.Text()
			if path := embedded(dir, decl.Doc, spec.Doc); path != "" {
				p.embeds[p.info.ObjectOf(name)] = path
			}
		}
	}
}

// embedded returns the one file that a go:embed directive names, or "".
func embedded(dir string, docs ...*ast.CommentGroup) string {
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			pattern, ok := strings.CutPrefix(c.Text, "//go:embed ")
			if pattern = strings.TrimSpace(pattern); ok && !strings.ContainsAny(pattern, " *?[\"`") {
				return filepath.Join(dir, filepath.FromSlash(pattern))
			}
		}
	}
	return ""
}

// nth returns the i-th of n values, nil if they come from one call.
func nth(values []ast.Expr, i, n int) ast.Expr {
	if len(values) != n {
		return nil
	}
	return values[i]
}
