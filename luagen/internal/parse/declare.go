package parse

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// binding reads the declaration of a name. What reads the rest of it reports whether it is right.
func (h *headerReader) binding(w *words, kind BindingKind, read func(w *words, b *Binding) bool) {
	name, pos, ok := h.name(w, string(kind))
	if name == "" {
		return
	}
	b := &Binding{Kind: kind, Name: name, Pos: pos, Type: Type{Name: "string"}}
	if read(w, b) && ok && h.once("the name "+GoName(name, true)+" in Go", pos) {
		b.Text = w.rest()
		h.header.Bindings = append(h.header.Bindings, b)
	}
}

func (h *headerReader) key(w *words, b *Binding) bool {
	kind, kindPos := w.next()
	b.KeyKind, b.Type.List = strings.CutSuffix(kind, "...")
	b.KeyKind, b.Type.Optional = strings.CutSuffix(b.KeyKind, "?")
	ok := slices.Contains(keyKinds, b.KeyKind)
	switch {
	case kind == "":
		h.find(kindPos, "key %s without a kind: %s", b.Name, strings.Join(keyKinds, ", "))
	case !ok:
		h.find(kindPos, "unknown kind of key %s%s", b.KeyKind, suggest(b.KeyKind, keyKinds, "there are"))
	}
	if b.Prefix = w.takes("prefix"); b.Prefix && (b.Type.List || b.Type.Optional) {
		h.find(b.Pos, "a list of keys, or a key that may be absent, cannot be a prefix")
	}
	if next := *w; b.Type.List && next.takes("per") {
		if list, _ := next.next(); slices.ContainsFunc(h.header.Keys(), func(k *Binding) bool { return k.Name == list }) {
			*w, b.Per, b.perPos = next, list, b.Pos
		}
	}
	if b.KeyKind == "hash" {
		b.Fields = h.fields(w)
	}
	if keys := h.header.Keys(); len(keys) > 0 {
		last := keys[len(keys)-1]
		switch list := cmp.Or(last.Per, last.Name); {
		case last.Type.Optional:
			h.find(b.Pos, "%s, which may be absent, must be the last key", last.Name)
		case last.Type.List && b.Per != list:
			h.find(b.Pos, "the list %s must be the last key: write list... per %s for one of its length", last.Name, list)
		}
	}
	return ok
}

func (h *headerReader) arg(w *words, b *Binding) (ok bool) {
	word, typePos := w.next()
	if word == "" {
		h.find(typePos, "arg %s without a type", b.Name)
		return false
	}
	msg := ""
	if textsShape.MatchString(word) {
		b.Choices = h.choices(word, typePos, b.Name)
	} else if b.Type, msg = parseType(word, true); msg != "" {
		h.find(typePos, "%s", msg)
	}
	ok = msg == ""
	if w.takes("per") {
		b.Per, b.perPos = w.next()
		if !b.Type.List {
			h.find(b.perPos, "only a list (%s...) can go per another", b.Type.Name)
			ok = false
		}
	}
	return ok
}

var commandShape = regexp.MustCompile(`^[a-z]+(\|[a-z]+)*$`)
var textsShape = regexp.MustCompile(`^[\w.:-]+(\|[\w.:-]+)+$`)

// choices reads those of an argument, "read|write".
func (h *headerReader) choices(word string, pos Pos, name string) []string {
	all := strings.Split(word, "|")
	for i, choice := range all {
		if slices.Contains(all[:i], choice) {
			h.find(pos, "%s names %s twice", name, choice)
		}
	}
	return all
}

func (h *headerReader) command(w *words, b *Binding) bool {
	word, wordPos := w.next()
	if !commandShape.MatchString(word) {
		h.find(wordPos, "command %s needs the commands that it may be: publish|spublish", b.Name)
		return false
	}
	b.Choices = h.choices(word, wordPos, "command "+b.Name)
	return true
}

func (h *headerReader) channel(w *words, b *Binding) bool {
	b.Prefix = w.takes("prefix")
	return true
}

func (h *headerReader) result(w *words) {
	word, typePos := w.next()
	if word == "nil" {
		h.once("return nil", typePos)
		h.header.None = &Result{Name: word, Pos: typePos, Text: w.rest()}
		return
	}
	t, msg := h.resultType(word)
	if word == "" {
		h.find(typePos, "return without a type")
		return
	}
	if msg != "" {
		h.find(typePos, "%s", msg)
	}
	name, pos, ok := h.name(w, "return")
	if !ok || msg != "" || !h.once("the result "+GoName(name, true)+" in Go", pos) {
		return
	}
	if t.Hash != nil {
		t.Hash.Result = name
	}
	h.header.Returns = append(h.header.Returns, &Result{name, pos, t, w.rest()})
}

var codeShape = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// IsErrorCode reports whether a script may have an error code of its own of this name.
func IsErrorCode(code string) bool {
	return codeShape.MatchString(code) && !slices.Contains(Words("server codes"), code)
}

func (h *headerReader) errorCode(w *words) {
	code, pos := w.next()
	switch {
	case !codeShape.MatchString(code):
		h.find(pos, "an error code is one word in capitals, such as NOTOWNER")
	case slices.Contains(Words("server codes"), code):
		h.find(pos, "%s is the server's own: a script's errors need a code of their own", code)
	case h.once("error "+code, pos):
		h.header.Errors = append(h.header.Errors, &Result{Name: code, Pos: pos, Text: w.rest()})
	}
}

func (h *headerReader) include(w *words) {
	file, pos := w.next()
	unread := !fileShape.MatchString(file)
	switch {
	case unread:
		h.find(pos, "include takes the name of a .lua file without a folder: -I names folders")
	case h.once("include "+file, pos):
		h.end(w, "include takes one file")
	default:
		return
	}
	h.header.Includes = append(h.header.Includes, &Include{File: file, Pos: pos, Unread: unread})
}

var fileShape = regexp.MustCompile(`^[A-Za-z0-9_-]+\.lua$`)
var versionShape = regexp.MustCompile(`^[0-9]+(\.[0-9]+){1,2}$`)

// Servers are those that "---@since" may name.
var Servers = []string{"redis", "valkey", "embedded"}

func (h *headerReader) since(w *words, at Pos) {
	h.once("since", at)
	for text := range strings.SplitSeq(w.rest(), ",") {
		server, version, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch {
		case !slices.Contains(Servers, server):
			h.find(at, "unknown server %q%s", server, suggest(server, Servers, "there are"))
		case (server == "embedded") != (version == "") || version != "" && !versionShape.MatchString(version):
			h.find(at, "write since with servers and their versions by commas, such as redis 7.0, valkey 8.0, embedded")
		case slices.ContainsFunc(h.header.Since, func(t Target) bool { return t.Server == server }):
			h.find(at, "%s is named twice", server)
		default:
			h.header.Since = append(h.header.Since, Target{server, version})
		}
	}
}

// finish checks what needs the whole header.
func (h *headerReader) finish() {
	args := h.header.Args()
	for i, b := range args {
		switch {
		case b.Type.List:
			h.checkList(b, args[:i])
		case i > 0 && args[i-1].Type.List:
			h.find(b.Pos, "lists come last: %s stands behind the list %s", b.Name, args[i-1].Name)
		}
	}
	if none := h.header.None; none != nil && len(h.header.Returns) < 2 {
		h.find(none.Pos, "return nil is for several results: write string? if one alone may be nil")
	}
	keys := h.header.Keys()
	if len(keys) == 1 && keys[0].Type.Optional {
		h.find(keys[0].Pos, "the only key may be absent: a script runs on the node that owns its keys")
	}
	if h.header.Library {
		for _, b := range h.header.Bindings {
			h.find(b.Pos, "a library declares no names: pass %s to its functions", b.Name)
		}
		for _, r := range h.header.Returns {
			h.find(r.Pos, "a library has no results")
		}
	} else if len(keys) == 0 && len(h.findings) == 0 {
		h.find(Pos{0, 1, 1}, "no key is declared: a script runs on the node that owns its keys")
	}
	if at, retry := h.seen["retry"]; retry && h.header.ReadOnly {
		h.find(at, "a read-only script may always be repeated: leave retry out")
	}
	h.checkFlags()
}

// checkList checks what the length of a list hangs on, which stands behind other arguments.
func (h *headerReader) checkList(b *Binding, before []*Binding) {
	free := slices.IndexFunc(before, func(other *Binding) bool { return other.Type.List && other.Per == "" })
	isList := func(other *Binding) bool {
		return other.Name == b.Per && other.Type.List && (other.Kind == Key || other.Per == "")
	}
	switch {
	case b.Per == "" && free >= 0:
		h.find(b.Pos, "a second list of free length: write %s... per %s", b.Type.Name, before[free].Name)
	case b.Per != "" && !slices.ContainsFunc(h.header.Keys(), isList) && !slices.ContainsFunc(before, isList):
		h.find(b.perPos, "%s is no list that is declared before %s", b.Per, b.Name)
	}
}
