package golua

import (
	"bytes"
	"go/ast"
	"go/token"
	"strconv"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// text is a constant text, with the place of each of its bytes.
type text struct {
	bytes []byte
	at    []token.Pos
	of    []string // embedded files
	parts int
}

func (t *text) add(piece string, at token.Pos, step int) {
	for i := range len(piece) {
		t.bytes, t.at = append(t.bytes, piece[i]), append(t.at, at+token.Pos(i*step))
	}
}

// text returns the text that an expression certainly is.
func (p *pack) text(e ast.Expr) (t text, ok bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.text(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return p.literal(e), true
		}
	case *ast.Ident:
		return p.named(e)
	case *ast.CallExpr: // a conversion
		if lastName(e.Fun) == "string" && len(e.Args) == 1 {
			return p.text(e.Args[0])
		}
	case *ast.BinaryExpr:
		l, known := p.text(e.X)
		r, ok := p.text(e.Y)
		return text{
			append(l.bytes, r.bytes...), append(l.at, r.at...), append(l.of, r.of...), l.parts + r.parts,
		}, e.Op == token.ADD && known && ok
	}
	return text{}, false
}

// named returns the text that a name certainly stands for.
func (p *pack) named(name *ast.Ident) (text, bool) {
	object := p.info.ObjectOf(name)
	values, path := p.values[object], p.embeds[object]
	switch {
	case object == nil || len(values) != 1 || p.asked[object]:
		return text{}, false
	case path != "":
		return p.file(path)
	}
	p.asked[object] = true
	defer delete(p.asked, object)
	return p.text(values[0])
}

// file returns the text of an embedded file.
func (p *pack) file(path string) (text, bool) {
	src, err := parse.ReadFile(path)
	if err != nil {
		return text{}, false
	}
	f := p.set.AddFile(path, -1, len(src))
	f.SetLinesForContent(src)
	t := text{of: []string{path}, parts: 1}
	t.add(string(src), f.Pos(0), 1)
	return t, true
}

// literal returns the text of a literal. The parser drops carriage returns from it, and with them the places.
func (p *pack) literal(e *ast.BasicLit) text {
	t := text{parts: 1}
	if e.Value[0] == '`' {
		at := p.set.PositionFor(e.Pos(), false)
		raw, _, _ := bytes.Cut(p.sources[at.Filename][at.Offset+1:], []byte("`"))
		t.add(string(raw), e.Pos()+1, 1)
		return t
	}
	for rest := e.Value[1 : len(e.Value)-1]; rest != ""; {
		char, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return t
		}
		piece := string(char)
		if !multibyte {
			piece = string([]byte{byte(char)})
		}
		t.add(piece, e.End()-token.Pos(len(rest)+1), 0)
		rest = tail
	}
	return t
}
