package draft

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)

// use is one use of KEYS or ARGV.
type use struct {
	list *list
	*element
	n        int // the literal index; 0: the whole list
	from, to int // its place in the source
}

// literal matches one by a literal index. A draft has a line for each up to the highest.
var literal = regexp.MustCompile(`^\w+\s*\[\s*([1-9]\d{0,2})\s*\]`)

func (d *draft) count() {
	for _, g := range d.s.Globals {
		at := slices.IndexFunc(d.Lists, func(l *list) bool { return l.Name == g.Name })
		if at < 0 {
			continue
		}
		l := d.Lists[at]
		u := &use{list: l, from: g.P.Offset, to: g.P.Offset + len(g.Name)}
		if found := literal.FindSubmatch(d.s.Source[u.from:]); found != nil {
			u.n, _ = strconv.Atoi(string(found[1]))
			u.to = u.from + len(found[0])
		}
		for n := len(l.Elements); n <= u.n; n++ {
			said := d.said[l.Name+"["+strconv.Itoa(n)+"]"]
			l.Elements = append(l.Elements, &element{Type: cmp.Or(l.types[n], l.usual), Said: said})
		}
		u.element = l.Elements[u.n]
		u.Uses++
		d.uses[g] = u
	}
}

// locals gives elements the names of "local x, y = KEYS[1], ARGV[1]", and takes these statements out where nothing else is
// called so. The name of "local x = tonumber(ARGV[1])" is the argument's, too, if the statement alone uses it.
func (d *draft) locals() {
	parse.EachStmt(d.s.Body, func(stmt parse.Stmt) {
		local, ok := stmt.(*parse.LocalStmt)
		if !ok || len(local.Vars) != len(local.Values) {
			return
		}
		if elements := d.name(local, d.direct); elements != nil {
			d.behind(local.P.Line, elements[0].element)
			d.remove(local.P.Offset, elements[len(elements)-1].to)
		}
		d.name(local, d.number)
	})
}

// name gives the names of a statement to the elements that find finds in its values, if all can have them, and returns these.
func (d *draft) name(local *parse.LocalStmt, find func(parse.Expr) *use) (all []*use) {
	for i, e := range local.Values {
		u := find(e)
		if u == nil || u.Name != "" || !d.unique(local.Vars[i]) {
			return nil
		}
		all = append(all, u)
	}
	for i, u := range all {
		u.Name = local.Vars[i].Name
		u.Uses++ // by its name
	}
	return all
}

// direct returns the element that an expression is, or nil.
func (d *draft) direct(e parse.Expr) *use {
	if index, ok := e.(*parse.IndexExpr); ok && d.uses[index.X] != nil && d.uses[index.X].n > 0 {
		return d.uses[index.X]
	}
	return nil
}

// number returns the element that stands nowhere else and whose number begins an expression: tonumber(ARGV[1]) or 60.
func (d *draft) number(e parse.Expr) *use {
	for operation, ok := e.(*parse.BinaryExpr); ok; operation, ok = e.(*parse.BinaryExpr) {
		e = operation.L
	}
	if call, ok := e.(*parse.CallExpr); ok && len(call.Args) == 1 {
		if u := d.direct(call.Args[0]); parse.IsGlobal(call.Fn, "tonumber") && u != nil && u.Uses == 1 {
			return u
		}
	}
	return nil
}

// behind takes the comment at the end of a line for what is said of an element.
func (d *draft) behind(line int, e *element) {
	for _, c := range d.s.Comments {
		if c.Pos.Line == line && e.Said == "" && !c.Long {
			e.Said = strings.TrimSpace(strings.TrimLeft(c.Text, "-"))
		}
	}
}

// unique reports whether a local name can be a declared one: no other has it, and it is never assigned to.
func (d *draft) unique(x *parse.Var) bool {
	other := slices.ContainsFunc(d.s.Vars, func(v *parse.Var) bool { return v != x && v.Name == x.Name })
	return !other && len(x.Writes) == 0 && parse.CanDeclare(x.Name) && !d.taken(x.Name)
}

func (d *draft) taken(name string) bool {
	return slices.ContainsFunc(slices.Concat(d.Lists[0].Elements, d.Lists[1].Elements), func(e *element) bool {
		return parse.GoName(e.Name, true) == parse.GoName(name, true)
	})
}

// remove takes a statement out, with its line if nothing else is on it.
func (d *draft) remove(from, to int) {
	src := d.s.Source
	start := bytes.LastIndexByte(src[:from], '\n') + 1
	behind, _, _ := bytes.Cut(src[to:], []byte("\n"))
	rest := bytes.TrimSpace(bytes.TrimLeft(bytes.TrimSpace(behind), ";"))
	if len(bytes.TrimSpace(src[start:from])) == 0 && (len(rest) == 0 || bytes.HasPrefix(rest, []byte("--"))) {
		from, to = start, min(to+len(behind)+1, len(src))
	}
	d.edits = append(d.edits, edit{from, to, ""})
}

// rest names the other elements: by their comments, else by their number.
func (d *draft) rest() {
	for _, l := range d.Lists {
		for n, e := range l.Elements[1:] {
			if e.Name == "" {
				said := slug(e.Said)
				e.Name = d.free(said, d.free(said+"_"+l.Of, l.Of+"_"+strconv.Itoa(n+1)))
			}
		}
		if whole := l.Elements[0]; whole.Uses > 0 {
			whole.Name = d.free(l.Of+"s", "all_"+l.Of+"s")
		}
	}
}

// free returns the first name, unless something is called so.
func (d *draft) free(name, other string) string {
	used := slices.ContainsFunc(d.s.Vars, func(v *parse.Var) bool { return v.Name == name }) ||
		slices.ContainsFunc(d.s.Globals, func(g *parse.NameExpr) bool { return g.Name == name })
	if used || !parse.CanDeclare(name) || d.taken(name) {
		return other
	}
	return name
}

// slug makes a name of the beginning of a text: "the lock's owner (a uuid)" is lock_s_owner; of a key's pattern of its end.
func slug(text string) string {
	text, _, _ = strings.Cut(text, ",")
	text, _, _ = strings.Cut(text, "(")
	if parts := strings.FieldsFunc(text, func(r rune) bool { return r == ':' }); len(parts) > 1 && !strings.Contains(text, " ") {
		text = parts[len(parts)-1]
		if text[0] == '<' || text[0] == '{' {
			text = parts[len(parts)-2] + " " + text
		}
	}
	words := slices.DeleteFunc(word.FindAllString(strings.ReplaceAll(text, "'s", ""), -1), func(w string) bool {
		return slices.Contains([]string{"the", "a", "an", "of", "in", "to", "The", "A"}, w)
	})
	return strings.ToLower(strings.Join(words[:min(len(words), 3)], "_"))
}

// replace puts the names in the place of the elements. Where a list is used whole and by index, the whole is left.
func (d *draft) replace() {
	for _, u := range d.uses {
		if u.n > 0 || len(u.list.Elements) == 1 {
			d.edits = append(d.edits, edit{u.from, u.to, u.Name})
		}
	}
}
