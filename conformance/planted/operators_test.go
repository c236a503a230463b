package planted_test

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutant is an edit of a machine's: the text of a file from one offset to another is replaced. Its key outlives edits
// of other lines, since it has no number of a line.
type mutant struct {
	key, file string // from root
	line      int
	from, to  int
	was, is   string
	bad       map[string]string // what Go files have with it, by their paths
}

// id is the name of m in programs.
func (m mutant) id() string { return fmt.Sprintf("M%x", sha256.Sum256([]byte(m.key)))[:13] }

func (m mutant) String() string {
	return fmt.Sprintf("%s\n\t%s:%d: %.100q -> %.100q", m.key, m.file, m.line, m.was, m.is)
}

// lister lists the mutants of a file.
type lister struct {
	file, text, function string
	all                  []mutant
	seen                 map[string]int
}

func (l *lister) add(operator string, from, to int, is string) {
	start := strings.LastIndexByte(l.text[:from], '\n') + 1
	line, _, _ := strings.Cut(l.text[start:], "\n")
	if operator == "constant" && spans.MatchString(line) || strings.HasSuffix(l.text[from:to], ".Helper()") {
		return
	}
	was, before := l.text[from:to], strings.TrimLeft(l.text[start:from], " \t")
	sum := sha256.Sum256([]byte(strings.Join([]string{strings.TrimSpace(line), before, was, is}, "\x00")))
	key := fmt.Sprintf("%s %s %s %x", l.file, l.function, operator, sum[:4])
	if l.seen[key]++; l.seen[key] > 1 {
		key += "#" + strconv.Itoa(l.seen[key])
	}
	l.all = append(l.all, mutant{key, l.file, 1 + strings.Count(l.text[:from], "\n"), from, to, was, is, nil})
}

// spans matches lines with times, shares of chance, and room kept for more: there another constant is as good.
var spans = regexp.MustCompile(`time\.|[mM]illis|rand\.|[jJ]itter|make\(`)

// goLister lists the mutants of Go's functions.
type goLister struct {
	lister
	*source
	results *ast.FieldList // of the function
}

func goMutants(file, text string) ([]mutant, error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	l := &goLister{lister: lister{file: file, text: text, seen: map[string]int{}}, source: tree}
	for _, d := range tree.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			l.function, l.results = f.Name.Name, f.Type.Results
			if f.Recv != nil {
				l.function = strings.TrimLeft(l.of(f.Recv.List[0].Type), "*") + "." + l.function
			}
			l.function = strings.ReplaceAll(l.function, " ", "")
			ast.PreorderStack(f.Body, nil, func(n ast.Node, stack []ast.Node) bool {
				l.statement(n, append([]ast.Node{nil}, stack...))
				l.expression(n, append([]ast.Node{nil}, stack...))
				return true
			})
		}
	}
	return l.all, nil
}

func (l *goLister) of(n ast.Node) string { return l.between(n.Pos(), n.End()) }

func (l *goLister) put(operator string, from, to token.Pos, is string) {
	l.add(operator, int(from-l.tree.FileStart), int(to-l.tree.FileStart), is)
}

// statement drops n, or negates its condition.
func (l *goLister) statement(n ast.Node, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		l.put("negate", n.Cond.Pos(), n.Cond.End(), "!("+l.of(n.Cond)+")")
	case *ast.ForStmt:
		if n.Cond != nil {
			l.put("negate", n.Cond.Pos(), n.Cond.End(), "!("+l.of(n.Cond)+")")
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.AssignStmt:
		if assigned, _ := n.(*ast.AssignStmt); droppable(n, stack) && (assigned == nil || assigned.Tok != token.DEFINE) {
			l.put("drop", n.Pos(), n.End(), "")
		}
	case *ast.BranchStmt:
		l.put("drop-branch", n.Pos(), n.End(), "")
	case *ast.ReturnStmt:
		l.returned(n, stack)
	case *ast.CaseClause:
		if len(n.Body) > 0 {
			l.put("drop-case", n.Pos(), n.End(), "")
		}
	case *ast.CommClause:
		if len(n.Body) > 0 {
			l.put("drop-case", n.Pos(), n.End(), "")
		}
	}
}

// droppable reports whether n is a statement of its own: no head of a case or loop, which would never end.
func droppable(n ast.Node, stack []ast.Node) bool {
	switch parent := stack[len(stack)-1].(type) {
	case *ast.CommClause:
		return parent.Comm != n
	case *ast.ForStmt, *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt:
		return false
	}
	return true
}

func (l *goLister) returned(n *ast.ReturnStmt, stack []ast.Node) {
	l.put("drop-branch", n.Pos(), n.End(), "")
	results := l.results
	for _, outer := range stack {
		if f, ok := outer.(*ast.FuncLit); ok {
			results = f.Type.Results
		}
	}
	if len(n.Results) == 0 || len(n.Results) != results.NumFields() {
		return
	}
	last, e := results.List[len(results.List)-1], n.Results[len(n.Results)-1]
	if l.of(last.Type) == "error" && l.of(e) != "nil" {
		l.put("nil-error", e.Pos(), e.End(), "nil")
	}
}

// swaps are operators, and what replaces each. A script's are among them.
var swaps = map[string][2]string{
	"<": {"boundary", "<="}, "<=": {"boundary", "<"}, ">": {"boundary", ">="}, ">=": {"boundary", ">"},
	"==": {"equal", "!="}, "!=": {"equal", "=="}, "&&": {"and-or", "||"}, "||": {"and-or", "&&"},
	"+": {"arithmetic", "-"}, "-": {"arithmetic", "+"}, "*": {"arithmetic", "/"}, "/": {"arithmetic", "*"},
	"true": {"bool", "false"}, "false": {"bool", "true"}, "max": {"extreme", "min"}, "min": {"extreme", "max"},
}

func (l *goLister) expression(n ast.Node, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		swap, ok := swaps[n.Op.String()]
		_, whole := stack[len(stack)-1].(*ast.IfStmt)
		if ok && !(whole && swap[0] == "equal") { // "negate" has these.
			l.put(swap[0], n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), swap[1])
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			l.put("not", n.Pos(), n.End(), l.of(n.X))
		}
	case *ast.Ident:
		if swap, ok := swaps[n.Name]; ok {
			l.put(swap[0], n.Pos(), n.End(), swap[1])
		}
	case *ast.CompositeLit:
		end := n.Rbrace
		for _, e := range slices.Backward(n.Elts) {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if _, ok = pair.Key.(*ast.Ident); ok {
					l.put("drop-field", e.Pos(), end, "")
				}
			}
			end = e.Pos()
		}
	case *ast.BasicLit:
		if v, err := strconv.Atoi(n.Value); err == nil {
			l.put("constant", n.Pos(), n.End(), strconv.Itoa(v+1))
		}
		for i, parts := 1, strings.Split(n.Value, "%w"); i < len(parts); i++ {
			is := strings.Join(parts[:i], "%w") + "%v" + strings.Join(parts[i:], "%w")
			l.put("unwrap", n.Pos(), n.End(), is)
		}
	}
}

// A script's words that may be swapped, or are skipped: comments, texts, names, numbers. Conditions; and lines that are
// a statement by themselves.
var (
	luaWord  = regexp.MustCompile(`--[^\n]*|'[^'\n]*'|"[^"\n]*"|\d+(?:\.\d+)?|[A-Za-z_]\w*|[<>=~]=|\.\.|\S`)
	luaIf    = regexp.MustCompile(`^\s*(?:if|elseif|while) (.+) (?:then|do)\b`)
	luaLine  = regexp.MustCompile(`^\s*(redis\.call\(.*\)|may\w*\(.*\)|[a-z_]\w*(?:\[[^=]*\])? = .*[^,({]|break)$`)
	luaSwaps = map[string][2]string{
		"~=": {"equal", "=="}, "==": {"equal", "~="}, "and": {"and-or", "or"}, "or": {"and-or", "and"}, "not": {"not", ""},
		"-": {}, // Most are of times.
	}
)

// luaMutants lists the mutants of a script's code, whose comments stay.
func luaMutants(file, text string) []mutant {
	l := &lister{file: file, text: text, function: "-", seen: map[string]int{}}
	at := 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		l.luaLine(at, strings.TrimRight(line, " \n"))
		at += len(line)
	}
	return l.all
}

func (l *lister) luaLine(at int, line string) {
	if strings.HasPrefix(strings.TrimSpace(line), "--") {
		return
	}
	for _, t := range luaWord.FindAllStringIndex(line, -1) {
		word := line[t[0]:t[1]]
		swap, ok := luaSwaps[word]
		if !ok {
			swap = swaps[word]
		}
		if v, err := strconv.Atoi(word); err == nil {
			swap = [2]string{"constant", strconv.Itoa(v + 1)}
		}
		if swap[0] != "" {
			l.add(swap[0], at+t[0], at+t[1], swap[1])
		}
	}
	if m := luaIf.FindStringSubmatchIndex(line); m != nil {
		l.add("negate", at+m[2], at+m[3], "not ("+line[m[2]:m[3]]+")")
	}
	if m := luaLine.FindStringSubmatchIndex(line); m != nil {
		l.add("drop", at+m[2], at+m[3], "")
	}
}

// TestMutantsOfALine: the edits of a function and of a script, and that their keys outlive what is added elsewhere.
func TestMutantsOfALine(t *testing.T) {
	t.Parallel()
	function := "\nfunc (s *some) f(n int) error {\n\tdefer s.end()\n\tif n <= 2 && !s.ok {\n\t\treturn errBad\n\t}\n\treturn errs(`%w: %w`, T{a: n, b: max(n, m)})\n}\n"
	for _, c := range []struct{ file, text, more, want string }{
		{
			"x.go", function, "\nfunc g() { h() }\n", "drop s.end(): ; negate n <= 2 && !s.ok: !(n <= 2 && !s.ok); " +
				"and-or &&: ||; boundary <=: <; constant 2: 3; not !s.ok: s.ok; drop-branch return errBad: ; nil-error errBad: nil; " +
				"drop-branch return errs(`%w: %w`, T{a: n, b: max(n, m)}): ; nil-error errs(`%w: %w`, T{a: n, b: max(n, m)}): nil; unwrap `%w: %w`: `%v: %w`; unwrap `%w: %w`: `%w: %v`; " +
				"drop-field b: max(n, m): ; drop-field a: n, : ; extreme max: min",
		},
		{
			"x.lua", "if a and b == 'and' then -- and\n  redis.call('del', key)\nend\n", "local c = nil\n",
			"and-or and: or; equal ==: ~=; negate a and b == 'and': not (a and b == 'and'); drop redis.call('del', key): ",
		},
	} {
		was, is := listed(t, c.file, c.text), listed(t, c.file, c.more+c.text)
		var edits []string
		for _, m := range was {
			operator := strings.Fields(m.key)[2]
			edits = append(edits, fmt.Sprintf("%s %s: %s", operator, strings.TrimPrefix(m.was, "defer "), m.is))
		}
		require.Equal(t, c.want, strings.Join(edits, "; "))
		for i, m := range is[len(is)-len(was):] {
			require.Equal(t, was[i].key, m.key)
		}
	}
}

func listed(t *testing.T, file, text string) []mutant {
	t.Helper()
	if strings.HasSuffix(file, ".lua") {
		return luaMutants(file, text)
	}
	all, err := goMutants(file, "package p\n"+text)
	require.NoError(t, err)
	return all
}
