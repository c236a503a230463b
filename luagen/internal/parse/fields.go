package parse

import (
	"slices"
	"strings"
)

// Hash is a result with fields of a declared key.
type Hash struct {
	Key    *Binding
	Fields []*Result
	Listed bool   // the result has the values of these fields, as HMGET replies; else names and values, as HGETALL does
	Result string // the result's name
}

// fields reads those of a hash, "level: int, at: unixmilli", if the next words are not a description.
func (h *headerReader) fields(w *words) (all []*Result) {
	for more := true; more; {
		before := *w
		name, pos := w.next()
		word, typePos := w.next()
		name, named := strings.CutSuffix(name, ":")
		word, more = strings.CutSuffix(word, ",")
		t, msg := parseType(word, false)
		if all == nil && (!named || msg != "" && (Nearest(word, typeNames) == "" || !more && w.rest() != "")) {
			*w = before
			return nil
		}
		switch {
		case msg != "":
			h.find(typePos, "%s", msg)
		case !named || !nameShape.MatchString(name):
			h.find(pos, "a field is written name: type, and its name has letters, digits and _")
		case t.List || t.Name == "bool" || t.Name == "scores":
			h.find(typePos, "a field has one text or number; for a bool write int(0..1)")
		case slices.ContainsFunc(all, func(f *Result) bool { return GoName(f.Name, true) == GoName(name, true) }):
			h.find(pos, "field %s is declared twice, or is one name in Go with another", name)
		}
		all = append(all, &Result{Name: name, Pos: pos, Type: t})
	}
	return all
}

// Names returns the names of the fields.
func (h *Hash) Names() []string {
	var names []string
	for _, f := range h.Fields {
		names = append(names, f.Name)
	}
	return names
}

// Field returns the declared field of a name, or why there is none.
func (b *Binding) Field(name string) (f *Result, msg string) {
	if i := slices.IndexFunc(b.Fields, func(f *Result) bool { return f.Name == name }); i >= 0 {
		return b.Fields[i], ""
	}
	names := (&Hash{Fields: b.Fields}).Names()
	return nil, b.Name + " has no field " + name + suggest(name, names, "its fields are")
}

// resultType reads the type of a result: one of parseType, or a key with fields.
func (h *headerReader) resultType(word string) (t Type, msg string) {
	m := typeShape.FindStringSubmatch(word)
	place := slices.IndexFunc(h.header.Bindings, func(b *Binding) bool {
		return m != nil && b.Name == m[1] && b.Fields != nil && !slices.Contains(typeNames, b.Name)
	})
	if place < 0 {
		return parseType(word, false)
	}
	key := h.header.Bindings[place]
	t, msg = parseType("string"+m[4]+m[5]+m[6], false)
	t.Name, t.Hash = key.Name, &Hash{Key: key, Fields: key.Fields, Listed: m[2] != ""}
	if !t.Hash.Listed {
		return t, msg
	}
	t.Hash.Fields = nil
	for name := range strings.SplitSeq(m[3], ",") {
		f, msg := key.Field(name)
		if slices.Contains(t.Hash.Fields, f) {
			msg = "field " + name + " is named twice"
		}
		if msg != "" {
			return t, msg
		}
		t.Hash.Fields = append(t.Hash.Fields, f)
	}
	return t, msg
}
