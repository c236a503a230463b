package golua

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// declarations notes the constants and variables of a file's package, and which names are assigned to.
func (p *pack) declarations(f *ast.File, dir string) {
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST && decl.Tok != token.VAR {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			for i, name := range spec.Names {
				def := definition{embed: embedded(dir, decl.Doc, spec.Doc)}
				if i < len(spec.Values) {
					def.value = spec.Values[i]
				}
				p.names[name.Name], p.docs[name.Name] = def, decl.Doc.Text()+spec.Doc.Text()
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.AssignStmt); ok && s.Tok != token.DEFINE {
			for _, target := range s.Lhs {
				if name, ok := target.(*ast.Ident); ok {
					p.assigned[name.Name] = true
				}
			}
		}
		return true
	})
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

// local returns the value that a name gets where it is defined in the declaration that is looked at. local is false if
// it is not defined there; value is nil if it has several, or an unknown one.
func (p *pack) local(name string) (value ast.Expr, local bool) {
	note := func(found ast.Expr) {
		if local {
			found = nil
		}
		value, local = found, true
	}
	ast.Inspect(p.within, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, target := range n.Lhs {
				if isName(target, name) {
					note(nth(n.Rhs, i, len(n.Lhs)))
				}
			}
		case *ast.ValueSpec:
			for i, target := range n.Names {
				if target.Name == name && !p.outermost(n) {
					note(nth(n.Values, i, len(n.Names)))
				}
			}
		case *ast.Field:
			for _, target := range n.Names {
				if target.Name == name {
					note(nil)
				}
			}
		case *ast.RangeStmt:
			if isName(n.Key, name) || isName(n.Value, name) {
				note(nil)
			}
		}
		return true
	})
	return value, local
}

// outermost reports whether a spec is one of the package.
func (p *pack) outermost(spec *ast.ValueSpec) bool {
	decl, ok := p.within.(*ast.GenDecl)
	return ok && slices.Contains(decl.Specs, ast.Spec(spec))
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// nth returns the i-th of n values, nil if they come from one call.
func nth(values []ast.Expr, i, n int) ast.Expr {
	if len(values) != n {
		return nil
	}
	return values[i]
}
