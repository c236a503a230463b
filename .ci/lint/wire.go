package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// wire returns a line for each script of the primitives, and for each key, channel and command of a kind of object.
func wire() []string {
	p := load(packages.LoadSyntax, "./primitives")[0]
	r := rights{info: p.TypesInfo, variables: map[types.Object]*ast.CompositeLit{}, kinds: map[string]ast.Expr{}}
	for _, file := range p.Syntax {
		ast.Inspect(file, r.find)
	}
	return append(r.all(), scripts("primitives/internal/script")...)
}

// rights are the values of type extend.Rights, by kind of object, or by variable if several kinds share one. In the
// names of keys and channels, $ stands for the object's key, and @ for the key as a hash tag.
type rights struct {
	info      *types.Info
	variables map[types.Object]*ast.CompositeLit
	kinds     map[string]ast.Expr
}

func (r *rights) find(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if literal, ok := value.(*ast.CompositeLit); ok {
				r.variables[r.info.Defs[n.Names[i]]] = literal
			}
			r.add(n.Names[i].Name, value)
		}
	case *ast.KeyValueExpr:
		if r.info.Types[n.Key].Value != nil {
			r.add(r.text(n.Key), n.Value)
		}
	}
	return true
}

func (r *rights) add(name string, value ast.Expr) {
	if strings.HasSuffix(r.info.TypeOf(value).String(), "/extend.Rights") {
		r.kinds[name] = value
	}
}

func (r *rights) all() (lines []string) {
	for name, value := range r.kinds {
		if literal, ok := value.(*ast.CompositeLit); ok {
			for field, what := range map[string]string{"Commands": "command", "Keys": "key", "Channels": "channel"} {
				for word := range strings.FieldsSeq(r.field(literal, field)) {
					lines = append(lines, fmt.Sprintf("wire %s: %s %s", name, what, word))
				}
			}
			continue
		}
		lines = append(lines, fmt.Sprintf("wire %s: as %s", name, strings.TrimPrefix(types.ExprString(value), "&")))
	}
	return lines
}

func (r *rights) field(literal *ast.CompositeLit, name string) string {
	for _, element := range literal.Elts {
		if e := element.(*ast.KeyValueExpr); types.ExprString(e.Key) == name {
			return r.text(e.Value)
		}
	}
	return ""
}

// text returns the value of a constant, of a field of a variable, or of a sum of these.
func (r *rights) text(x ast.Expr) string {
	if value := r.info.Types[x].Value; value != nil {
		return constant.StringVal(value)
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return r.text(x.X) + r.text(x.Y)
	case *ast.SelectorExpr:
		return r.field(r.variables[r.info.Uses[x.X.(*ast.Ident)]], x.Sel.Name)
	}
	panic("neither a constant nor a sum: " + types.ExprString(x))
}

var shipped = regexp.MustCompile(`Name: "(\w+)",[^}]*?SHA1: +"(\w+)"`)

// scripts returns a line for each script in a folder: what its reference says of keys, arguments, results and errors,
// and the checksum of its text.
func scripts(folder string) (lines []string) {
	checksums := map[string]string{}
	files, _ := filepath.Glob(folder + "/*.lua.go")
	for _, file := range files {
		script := shipped.FindStringSubmatch(read(file))
		checksums[script[1]] = script[2]
	}
	for _, section := range strings.Split(read(folder+"/README.md"), "\n## ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		lines = append(lines, fmt.Sprintf("script %s: %s; SHA-1 %s", name, shape(rest), checksums[name]))
	}
	return lines
}

// shape reads the tables of a script's reference, and how the script may be repeated.
func shape(reference string) string {
	var all []string
	table := ""
	for row := range strings.Lines(reference) {
		cells := strings.Split(strings.TrimSpace(row), " | ")
		name, isRow := strings.CutPrefix(cells[0], "| ")
		retry, isRetry := strings.CutPrefix(cells[0], "- Retry: ")
		switch {
		case isRetry:
			class, _, _ := strings.Cut(retry, ".")
			all = append(all, "retry "+class)
		case isRow && name[0] != '`':
			table = name
		case isRow && table == "error":
			all = append(all, "error "+strings.Trim(name, "`"))
		case isRow:
			all = append(all, table+" "+strings.Trim(name, "`")+" "+strings.ReplaceAll(cells[1], `\|`, "|"))
		}
	}
	return strings.Join(all, ", ")
}

func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return string(text)
}
