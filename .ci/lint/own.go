package main

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/golangci/misspell"
	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

var (
	unusedCode = &analysis.Analyzer{
		Name: "unused", Doc: "code that nothing uses", Run: reportUnused,
		Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	}
	documented = &analysis.Analyzer{Name: "documented", Doc: "exported names without a comment", Run: findUndocumented}
	misspelled = &analysis.Analyzer{Name: "misspell", Doc: "misspelled words in comments", Run: findMisspelled}
	allowances = &analysis.Analyzer{Name: "nolint", Doc: "allowances without a name or a reason", Run: findUnexplained}
)

func reportUnused(pass *analysis.Pass) (any, error) {
	for _, object := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
		for file := range pass.Fset.Iterate {
			if file.Name() == object.Position.Filename {
				pass.Reportf(file.LineStart(object.Position.Line), "%s %s is unused", object.Kind, object.Name)
				break
			}
		}
	}
	return nil, nil
}

func findUndocumented(pass *analysis.Pass) (any, error) {
	for _, file := range pass.Files {
		if pass.Pkg.Name() == "main" || isTest(pass, file) || ast.IsGenerated(file) {
			continue
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
					pass.Reportf(d.Pos(), "exported %s has no comment", d.Name)
				}
			case *ast.GenDecl:
				findUndocumentedSpecs(pass, d)
			}
		}
	}
	return nil, nil
}

// findUndocumentedSpecs accepts a comment of a whole block.
func findUndocumentedSpecs(pass *analysis.Pass, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
				pass.Reportf(s.Pos(), "exported %s has no comment", s.Name)
			}
		case *ast.ValueSpec:
			if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) && s.Doc == nil && s.Comment == nil && d.Doc == nil {
				pass.Reportf(s.Pos(), "exported %s has no comment", s.Names[0])
			}
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func findMisspelled(pass *analysis.Pass) (any, error) {
	words := misspell.New()
	words.Compile()
	eachComment(pass, func(c *ast.Comment) {
		if _, found := words.Replace(c.Text); len(found) > 0 {
			pass.Reportf(c.Pos(), "%q is a misspelling of %q", found[0].Original, found[0].Corrected)
		}
	})
	return nil, nil
}

var (
	allowance = regexp.MustCompile(`^//nolint:([a-z,]+) // \S`)
	attempt   = regexp.MustCompile(`^//\s*nolint\b`)
)

func findUnexplained(pass *analysis.Pass) (any, error) {
	eachComment(pass, func(c *ast.Comment) {
		if attempt.MatchString(c.Text) && !allowance.MatchString(c.Text) {
			pass.Reportf(c.Pos(), "write //nolint:name // reason")
		}
	})
	return nil, nil
}

// allow makes a report nothing if its line has an allowance for the name.
func allow(a *analysis.Analyzer, name string) {
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		filtered := *pass
		filtered.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			if !exempt(a.Name, at) && !allowedOn(pass, at, name) {
				d.Message += " (" + name + ")"
				pass.Report(d)
			}
		}
		return run(&filtered)
	}
}

// exempt says what needs no allowance. The suite's messages begin with the method that failed: "Close: ...". A function
// literal is the body of a case, and no helper: its own lines are to be reported.
func exempt(check string, at token.Position) bool {
	text, err := os.ReadFile(at.Filename)
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	return strings.HasPrefix(lines[0], "// Code generated ") ||
		check == "ST1005" && strings.Contains(at.Filename, "/conformance/") ||
		check == "thelper" && strings.Contains(lines[at.Line-1], "func(")
}

// allowedOn looks for an allowance on the line of a report, or on the first line of a statement or function around it.
func allowedOn(pass *analysis.Pass, at token.Position, name string) (found bool) {
	for _, file := range pass.Files {
		if pass.Fset.Position(file.FileStart).Filename != at.Filename {
			continue
		}
		allowed := map[int]bool{}
		for _, group := range file.Comments {
			for _, c := range group.List {
				names := allowance.FindStringSubmatch(c.Text)
				allowed[pass.Fset.Position(c.Pos()).Line] = names != nil && slices.Contains(strings.Split(names[1], ","), name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil && n != file {
				first, last := pass.Fset.Position(n.Pos()).Line, pass.Fset.Position(n.End()).Line
				_, isFunction := n.(*ast.FuncDecl)
				found = found || first <= at.Line && at.Line <= last && (allowed[first] || isFunction && allowed[first-1])
			}
			return !found
		})
	}
	return found
}

func eachComment(pass *analysis.Pass, visit func(*ast.Comment)) {
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				visit(c)
			}
		}
	}
}

func isTest(pass *analysis.Pass, file *ast.File) bool {
	return strings.HasSuffix(pass.Fset.Position(file.Pos()).Filename, "_test.go")
}
