package golua

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// candidate is a text that may be a script.
type candidate struct {
	expr  ast.Expr
	begin token.Pos
	text
	in       []string // files
	sent     bool     // a client gets it
	readOnly bool
	evaled   bool     // where it is made
	varied   ast.Node // what makes another one with each value
	calls    []Call
	why      string // it is not seen
	script   bool
}

// calling is found in what calls commands.
var calling = regexp.MustCompile(`(?:^|[^.\w])(?:redis|server)\s*\.\s*(?:p?call|register_function)\b`)

// Library reports whether a text is one that FUNCTION LOAD takes. Without two words it is none, which is found sooner.
func Library(src []byte) bool {
	return (bytes.Contains(src, []byte("register_function")) || bytes.Contains(src, []byte("#!lua"))) && library.Match(src)
}

var library = regexp.MustCompile(`\A\s*#!lua .*\bname\s*=|\b(?:redis|server)\s*\.\s*register_function\b`)

// Libraries is why a library is not seen.
const Libraries = "libraries for FUNCTION LOAD"

func isLua(src []byte) bool { return parse.ForServer(src) || Library(src) }

// Accepted is a comment that accepts a script which is not seen, with a reason.
var Accepted = regexp.MustCompile(`(?://|--|#)\s*luagen:unseen[ \t]+[^\s*]`)

// acceptedAt reports whether such a comment stands on a line, or on the one before it.
func (r *reader) acceptedAt(at token.Position) bool {
	lines := bytes.SplitAfterN(r.sources[at.Filename], []byte("\n"), at.Line+1)
	return Accepted.Match(bytes.Join(lines[max(0, at.Line-2):min(at.Line, len(lines))], nil))
}

// add adds a text that may be a script.
func (r *reader) add(e ast.Expr, t text) *candidate {
	c := &candidate{expr: e, begin: e.Pos(), text: t, in: []string{r.file(e.Pos())}}
	r.found, r.of[e] = append(r.found, c), c
	return c
}

// decide finds out which texts are scripts. A piece of a script is none, unless a client gets it, too.
func (r *reader) decide() {
	for _, c := range r.found {
		c.judge(r)
	}
	for _, c := range r.found {
		switch {
		case !c.sent && slices.ContainsFunc(r.found, c.isPieceOf):
		case c.varied != nil && !r.acceptedAt(r.position(c.begin)):
			r.fault(c.varied, "command", "each value makes another script, which the server keeps, and a text from outside becomes code: pass it in ARGV")
		case c.why != "" && !r.acceptedAt(r.position(c.begin)):
			r.Unseen = append(r.Unseen, Unseen{At: r.position(c.begin), In: c.in, Why: c.why, Sent: c.sent})
		case c.script:
			r.script(c)
		}
	}
}

// judge finds out whether a text is a script, or why that is not known.
func (c *candidate) judge(r *reader) {
	parsed, found := parse.Parse("", c.bytes, parse.Options{Raw: true})
	parses, calls := parsed.Body != nil, calling.FindIndex(c.bytes)
	unknown := len(c.pieces) == 0 || c.changed || c.holes && !harmless(parsed)
	const noConstant = "the script is no constant text"
	switch {
	case c.sent && unknown:
		if c.why = noConstant; c.evaled && isLua(c.bytes) {
			c.varied = r.varied(c.expr, 3)
		}
	case !isLua(c.bytes), !c.sent && (r.isPart(c.expr) || strings.HasSuffix(c.in[0], "_test.go")), generated.Match(r.sources[r.file(c.at[0])]):
	case Library(c.bytes) && (c.sent || parses):
		c.why, c.sent = Libraries, true
	case !unknown && (c.sent || parses):
		c.script = true
	case c.expr != nil && (c.expr.Pos() > c.at[calls[0]] || c.at[calls[0]] >= c.expr.End()): // An error may have a script in it.
	case parses, c.changed:
		c.why = noConstant
	case bytes.Contains(bytes.TrimSpace(c.bytes), []byte("\n")):
		c.why = "this text calls a command, and is no Lua: " + found[0].Msg
	}
}

// isPart reports whether the code adds others to a text.
func (r *reader) isPart(e ast.Expr) bool {
	for object, grown := range r.grown {
		if grown && e != nil && slices.ContainsFunc(r.values[object], func(value ast.Expr) bool { return ast.Unparen(value) == e }) {
			return true
		}
	}
	return false
}

// harmless reports whether what is not known stands in comments and within longer texts only.
func harmless(s *parse.Script) bool {
	return s.Body != nil && !slices.ContainsFunc(s.Tokens, func(t parse.Token) bool {
		return strings.Contains(t.Text+t.Value, Hole) && len(t.Value) <= len(Hole)
	})
}

// isPieceOf reports whether another text has all pieces of this one, and more, or makes something of it.
func (c *candidate) isPieceOf(of *candidate) bool {
	if !of.script && of.why == "" || len(of.pieces) < len(c.pieces) ||
		slices.ContainsFunc(c.pieces, func(at token.Pos) bool { return !slices.Contains(of.pieces, at) }) {
		return false
	}
	_, literal := c.expr.(*ast.BasicLit)
	_, other := of.expr.(*ast.BasicLit)
	return len(of.pieces) > len(c.pieces) || of.holes && !c.holes || literal && !other
}

// script adds a script.
func (r *reader) script(c *candidate) {
	if len(c.pieces) == 1 && len(c.of) == 1 {
		r.Files = append(r.Files, c.of[0])
		return
	}
	s := &Script{At: r.position(c.at[0]), In: c.in, ReadOnly: c.readOnly, Calls: c.calls, Of: c.of, set: r.set}
	s.Name, s.Doc = r.label(c.begin)
	var places []int
	s.Text, places = parse.Ends(c.bytes)
	for _, i := range places {
		s.at = append(s.at, c.at[i])
	}
	r.Scripts = append(r.Scripts, s)
}

var naming = regexp.MustCompile(`(?:(?:var|const) )?(\w+)(?: [\w.*\[\]]+)?(?: *:?= *|: *)[^=:]*$`)
var around = regexp.MustCompile(`(?m)^func (?:\([^)]*\) *)?(\w+)`)
var above = regexp.MustCompile(`(?:[ \t]*//[^\n]*\n)+$`)
var slashed = regexp.MustCompile(`(?m)^[ \t]*// ?`)

// label returns what a text is called, or the function around, and the comment above it.
func (r *reader) label(at token.Pos) (name, doc string) {
	place := r.position(at)
	src := r.sources[place.Filename][:place.Offset]
	from := bytes.LastIndexByte(src, '\n') + 1
	all := append([][][]byte{{nil, []byte("script")}}, around.FindAllSubmatch(src, -1)...)
	if m := naming.FindSubmatch(src[from:]); m != nil {
		all = append(all, m)
	}
	return string(all[len(all)-1][1]), slashed.ReplaceAllString(string(above.Find(src[:from])), "")
}
