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
type retry struct{ Constant, Name, Text string }

func retryOf(h *parse.Header) retry {
	switch {
	case h.ReadOnly:
		return retry{"RetryReadOnly", "readonly", "The script only reads."}
	case h.Repeat:
		return retry{"RetryRepeatable", "safe", "The script may write, and may be run again if its reply was lost."}
	}
	return retry{"RetryNever", "never", "The script may write, and is not sent again once it may have run."}
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

// facts returns what a template of facts.tmpl says of something.
func facts(name string, of any) (string, error) {
	var b strings.Builder
	err := factTemplates.ExecuteTemplate(&b, name, of)
	return joined("; ", strings.Split(b.String(), "\n")...), err
}

// Describe returns what a reference has of a script without findings.
func Describe(s *parse.Script) (string, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, "reference", s)
	return b.String(), err
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
