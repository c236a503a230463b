package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var annotations = Words("annotations")

// headerReader collects a header and its findings.
type headerReader struct {
	file     string
	header   *Header
	findings []Finding
	seen     map[string]Pos // "error X": where it was declared
}

func (h *headerReader) find(pos Pos, format string, args ...any) {
	h.findings = append(h.findings, Finding{h.file, pos, RuleHeader, fmt.Sprintf(format, args...)})
}

// once reports whether what was not seen before, and finds fault if it was.
func (h *headerReader) once(what string, pos Pos) bool {
	if first, ok := h.seen[what]; ok {
		h.find(pos, "%s is declared twice, first in line %d", what, first.Line)
		return false
	}
	h.seen[what] = pos
	return true
}

var wordShape = regexp.MustCompile(`^[ \t]*([^ \t]*)`)

// words reads an annotation word by word.
type words struct {
	text string
	pos  Pos
}

// next returns the next word and its place; at the end "" and the place behind the text.
func (w *words) next() (string, Pos) {
	m := wordShape.FindStringSubmatchIndex(w.text)
	word, pos := w.text[m[2]:m[3]], w.pos.Add(m[2])
	w.text, w.pos = w.text[m[3]:], w.pos.Add(m[3])
	return word, pos
}

func (w *words) peek() string {
	word, _ := (&words{w.text, w.pos}).next()
	return word
}

func (w *words) takes(word string) bool {
	if w.peek() != word {
		return false
	}
	w.next()
	return true
}

func (w *words) rest() string { return strings.TrimSpace(w.text) }

// isDoc reports whether a comment is of the form ---, and not a ruler of dashes.
func isDoc(c Comment) bool {
	return !c.Long && strings.HasPrefix(c.Text, "---") && !strings.HasPrefix(c.Text, "----")
}

func isAnnotation(c Comment) bool { return isDoc(c) && strings.HasPrefix(c.Text, "---@") }

// annotationWords returns the words after "---@".
func annotationWords(c Comment) *words { return &words{c.Text[len("---@"):], c.Pos.Add(len("---@"))} }

func isAllow(c Comment) bool { return isAnnotation(c) && annotationWords(c).peek() == "allow" }

// readHeader reads the comments of a file whose first token stands at body.
func (h *headerReader) readHeader(comments []Comment, body int) {
	var docs []Comment
	last := -1 // the last annotation among docs
	for _, c := range comments {
		switch {
		case c.Pos.Offset > body:
			h.outside(c)
		case isAllow(c), c.Long:
		case isAnnotation(c):
			docs = append(docs, c)
			last = len(docs) - 1
		default:
			h.misspelt(c)
			if isDoc(c) {
				docs = append(docs, c)
			}
		}
	}
	annotated := false
	for i, c := range docs {
		if !utf8.ValidString(c.Text) || strings.Contains(c.Text, "\ufeff") {
			h.find(c.Pos, "this line goes into Go source, and is not UTF-8")
		}
		switch {
		case isAnnotation(c):
			annotated = true
			h.annotation(c)
		case !annotated && (last >= 0 || i == 0 || c.Pos.Line == docs[i-1].Pos.Line+1):
			h.header.Prose = append(h.header.Prose, strings.TrimSpace(c.Text[len("---"):]))
		case i > last && (c.Pos.Line > docs[i-1].Pos.Line+1 || !annotated):
			// The documentation of what follows, not of the script.
			return
		case strings.TrimSpace(c.Text[len("---"):]) != "":
			h.find(c.Pos, "prose stands before the annotations; a description goes behind its annotation, on its line")
		}
	}
}

var nearlyAnnotation = regexp.MustCompile(`^--+\s*@\s*([A-Za-z]+)`)

func (h *headerReader) misspelt(c Comment) {
	if m := nearlyAnnotation.FindStringSubmatch(c.Text); m != nil {
		if near := Nearest(strings.ToLower(m[1]), annotations); near != "" {
			h.find(c.Pos, "this is a plain comment: an annotation is written ---@%s", near)
			h.tried(c)
		}
	}
}

// outside judges a comment behind the first line of code.
func (h *headerReader) outside(c Comment) {
	if !isAnnotation(c) || isAllow(c) {
		return
	}
	word, pos := annotationWords(c).next()
	if word == "param" || word == "return" {
		return // a local function's, for the Lua language server
	}
	h.tried(c)
	switch near := Nearest(word, annotations); {
	case slices.Contains(annotations, word):
		h.find(pos, "misplaced annotation %s: it belongs above the first line of code", word)
	case near != "":
		h.find(pos, "unknown annotation %s: did you mean %s?", word, near)
	}
}

func (h *headerReader) annotation(c Comment) {
	w := annotationWords(c)
	word, pos := w.next()
	flags := map[string]*bool{"readonly": &h.header.ReadOnly, "failfast": &h.header.FailFast, "library": &h.header.Library}
	read := map[string]func(){
		"key":     func() { h.binding(w, Key, h.key) },
		"arg":     func() { h.binding(w, Arg, h.arg) },
		"command": func() { h.binding(w, Command, h.command) },
		"channel": func() { h.binding(w, Channel, h.channel) },
		"return":  func() { h.result(w) },
		"error":   func() { h.errorCode(w) },
		"include": func() { h.include(w) },
		"since":   func() { h.since(w, pos) },
		"retry":   func() { h.retryClass(w, pos) },
		"flag":    func() { h.scriptFlag(w) },
	}[word]
	switch flag := flags[word]; {
	case read != nil:
		read()
	case flag != nil:
		*flag = true
		h.end(w, word+" takes nothing")
		h.once(word, pos)
	default:
		h.find(pos, "unknown annotation %s%s", word, suggest(word, annotations, "there are"))
		h.tried(c)
	}
}

// tried notes the name that a faulty annotation names: its uses are no further faults.
func (h *headerReader) tried(c Comment) {
	if words := strings.Fields(strings.TrimLeft(c.Text, "- ")); len(words) > 1 {
		h.header.Tried = append(h.header.Tried, words[1])
	}
}

// end finds more words.
func (h *headerReader) end(w *words, msg string) {
	if extra, at := w.next(); extra != "" {
		h.find(at, "%s", msg)
	}
}

func (h *headerReader) retryClass(w *words, pos Pos) {
	class, at := w.next()
	if class != "safe" && class != "never" {
		h.find(at, "retry is safe or never")
	}
	h.end(w, "retry takes one word")
	h.once("retry", pos)
	h.header.Repeat = class == "safe"
}

// name reads a name to declare; kind says of what.
func (h *headerReader) name(w *words, kind string) (string, Pos, bool) {
	name, pos := w.next()
	if name == "" {
		h.find(pos, "%s without a name", kind)
		return "", pos, false
	}
	h.header.Tried = append(h.header.Tried, name)
	why := badName(name, kind == "return")
	if why != "" {
		h.findings = append(h.findings, Finding{h.file, pos, RuleName, name + " " + why})
	}
	return name, pos, why == ""
}

var saying = regexp.MustCompile(`\b(?:(KEYS|ARGV)\s*\[\s*(\d+)\s*\]\s*(?:=>|->|[=:–—-]|is\b)*|(key|arg) (\d+) *(?:->|[=:–—-]))\s*([^\r\n]*)`)

// further is the next element on a line.
var further = regexp.MustCompile(`(?:[,;.]\s*|\s{2,})((?:KEYS|ARGV)\[\d+\])|\s((?:KEYS|ARGV)\[\d+\]\s*(?:=>|->|[=:–—-]))`)

var lists = map[string]string{"key": "KEYS", "arg": "ARGV"}

// Said notes what a comment says of elements, such as "KEYS[1] -> the lock", unless something was said of them before.
// It reports whether the comment names one.
func Said(said map[string]string, comment string) bool {
	all := saying.FindAllStringSubmatch(further.ReplaceAllString(comment, "\n$1$2"), -1)
	for _, m := range all {
		element, text := m[1]+lists[m[3]]+"["+m[2]+m[4]+"]", strings.TrimSpace(strings.TrimRight(m[5], "-]* \t"))
		if said[element] == "" && text != "" && !strings.ContainsAny(text[:1], ",.)]=") {
			said[element] = text
		}
	}
	return len(all) > 0
}
