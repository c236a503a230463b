package emit

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// columns is the width that comments are wrapped to.
const columns = 96

// comment writes text as a wrapped line comment; lines after the first are indented.
func comment(w io.Writer, text, indent string) {
	line := "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > columns && line != "//" {
			fmt.Fprintln(w, line)
			line = "//" + indent
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}

// item writes one entry of a list in a doc comment.
func item(w io.Writer, text string) {
	line := "//   -"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > columns && line != "//   -" {
			fmt.Fprintln(w, line)
			line = "//    "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}

// doc writes the wrapper's doc comment.
func (g *generator) doc() {
	for i, paragraph := range paragraphs(g.s.Header.Prose) {
		if i > 0 {
			g.printf("//\n")
		} else {
			paragraph = g.fn + " " + lowerFirst(paragraph)
		}
		comment(&g.b, paragraph, "")
	}
	if len(paragraphs(g.s.Header.Prose)) == 0 {
		g.printf("// %s runs the script %s.\n", g.fn, g.s.Name)
	}
	g.docList("Keys", g.s.Header.Keys())
	g.docList("Arguments", g.s.Header.Args())
	if len(g.s.Header.Returns) > 0 {
		g.printf("//\n// Results:\n")
	}
	for _, r := range g.s.Header.Returns {
		item(&g.b, labelled(r.Name, describeResult(r)))
	}
	if len(g.s.Header.Errors) > 0 {
		g.printf("//\n// Errors, each a [backend.ScriptError]:\n")
	}
	for _, e := range g.s.Header.Errors {
		item(&g.b, labelled(e.Code, e.Text))
	}
	g.printf("//\n")
	comment(&g.b, g.classText(), "")
}

func (g *generator) docList(title string, list []*parse.Binding) {
	if len(list) == 0 {
		return
	}
	g.printf("//\n// %s:\n", title)
	for _, b := range list {
		item(&g.b, labelled(b.Name, describe(b)))
	}
}

func labelled(name, text string) string {
	if text == "" {
		return name
	}
	return name + ": " + text
}

func (g *generator) classText() string {
	var text string
	switch {
	case g.s.Header.ReadOnly:
		text = "The script only reads."
	case g.s.Header.Repeat:
		text = "The script may write, and may be run again if its reply was lost."
	default:
		text = "The script may write, and is not sent again once it may have run."
	}
	if command := Plain(g.s); command != "" {
		text += " It is sent as the command " + command + "."
	}
	return text
}

// paragraphs joins the lines of prose.
func paragraphs(lines []string) []string {
	var all []string
	var current []string
	for _, line := range append(lines, "") {
		if line != "" {
			current = append(current, line)
			continue
		}
		if len(current) > 0 {
			all = append(all, strings.Join(current, " "))
		}
		current = nil
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
	switch b.Kind {
	case parse.Key:
		facts = append(facts, keyText(b))
	case parse.Command:
		facts = append(facts, "the command "+choices(b))
	case parse.Channel:
		facts = append(facts, channelText(b))
	case parse.Arg:
		facts = append(facts, argText(b)...)
	}
	if b.Per != "" {
		facts = append(facts, "one for each of "+b.Per)
	}
	return strings.Join(append(facts, textOf(b.Text)...), "; ")
}

func textOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func keyText(b *parse.Binding) string {
	kind := b.KeyKind
	if kind == "any" {
		kind = "any kind"
	}
	switch {
	case b.Prefix:
		return "begins keys (" + kind + "); must hold a hash tag"
	case b.Type.List:
		return kind + " each"
	}
	return kind
}

// choices names the commands that an argument may be.
func choices(b *parse.Binding) string { return strings.ToUpper(strings.Join(b.Choices, "|")) }

func channelText(b *parse.Binding) string {
	if b.Prefix {
		return "begins channels"
	}
	return "channel"
}

func argText(b *parse.Binding) []string {
	var facts []string
	switch b.Type.Name {
	case "milliseconds", "seconds":
		facts = append(facts, "in whole "+b.Type.Name+", the rest is cut off")
		if !b.Type.Bounded {
			facts = append(facts, "not negative")
		}
	case "unixmilli":
		facts = append(facts, "to the millisecond, the rest is cut off")
	case "float":
		facts = append(facts, "not NaN")
	}
	if b.Type.Bounded {
		facts = append(facts, span(b.Type))
	}
	if b.Type.Optional {
		facts = append(facts, "nil: absent")
	}
	return facts
}

// span says which values the bounds of a type allow, of a time in its unit.
func span(t parse.Type) string {
	switch {
	case t.Max == math.MaxInt64:
		return fmt.Sprintf("%d or more", t.Min)
	case t.Min == math.MinInt64:
		return fmt.Sprintf("%d or less", t.Max)
	}
	return fmt.Sprintf("from %d to %d", t.Min, t.Max)
}

// describeResult returns what the doc says of a result.
func describeResult(r *parse.Result) string {
	facts := textOf(r.Text)
	if r.Type.Bounded {
		facts = append(facts, span(r.Type))
	}
	if r.Type.Optional {
		facts = append(facts, "there may be none")
	}
	return strings.Join(facts, "; ")
}
