package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// words writes the building of all keys and arguments as one slice, and returns the expressions
// for the two.
func (g *generator) words() (keys, args string) {
	all := g.ordered()
	if slices.ContainsFunc(all, func(b *parse.Binding) bool { return b.Type.List }) {
		return g.appended()
	}
	g.printf("words := [...]string{")
	if len(all) > 4 {
		g.printf("\n")
	}
	var parts []string
	for _, b := range all {
		text, _ := g.text(b.Type, g.value(b))
		parts = append(parts, text)
	}
	if len(all) > 4 {
		g.printf("%s,\n}\n", strings.Join(parts, ",\n"))
	} else {
		g.printf("%s}\n", strings.Join(parts, ", "))
	}
	for i, b := range all {
		if _, later := g.text(b.Type, g.value(b)); later != "" {
			g.printf("if %s {\nwords[%d] = %s\n}\n", condition(b.Type, g.value(b)), i, later)
		}
	}
	n := strconv.Itoa(len(g.s.Header.Keys()))
	if len(all) == len(g.s.Header.Keys()) {
		return "words[:]", "nil"
	}
	return "words[:" + n + ":" + n + "]", "words[" + n + ":]"
}

// appended builds the slice where there are lists.
func (g *generator) appended() (keys, args string) {
	fixed := 0
	size := ""
	for _, b := range g.ordered() {
		if b.Type.List {
			size += "+len(" + g.value(b) + ")"
		} else {
			fixed++
		}
	}
	g.printf("words := make([]string, 0, %s)\n", strings.TrimPrefix(fmt.Sprint(fixed)+size, "0+"))
	for _, b := range g.s.Header.Keys() {
		g.appendWord(b)
	}
	if len(g.s.Header.Args()) == 0 {
		return "words", "nil"
	}
	g.printf("keys := len(words)\n")
	for _, b := range g.s.Header.Args() {
		g.appendWord(b)
	}
	return "words[:keys:keys]", "words[keys:]"
}

func (g *generator) appendWord(b *parse.Binding) {
	v := g.value(b)
	text, later := g.text(b.Type, v)
	switch {
	case b.Type.List && b.Type.Name == "string":
		g.printf("words = append(words, %s...)\n", v)
	case b.Type.List:
		text, later = g.text(b.Type, "v")
		g.printf("for _, v := range %s {\nwords = append(words, %s)\n", v, text)
		if later != "" {
			g.printf("if %s {\nwords[len(words)-1] = %s\n}\n", condition(b.Type, "v"), later)
		}
		g.printf("}\n")
	default:
		g.printf("words = append(words, %s)\n", text)
		if later != "" {
			g.printf("if %s {\nwords[len(words)-1] = %s\n}\n", condition(b.Type, v), later)
		}
	}
}

// text returns the expression for v as a word. If that takes a condition, text is the word where it
// does not hold, and later the word where it does.
func (g *generator) text(t parse.Type, v string) (text, later string) {
	if t.Optional {
		plain := t
		plain.Optional = false
		later, _ = g.text(plain, "(*"+v+")")
		if t.Name == "int" || t.Name == "float" {
			later = strings.Replace(later, "(*"+v+")", "*"+v, 1)
		}
		if t.Name == "milliseconds" || t.Name == "unixmilli" {
			later = strings.Replace(later, "(*"+v+")", v, 1)
		}
		return `""`, later
	}
	if t.Name != "string" && t.Name != "bytes" && t.Name != "bool" {
		g.imports["strconv"] = true
	}
	switch t.Name {
	case "bytes":
		return "string(" + v + ")", ""
	case "int":
		return "strconv.FormatInt(" + v + ", 10)", ""
	case "float":
		return "strconv.FormatFloat(" + v + ", 'g', -1, 64)", ""
	case "bool":
		return `"0"`, `"1"`
	case "milliseconds":
		return "strconv.FormatInt(" + v + ".Milliseconds(), 10)", ""
	case "seconds":
		return "strconv.FormatInt(int64(" + v + "/time.Second), 10)", ""
	case "unixmilli":
		return "strconv.FormatInt(" + v + ".UnixMilli(), 10)", ""
	}
	return v, ""
}

// condition is when the second word of text stands.
func condition(t parse.Type, v string) string {
	if t.Optional {
		return v + " != nil"
	}
	return v
}
