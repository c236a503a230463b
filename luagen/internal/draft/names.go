package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)

// element returns n if KEYS[n] or ARGV[n] begins at token i; else 0.
func (d *draft) element(i int) int {
	t := d.s.Tokens[i:]
	if len(t) < 4 || t[1].Text != "[" || t[2].Kind != parse.Number || t[3].Text != "]" {
		return 0
	}
	n, _ := strconv.Atoi(t[2].Text)
	return n
}

// list returns the list that a token names, nil if it names none.
func (d *draft) list(i int) *list {
	t := d.s.Tokens[i]
	if t.Kind != parse.Name || i > 0 && d.s.Tokens[i-1].Text == "." {
		return nil
	}
	return d.lists[t.Text]
}

// count notes what the code uses.
func (d *draft) count() {
	for i, t := range d.s.Tokens {
		l := d.list(i)
		if l == nil {
			continue
		}
		if n := d.element(i); n > 0 {
			l.uses[n]++
			l.count = max(l.count, n)
		} else {
			l.whole = append(l.whole, t)
		}
	}
}

// locals gives elements the names of "local x, y = KEYS[1], ARGV[1]", and takes these statements out where nothing else is
// called so. The name of "local x = tonumber(ARGV[1])" is the argument's, too, if the statement alone uses it.
func (d *draft) locals() {
	for i, t := range d.s.Tokens {
		if t.Text != "local" || t.Kind != parse.Keyword {
			continue
		}
		names := d.namesAt(i + 1)
		values := i + 1 + 2*len(names) // behind "="
		if len(names) == 0 || d.s.Tokens[values-1].Text != "=" {
			continue
		}
		if end := d.elementsAt(values, len(names)); end > 0 && d.name(names, values, 5) {
			d.behind(t.Pos.Line, values)
			d.remove(t.Pos.Offset, d.s.Tokens[end-1].End)
		}
		if d.numbersAt(values, len(names)) {
			d.name(names, values+2, 8)
		}
	}
}

// behind takes the comment at the end of a line for what is said of the element at token i.
func (d *draft) behind(line, i int) {
	for _, c := range d.s.Comments {
		if at := place(d.s.Tokens[i].Text, d.element(i)); c.Pos.Line == line && d.said[at] == "" && !c.Long {
			d.said[at] = strings.TrimSpace(strings.TrimLeft(c.Text, "-"))
		}
	}
}

func (d *draft) at(i int) string {
	if i < len(d.s.Tokens) {
		return d.s.Tokens[i].Text
	}
	return ""
}

// namesAt returns the names that are separated by commas from token i on.
func (d *draft) namesAt(i int) (names []string) {
	for ; i+1 < len(d.s.Tokens) && d.s.Tokens[i].Kind == parse.Name; i += 2 {
		if names = append(names, d.s.Tokens[i].Text); d.at(i+1) != "," {
			return names
		}
	}
	return nil
}

// elementsAt returns where a list of n elements ends that begins at token i; 0 if something else stands there.
func (d *draft) elementsAt(i, n int) int {
	for ; n > 0; n-- {
		if d.list(i) == nil || d.element(i) == 0 || n > 1 && d.at(i+4) != "," {
			return 0
		}
		i += 5
	}
	if goesOn(d.s.Tokens[i-1]) {
		return 0
	}
	return i - 1
}

// numbersAt reports whether n numbers of elements that stand nowhere else begin at token i: tonumber(ARGV[1]), ...
func (d *draft) numbersAt(i, n int) bool {
	for ; n > 0; n-- {
		if d.at(i) != "tonumber" || d.at(i+1) != "(" || d.at(i+6) != ")" || !d.once(i+2) || n > 1 && d.at(i+7) != "," {
			return false
		}
		i += 8
	}
	return true
}

// once reports whether the element at token i stands nowhere else.
func (d *draft) once(i int) bool {
	l := d.list(i)
	return l != nil && l.uses[d.element(i)] == 1
}

// name gives elements, of which one begins at every step tokens from i on, their names, if all can have them.
func (d *draft) name(names []string, i, step int) bool {
	for n, name := range names {
		l := d.list(i + n*step)
		if l.names[d.element(i+n*step)] != "" || !d.unique(name) || slices.Contains(names[:n], name) {
			return false
		}
	}
	for n, name := range names {
		l, at := d.list(i+n*step), d.element(i+n*step)
		l.names[at] = name
		l.uses[at]++ // by its name
	}
	return true
}

// goesOn reports whether an expression goes on with a token.
func goesOn(t parse.Token) bool {
	return t.Kind == parse.Op && t.Text != ";" || slices.Contains([]string{"and", "or"}, t.Text)
}

// unique reports whether a local name can be a declared one: no other has it, and it is never assigned to.
func (d *draft) unique(name string) bool {
	found, written := 0, 0
	for _, v := range d.s.Vars {
		if v.Name == name {
			found, written = found+1, written+len(v.Writes)
		}
	}
	return found == 1 && written == 0 && parse.CanDeclare(name) && !d.taken(name)
}

// taken reports whether an element has a name.
func (d *draft) taken(name string) bool {
	for _, l := range d.lists {
		for _, other := range l.names {
			if parse.GoName(other, true) == parse.GoName(name, true) {
				return true
			}
		}
	}
	return false
}

// remove takes a statement out, with its line if nothing else is on it.
func (d *draft) remove(from, to int) {
	src := d.s.Source
	start := strings.LastIndexByte(string(src[:from]), '\n') + 1
	stop := len(src)
	if i := strings.IndexByte(string(src[to:]), '\n'); i >= 0 {
		stop = to + i + 1
	}
	rest := strings.TrimLeft(strings.TrimSpace(string(src[to:stop])), ";")
	if strings.TrimSpace(string(src[start:from])) == "" && (rest == "" || strings.HasPrefix(strings.TrimSpace(rest), "--")) {
		from, to = start, stop
	}
	d.edits = append(d.edits, edit{from, to, ""})
}

// rest names the other elements: by their comments, else by their number.
func (d *draft) rest() {
	for _, list := range []string{"KEYS", "ARGV"} {
		l, short := d.lists[list], map[string]string{"KEYS": "key", "ARGV": "arg"}[list]
		for n := 1; n <= l.count; n++ {
			if l.names[n] == "" {
				said := slug(d.said[place(list, n)])
				l.names[n] = d.free(said, d.free(said+"_"+short, short+"_"+strconv.Itoa(n)))
			}
		}
		if len(l.whole) > 0 {
			l.names[0] = d.free(short+"s", "all_"+short+"s")
		}
	}
}

// free returns the first name, unless something is called so.
func (d *draft) free(name, other string) string {
	used := slices.ContainsFunc(d.s.Vars, func(v *parse.Var) bool { return v.Name == name }) ||
		slices.ContainsFunc(d.s.Globals, func(g parse.Global) bool { return g.Name == name })
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
	for i, t := range d.s.Tokens {
		l := d.list(i)
		if l == nil {
			continue
		}
		if n := d.element(i); n > 0 {
			d.edits = append(d.edits, edit{t.Pos.Offset, d.s.Tokens[i+3].End, l.names[n]})
		} else if l.count == 0 {
			d.edits = append(d.edits, edit{t.Pos.Offset, t.End, l.names[0]})
		}
	}
}
