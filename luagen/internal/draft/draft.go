// Package draft writes the annotated form of a raw script, as far as its code and comments show it.
package draft

import (
	"bytes"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// draft is a script on its way.
type draft struct {
	s *parse.Script
	Facts
	said  map[string]string // by "KEYS[1]": what comments say of it
	Prose []string          // the lines of the text above the annotations
	Lists []*list           // KEYS and ARGV
	uses  map[parse.Expr]*use
	edits []edit
}

// list is what a script uses of KEYS or ARGV.
type list struct {
	Name     string
	Of       string         // what begins the annotation of an element
	types    map[int]string // of elements, as far as they are known
	usual    string         // the type of the others
	Many     string         // the type of all of them
	Elements []*element     // by their indexes; the first is the list itself, where it is used without a literal index
}

// element is what is known of KEYS[1], say.
type element struct {
	Name string
	Type string
	Said string // in comments
	Uses int    // in the code
}

// edit replaces a part of the source.
type edit struct {
	from, to int
	text     string
}

// Of returns the annotated form of a raw script that parsed. comment is what stands above it in a Go file.
func Of(s *parse.Script, comment string, facts Facts) []byte {
	d := &draft{s: s, Facts: facts, said: map[string]string{}, uses: map[parse.Expr]*use{}, Lists: []*list{
		{Name: "KEYS", Of: "key", types: facts.Kinds, usual: "any", Many: "any...", Elements: []*element{{}}},
		{Name: "ARGV", Of: "arg", types: facts.Types, usual: "string", Many: "string...", Elements: []*element{{}}},
	}}
	parse.Said(d.said, comment)
	for _, c := range s.Comments {
		parse.Said(d.said, c.Text)
		if tag := annotation.FindString(c.Text); tag != "" && !strings.HasPrefix(c.Text, "---@allow") && c.Pos.Offset < s.Tokens[0].Pos.Offset {
			d.edits = append(d.edits, edit{c.Pos.Offset, c.Pos.Offset + len(tag), "-- "}) // It was for people.
		}
	}
	d.Prose = d.prose(comment)
	d.count()
	d.locals()
	d.rest()
	d.replace()
	var text bytes.Buffer
	if err := header.Execute(&text, d); err != nil {
		panic(err) // The template is embedded: a test would have failed.
	}
	return append(text.Bytes(), bytes.TrimLeft(d.body(), "\n")...)
}

// prose returns the text above the script, up to what it says of keys and arguments. In Lua it is taken out.
func (d *draft) prose(comment string) (lines []string) {
	add := func(text string) bool {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasSuffix(line, ":") || strings.HasPrefix(line, "@") || parse.Said(map[string]string{}, line) {
				return false
			}
			lines = append(lines, line)
		}
		return text != ""
	}
	add(comment)
	for _, c := range d.s.Comments {
		text := strings.TrimLeft(c.Text, "-")
		if c.Long {
			text = strings.Trim(text, "[=] \t\n")
		}
		if comment != "" || c.Pos.Offset > d.s.Tokens[0].Pos.Offset || !add(text) {
			break
		}
		d.remove(c.Pos.Offset, c.End)
	}
	if len(lines) == 0 {
		return []string{"TODO: what the script does."}
	}
	return lines
}

var annotation = regexp.MustCompile(`^--+\s*@`)

//go:embed draft.tmpl
var headerText string

var header = template.Must(template.New("").Parse(headerText))

// Codes returns the error codes that the script may reply, as far as they are written out.
func (d *draft) Codes() []string {
	var all []string
	for i, t := range d.s.Tokens {
		before := slices.ContainsFunc(d.s.Tokens[max(0, i-2):i], func(t parse.Token) bool {
			return t.Text == "error_reply" || t.Text == "err"
		})
		code, _, more := strings.Cut(strings.TrimPrefix(t.Value, "-"), " ")
		if before && more && parse.IsErrorCode(code) && !slices.Contains(all, code) {
			all = append(all, code)
		}
	}
	return all
}

func (d *draft) body() []byte {
	slices.SortFunc(d.edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	at := 0
	if bytes.HasPrefix(d.s.Source, []byte("#!")) { // what it says stands in annotations
		at = bytes.IndexByte(d.s.Source, '\n')
	}
	for _, e := range d.edits {
		if e.from >= at {
			out, at = append(append(out, d.s.Source[at:e.from]...), e.text...), e.to
		}
	}
	return append(out, d.s.Source[at:]...)
}

// Facts is what the code of a raw script shows of its keys, arguments and result.
type Facts struct {
	Kinds    map[int]string // of KEYS[n]: the one kind that all its commands are for, any if they are for every kind
	Types    map[int]string // of ARGV[n]: seconds, milliseconds, channel, or number if it is made one
	Result   string         // a type, "" if that is not certain
	ReadOnly bool           // a check of the draft has found that the script writes nothing
	Part     bool           // it is not sent as it is: some program puts it together with others
}

// Learn returns the facts of a raw script that parsed.
func Learn(m *flow.Machine) Facts {
	c := m.C
	facts := Facts{Kinds: map[int]string{}, Types: map[int]string{}}
	for _, e := range c.Flow.Calls {
		if call, ok := c.CommandCall(e); ok && len(call.Names) == 1 {
			facts.learn(m, call, c.Tables.Usual()[0].Commands[call.Names[0]])
		} else if c.Callee(e) == "tonumber" && len(e.Args) > 0 {
			facts.set(c.Nth(e.Args[0], "ARGV"), "number")
		}
	}
	for _, e := range c.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && strings.Contains("+-*/%^", b.Op) {
			facts.set(c.Nth(b.L, "ARGV"), "number")
			facts.set(c.Nth(b.R, "ARGV"), "number")
		}
	}
	facts.Result, facts.Part = result(c.Machine()), c.Assembled()
	return facts
}

// set notes a type, unless a better one is known: what is made a number may be a time.
func (f Facts) set(n int, as string) {
	if known := f.Types[n]; n > 0 && (known == "" || known == "number") {
		f.Types[n] = as
	}
}

func (f Facts) learn(m *flow.Machine, call flow.CommandCall, cmd *flow.Command) {
	if cmd == nil {
		return
	}
	match := m.Matched(call, cmd)
	for i, place := range match.As {
		for _, as := range parse.Words("place " + place.Word) {
			f.set(m.C.Nth(match.Words[i], "ARGV"), as)
		}
	}
	for _, p := range flow.Places(call, cmd) {
		if n := m.C.Nth(call.Words[p.Word], "KEYS"); n > 0 && p.Quality == flow.AKey {
			switch known := f.Kinds[n]; {
			case len(cmd.Kinds) == 0 || slices.Contains(cmd.Kinds, known):
			case len(cmd.Kinds) > 1 || known != "":
				f.Kinds[n] = "any"
			default:
				f.Kinds[n] = cmd.Kinds[0]
			}
		}
	}
}

// result returns the type of what a script returns on all its ways, "" if that is not certain.
func result(m *flow.Machine) string {
	ends, v, none := m.Follow(), flow.Value{}, flow.Kinds(0)
	for _, r := range m.Frame.Returned {
		if none |= r.Is & flow.Absent; r.Is&^flow.Absent != 0 && r.Is != flow.IsFailed {
			v = flow.Join(v, r)
		}
	}
	is, maybe := v.Is&^flow.IsFailed|none, map[bool]string{true: "?"}
	switch optional := maybe[is&flow.Absent != 0]; {
	case len(m.Frame.Returned) == 0 || ends:
		return ""
	case is&^flow.Absent == flow.IsNumber && v.Whole:
		return "int" + optional
	case is&^flow.Absent == flow.IsText, is != 0 && is&^(flow.IsText|flow.IsStatus) == 0:
		return "string" + optional
	case is != 0 && is&^(flow.Boolean|flow.IsNil) == 0:
		return "bool"
	case is == flow.IsTable && v.Elem != nil && v.Elem.Is&^flow.IsFalseValue == flow.IsText:
		return "string" + maybe[v.Elem.Is != flow.IsText] + "[]"
	}
	return ""
}
