package golua

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// text is a constant text, with the place of each of its bytes.
type text struct {
	bytes  []byte
	at     []token.Pos
	of     []string    // embedded files
	pieces []token.Pos // where its literals and files begin
	holes  bool        // a piece is not known

	changed bool // it becomes another text, which is not known
}

func (t *text) add(piece string, at token.Pos, step int) {
	for i := range len(piece) {
		t.bytes, t.at = append(t.bytes, piece[i]), append(t.at, at+token.Pos(i*step))
	}
}

func (t text) cut(from, to int) text {
	t.bytes, t.at = t.bytes[from:to:to], t.at[from:to:to]
	return t
}

func joined(all ...text) (out text) {
	for _, t := range all {
		out.bytes, out.at, out.of = append(out.bytes, t.bytes...), append(out.at, t.at...), append(out.of, t.of...)
		out.pieces, out.holes = append(out.pieces, t.pieces...), out.holes || t.holes
	}
	slices.Sort(out.pieces)
	out.pieces = slices.Compact(out.pieces)
	return out
}

// text returns the text that an expression certainly is, as far as it is known.
func (r *reader) text(e ast.Expr) (t text, known bool) {
	e = ast.Unparen(e)
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return r.literal(e), true
		}
	case *ast.Ident, *ast.SelectorExpr:
		return r.named(e)
	case *ast.CallExpr:
		t = r.made(e)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			t = joined(r.piece(e.X), r.piece(e.Y))
		}
	}
	return t, len(t.pieces) > 0 && !t.holes
}

// piece returns the text of a part, or a hole.
func (r *reader) piece(e ast.Expr) text {
	t, known := r.text(e)
	if !known && !t.holes {
		t = hole(e.Pos())
	}
	return t
}

// Hole stands in a script for a piece that is known at run time only.
const Hole = "_at_run_time_"

// hole stands for a piece that is known at run time only.
func hole(at token.Pos) text {
	t := text{holes: true}
	t.add(Hole, at, 0)
	return t
}

// named returns the text that a name certainly stands for.
func (r *reader) named(name ast.Expr) (text, bool) {
	object := r.own(name)
	values, spec := r.values[object], r.embeds[object]
	if spec != nil {
		return r.embedded(r.file(spec.Pos()), embedded(spec.Doc))
	}
	_, isConst := object.(*types.Const)
	v, isVar := object.(*types.Var)
	if len(values) != 1 || values[0] == nil || r.grown[object] || r.asked[object] ||
		!isConst && !(isVar && (v.Kind() == types.PackageVar || v.Kind() == types.LocalVar)) {
		return text{}, false
	}
	r.asked[object] = true
	defer delete(r.asked, object)
	if t, known := r.text(values[0]); known {
		return t, true
	}
	return text{}, false
}

// embedded returns the text of the file that a file embeds, unless it has a pattern for several.
func (r *reader) embedded(by, path string) (text, bool) {
	path = filepath.Join(filepath.Dir(by), filepath.FromSlash(path))
	src, err := parse.ReadFile(path)
	if err != nil {
		return text{}, false
	}
	r.sources[path] = src
	t := text{of: []string{path}}
	t.add(string(src), r.open(path, src), 1)
	t.pieces = t.at[:min(1, len(t.at))]
	return t, true
}

// open adds a file that is no Go, and returns the place of its first byte.
func (r *reader) open(path string, src []byte) token.Pos {
	f := r.set.AddFile(path, -1, len(src))
	f.SetLinesForContent(src)
	return f.Pos(0)
}

// literal returns the text of a literal. The parser drops carriage returns from it, and with them the places.
func (r *reader) literal(e *ast.BasicLit) text {
	t := text{pieces: []token.Pos{e.Pos()}}
	if e.Value[0] == '`' {
		at := r.position(e.Pos())
		raw, _, _ := bytes.Cut(r.sources[at.Filename][at.Offset+1:], []byte("`"))
		t.add(string(raw), e.Pos()+1, 1)
		return t
	}
	for rest := e.Value[1 : len(e.Value)-1]; rest != ""; {
		_, _, tail, _ := strconv.UnquoteChar(rest, '"')
		piece, _ := strconv.Unquote(`"` + strings.TrimSuffix(rest, tail) + `"`)
		t.add(piece, e.End()-token.Pos(len(rest)+1), 0)
		rest = tail
	}
	return t
}

func (r *reader) conversion(call *ast.CallExpr) bool {
	return len(call.Args) == 1 && r.Types[call.Fun].IsType()
}

// made returns what a call makes of the texts that it gets.
func (r *reader) made(call *ast.CallExpr) (t text) {
	if len(call.Args) == 0 {
		return t
	}
	switch name := lastName(before(call)) + "." + lastName(call.Fun); {
	case r.conversion(call):
		t, _ = r.text(call.Args[0])
	case name == "strings.TrimSpace":
		t, _ = r.text(call.Args[0])
		return t.cut(len(t.bytes)-len(bytes.TrimLeft(t.bytes, " \t\r\n")), len(t.bytes))
	case name == "fmt.Sprintf":
		return r.sprintf(r.piece(call.Args[0]), call.Args[1:])
	}
	return t
}

var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*([a-zA-Z%])`)

// sprintf returns what fmt.Sprintf makes of arguments, as far as these are texts and whole numbers that are used in order.
func (r *reader) sprintf(format text, args []ast.Expr) (out text) {
	from, next := 0, 0
	for _, m := range verb.FindAllSubmatchIndex(format.bytes, -1) {
		piece := hole(format.at[m[0]])
		switch kind := format.bytes[m[2]]; {
		case kind == '%':
			piece = format.cut(m[2], m[3])
			next--
		case next >= len(args) || format.bytes[m[0]+1] == '[' || kind == 'q':
		case r.Types[args[next]].Value != nil && r.Types[args[next]].Value.Kind() == constant.Int:
			piece = text{}
			piece.add(r.Types[args[next]].Value.ExactString(), format.at[m[0]], 0)
		default:
			piece = r.piece(args[next])
		}
		out, from, next = joined(out, format.cut(from, m[0]), piece), m[1], next+1
	}
	return joined(out, format.cut(from, len(format.bytes)))
}
