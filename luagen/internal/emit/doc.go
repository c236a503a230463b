package emit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// columns is the width that comments are wrapped to.
const columns = 96

// wrapped joins words to lines of at most width columns, which begin with first, or with next.
func wrapped(words []string, first, next string, width int) string {
	var lines []string
	line := first
	for _, word := range words {
		if line != first && len(line)+1+len(word) > width {
			lines, line = append(lines, line), next
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// wrappedList is wrapped for the elements of a list in Go, each with its comma.
func wrappedList(list []string, width int) string {
	return wrapped(strings.Split(strings.Join(list, ",\n")+",", "\n"), "", "", width)
}

func comment(text string) string { return wrapped(strings.Fields(text), "//", "//", columns) + "\n" }

// item writes a line of the list in a doc comment.
func item(name, text string) string {
	return wrapped(strings.Fields(joined(": ", name, text)), "//   -", "//    ", columns) + "\n"
}

// Prose returns the paragraphs with which the wrapper's doc comment begins.
func (g *generator) Prose() []string {
	prose := paragraphs(g.Header.Prose)
	if len(prose) == 0 {
		prose = []string{"runs the script " + g.Name + "."}
	}
	prose[0] = g.Func + " " + lowerFirst(prose[0])
	return prose
}

// joined joins the texts that are not empty.
func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), by)
}

// retry says whether a script is sent again: the constant of package backend, the word of the header, and a sentence.
type retry struct{ Constant, Name, text string }

func retryOf(h *parse.Header) retry {
	switch {
	case h.ReadOnly:
		return retry{"RetryReadOnly", "readonly", "The script only reads."}
	case h.Repeat:
		return retry{"RetryRepeatable", "safe", "The script may write, and may be run again if its reply was lost."}
	}
	return retry{"RetryNever", "never", "The script may write, and is not sent again once it may have run."}
}

func classText(s *parse.Script) string {
	text := retryOf(s.Header).text
	if command := Plain(s); command != "" {
		text += " It is sent as the command " + command + "."
	}
	if flags := s.Header.Flags; len(flags) > 0 {
		text += " Its flags are " + strings.Join(flags, ", ") + "."
	}
	if s.Header.FailFast {
		text += " A call that the server or the network refuses fails at once."
	}
	return text
}

// paragraphs joins the lines of prose.
func paragraphs(lines []string) (all []string) {
	for text := range strings.SplitSeq(strings.Join(lines, "\n"), "\n\n") {
		if words := strings.Fields(text); len(words) > 0 {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}

// lowerFirst makes the first letter small, unless the first word is an abbreviation.
func lowerFirst(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[n:])
	if unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + text[n:]
}

// describe returns what the doc says of a key or argument.
func describe(b *parse.Binding) string {
	var facts []string
	switch {
	case b.Kind == parse.Key:
		facts = append(facts, keyText(b))
	case b.Kind != parse.Arg || b.Choices != nil || b.Type.Bounded || b.Type.Optional || !slices.Contains(inGo, b.Type.Name):
		facts = append(facts, declaredType(b))
	}
	facts = append(facts, fieldTexts(b)...)
	if b.Per != "" {
		facts = append(facts, "one for each of "+b.Per)
	}
	return joined("; ", append(facts, b.Text)...)
}

func fieldTexts(b *parse.Binding) (all []string) {
	for _, f := range b.Fields {
		all = append(all, f.Name+": "+f.Type.String())
	}
	return all
}

func keyText(b *parse.Binding) string {
	kind := strings.Replace(b.KeyKind, "any", "any kind of", 1)
	switch {
	case b.Prefix:
		return kind + " keys begin with it; it must have a hash tag"
	case b.Type.List:
		return kind + " keys"
	case b.Type.Optional:
		return kind + " key, or nil"
	}
	return kind + " key"
}

// inGo are types with the same name in Go, which go without saying.
var inGo = []string{"string", "bytes", "int", "bool"}

func choices(b *parse.Binding) string { return strings.ToUpper(strings.Join(b.Choices, "|")) }

func describeResult(r *parse.Result) string {
	var facts []string
	if r.Type.Bounded || r.Type.IsTime() || r.Type.Optional {
		facts = append(facts, r.Type.String())
	}
	if r.Type.List && r.Type.Optional {
		facts[0] += "[], nil for a missing one"
	}
	return joined("; ", append(facts, r.Text)...)
}

// Describe returns what a reference has of a script without findings.
func Describe(s *parse.Script) (string, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, "reference", s)
	return b.String(), err
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// declaredType returns the type of a key or argument, as the header has it.
func declaredType(b *parse.Binding) string {
	t := b.Type
	switch {
	case b.Kind == parse.Key:
		t.Name = b.KeyKind
	case b.Kind == parse.Channel:
		t.Name = "channel"
	case b.Kind == parse.Command:
		t.Name = choices(b)
	case b.Choices != nil:
		t.Name = strings.Join(b.Choices, "|")
	}
	text := t.String()
	if t.List {
		text += "..."
	}
	if b.Prefix {
		text += " prefix"
	}
	return text
}

// meaning returns what the table says of a key or argument, apart from its type.
func meaning(b *parse.Binding) string {
	facts := append(fieldTexts(b), b.Text)
	switch {
	case b.Prefix && b.Kind == parse.Key:
		facts = append(facts, "begins keys, must hold a hash tag")
	case b.Prefix:
		facts = append(facts, "begins channels")
	}
	if b.Per != "" {
		facts = append(facts, "one for each of `"+b.Per+"`")
	}
	if b.Type.Optional {
		facts = append(facts, "may be absent")
	}
	return joined("; ", facts...)
}
