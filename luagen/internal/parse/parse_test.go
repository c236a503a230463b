package parse_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// read parses a text without a header.
func read(src string) (*parse.Script, []parse.Finding) {
	s, findings := parse.Parse("in.lua", []byte(src), parse.Options{})
	var syntax []parse.Finding
	for _, f := range findings {
		if f.Rule == parse.RuleSyntax || f.Rule == parse.RuleLimit {
			syntax = append(syntax, f)
		}
	}
	return s, syntax
}

// dump writes a tree with all that matters but places.
func dump(node any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(node))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		switch {
		case v.IsNil():
			b.WriteString("nil")
		case v.Type() == reflect.TypeFor[*parse.Var]():
			// A variable is what it is called, how it came to be and how it is used.
			x := v.Interface().(*parse.Var)
			fmt.Fprintf(b, "%s/%d/%d/%d", x.Name, x.Kind, len(x.Reads), len(x.Writes))
		default:
			dumpValue(b, v.Elem())
		}
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			dumpValue(b, v.Index(i))
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[parse.Pos]() {
			return
		}
		b.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			dumpValue(b, v.Field(i))
			b.WriteString(" ")
		}
		b.WriteString("}")
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

func corpus(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile("../../testdata/lua51.txt")
	require.NoError(tb, err)
	return strings.Split(string(data), "\n-----\n")
}

func FuzzParse(f *testing.F) {
	for _, src := range corpus(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		places(t, src)
	})
}

// places requires that tokens and comments cover a text: what lies between is white space.
func places(t *testing.T, src string) {
	t.Helper()
	s, findings := read(src)
	if len(findings) > 0 {
		for _, f := range findings {
			require.Positive(t, f.Pos.Line)
			require.Positive(t, f.Pos.Col)
			require.LessOrEqual(t, f.Pos.Offset, len(s.Source))
		}
		return
	}
	covered := []byte(string(s.Source))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			covered[i] = ' '
		}
	}
	for _, tok := range s.Tokens {
		require.Equal(t, tok.Text, string(s.Source[tok.Pos.Offset:tok.End]))
		require.Equal(t, place(s.Source, tok.Pos.Offset), tok.Pos)
		blank(tok.Pos.Offset, tok.End)
	}
	for _, c := range s.Comments {
		require.Equal(t, c.Text, string(s.Source[c.Pos.Offset:c.End]))
		require.Equal(t, place(s.Source, c.Pos.Offset), c.Pos)
		blank(c.Pos.Offset, c.End)
	}
	require.Empty(t, strings.Trim(string(covered), " \t\n\v\f"))
}

// place counts lines and columns anew.
func place(src []byte, offset int) parse.Pos {
	before := string(src[:offset])
	return parse.Pos{
		Offset: offset,
		Line:   1 + strings.Count(before, "\n"),
		Col:    offset - strings.LastIndex(before, "\n"),
	}
}

func TestStringValues(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`'a\n\65\0651\0\255'`:     "a\nAA1\x00\xff",
		`"\a\b\f\r\t\v\\\"\'\q"`:  "\a\b\f\r\t\v\\\"'q",
		"'a\\\nb'":                "a\nb",
		"'a\\\r\nb'":              "a\nb",
		"[[\n\na]]":               "\na",
		"[==[a]]b]=]c]==]":        "a]]b]=]c",
		"[[\r\na\rb\n\rc]]":       "a\nb\nc",
		`[[\n]]`:                  `\n`,
		"[=[ [[ ]] ]=]":           " [[ ]] ",
		"'--[[ no comment ]]'":    "--[[ no comment ]]",
		"'---@key lock hash'":     "---@key lock hash",
		"'\xff\xfe é'":            "\xff\xfe é",
		`'\9a' --[=[ ]] ]=] --[[`: "\ta",
	} {
		s, findings := read("return " + strings.TrimSuffix(src, " --[["))
		require.Empty(t, findings, src)
		require.Equal(t, want, s.Body.Stmts[0].(*parse.ReturnStmt).Values[0].(*parse.StringExpr).Value, src)
	}
}

// TestTrees: of each form, the tree has all parts in their order. A variable is its name, kind, reads and writes.
func TestTrees(t *testing.T) {
	t.Parallel()
	short := strings.NewReplacer("at{ } ", "", "Expr{", "{", "Stmt{", "{", " false }", "}", " }", "}", " ]", "]")
	for src, want := range map[string]string{
		"t[1], a.b = {[k] = v, w, n = x}, nil":         "Assign{[Index{Name{t nil} Number{1}} Index{Name{a nil} String{b}}] [Table{[Field{Name{k nil} Name{v nil}} Field{nil Name{w nil}} Field{String{n} Name{x nil}}]} Nil{}]}",
		"local x, y = true, not 'z'":                   "Local{[x/0/0/0 y/0/0/0] [Bool{true} Unary{not String{z}}]}",
		"if a then b() elseif c then d() else e() end": "If{[Name{a nil} Name{c nil}] [Block{[Call{Call{Name{b nil}  [] }}]} Block{[Call{Call{Name{d nil}  [] }}]}] Block{[Call{Call{Name{e nil}  [] }}]}}",
		"for i = 1, 2, 3 do break end":                 "NumFor{i/2/0/0 Number{1} Number{2} Number{3} Block{[Break{}]}}",
		"for k, v in pairs(t) do t:m(k) end":           "GenFor{[k/2/1/0 v/2/0/0] [Call{Name{pairs nil}  [Name{t nil}] }] Block{[Call{Call{Name{t nil} m [Name{k k/2/1/0}] }}]}}",
		"while a do repeat local z until z end":        "While{Name{a nil} Block{[Repeat{Block{[Local{[z/0/1/0] []}]} Name{z z/0/1/0}}]}}",
		"function a.b:c(x, ...) return ..., (x) end":   "Func{Index{Name{a nil} String{b}} Func{[self/1/0/0 x/1/1/0 arg/1/0/0] true Block{[Return{[Vararg{} Paren{Name{x x/1/1/0}}]}]} }}",
		"local function f() do return #f end end":      "LocalFunc{f/3/1/0 Func{[] false Block{[Do{Block{[Return{[Unary{# Name{f f/3/1/0}}]}]}}]} }}",
	} {
		s, findings := read(src)
		require.Empty(t, findings, src)
		require.Equal(t, want, short.Replace(dump(s.Body.Stmts[0])), src)
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	for src, same := range map[string]string{
		"a or b and c":           "a or (b and c)",
		"a < b and c == d":       "(a < b) and (c == d)",
		"a .. b .. c":            "a .. (b .. c)",
		"a ^ b ^ c":              "a ^ (b ^ c)",
		"a - b - c":              "(a - b) - c",
		"a / b * c % d":          "((a / b) * c) % d",
		"-a ^ b":                 "-(a ^ b)",
		"a ^ -b ^ c":             "a ^ (-(b ^ c))",
		"not a == b":             "(not a) == b",
		"-a .. b":                "(-a) .. b",
		"a + b .. c - d":         "(a + b) .. (c - d)",
		"a .. b == c .. d":       "(a .. b) == (c .. d)",
		"#a + -b * not c":        "(#a) + ((-b) * (not c))",
		"a < b == c ~= d":        "((a < b) == c) ~= d",
		"a and b or c and d":     "(a and b) or (c and d)",
		"a.b.c():d'x'{1}[2] + 1": "(a.b.c():d'x'{1}[2]) + 1",
	} {
		want := strings.NewReplacer("ParenExpr{", "", "}", "", "at{", "", " ", "")
		one, findings := read("return " + src)
		require.Empty(t, findings, src)
		other, findings := read("return " + same)
		require.Empty(t, findings, src)
		require.Equal(t, want.Replace(dump(other.Body)), want.Replace(dump(one.Body)), src)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s, findings := read(`
local x = x -- 1: a global
local function f(x) return x, f, g end
local f = f
do local x = 2; x = x + 1 end
for x = x, 2 do x = f end
for x, y in x do local y = y end
repeat local z = 1 until z
z = 1
local a, b = function() return a end, b
function b.c(...) return self, arg, b end
function b:c() return self, arg end
`)
	require.Empty(t, findings)
	var globals []string
	for _, g := range s.Globals {
		globals = append(globals, fmt.Sprintf("%d:%s:%t", g.P.Line, g.Name, g.Set))
	}
	require.Equal(t, []string{
		"2:x:false", "3:g:false", "9:z:true", "10:a:false", "10:b:false", "11:self:false",
		"12:arg:false",
	}, globals)
	var vars []string
	for _, v := range s.Vars {
		vars = append(vars, fmt.Sprintf("%d:%s/%d/%d", v.Pos.Line, v.Name, len(v.Reads), len(v.Writes)))
	}
	require.Equal(t, []string{
		"2:x/2/0", "3:f/2/0", "3:x/1/0", "4:f/1/0", "5:x/1/1", "6:x/0/1", "7:x/0/0", "7:y/1/0",
		"7:y/0/0", "8:z/1/0", "10:a/0/0", "10:b/3/0", "11:arg/1/0", "12:self/1/0",
	}, vars)
}
