package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// words is what a wrapper's body begins with: checks, and the building of all keys and arguments as one slice; and the
// expression for the number of keys.
type words struct{ Lines, Keys string }

// Words returns those of a script.
func (g *generator) Words() words {
	var parts, row, counts []string
	lines, fixed := "", 0
	for _, b := range g.Ordered() {
		if !b.Type.List && (b.Kind != parse.Key || !b.Type.Optional) {
			row = append(row, g.word(b))
			if b.Kind == parse.Key {
				fixed++
			}
			continue
		}
		checks, list := g.list(b)
		lines += checks
		parts, row = append(append(parts, slice(row)...), list), nil
		if b.Kind == parse.Key {
			counts = append(counts, "len("+list+")")
		}
	}
	parts = append(parts, slice(row)...)
	all := parts[0]
	if len(parts) > 1 {
		g.imports["slices"] = true
		all = "slices.Concat(" + strings.Join(parts, ", ") + ")"
	}
	if fixed > 0 || len(counts) == 0 {
		counts = append([]string{strconv.Itoa(fixed)}, counts...)
	}
	return words{lines + "words := " + all + "\n", strings.Join(counts, "+")}
}

// slice returns a slice of the words, on several lines if one is too long; none of no words.
func slice(row []string) []string {
	one := "[]string{" + strings.Join(row, ", ") + "}"
	switch {
	case len(row) == 0:
		return nil
	case len(one) <= columns-16:
		return []string{one}
	}
	return []string{"[]string{\n" + wrappedList(row, columns-15) + "\n}"}
}

// list returns the checks of a list's length, and the expression for its words.
func (g *generator) list(b *parse.Binding) (checks, list string) {
	v := g.value(b)
	if b.Kind == parse.Key && b.Type.Optional {
		return fmt.Sprintf("lastKey := scriptcall.OptionalKey(%s)\n", v), "lastKey"
	}
	if b == g.Header.Keys()[0] {
		checks = fmt.Sprintf("c.NotEmpty(%q, len(%s))\n", b.Name, v)
	}
	if b.Per != "" {
		per := slices.IndexFunc(g.Header.Bindings, func(other *parse.Binding) bool { return other.Name == b.Per })
		checks += fmt.Sprintf("c.SameLength(%q, len(%s), %q, len(%s))\n", b.Name, v, b.Per, g.value(g.Header.Bindings[per]))
	}
	if b.Type.Name == "string" {
		return checks, v
	}
	return checks, fmt.Sprintf("scriptcall.List(%q, %s, %s)", b.Name, v, g.encoder(b.Type))
}

// word returns the expression for the word of a key or argument that is no list.
func (g *generator) word(b *parse.Binding) string {
	v := g.value(b)
	switch {
	case b.Kind == parse.Key && b.Prefix:
		return fmt.Sprintf("c.Prefix(%q, %s)", b.Name, v)
	case b.Kind == parse.Command:
		return fmt.Sprintf("c.Command(%q, %s, \"%s\")", b.Name, v, strings.ReplaceAll(choices(b), "|", `", "`))
	case b.Choices != nil:
		return fmt.Sprintf("c.OneOf(%q, %s, \"%s\")", b.Name, v, strings.Join(b.Choices, `", "`))
	case b.Kind == parse.Channel && g.sharded() != "":
		return g.channel(b)
	case b.Type.Name == "string":
		return v
	case b.Type.Optional:
		return fmt.Sprintf("scriptcall.Optional(%q, %s, %s)", b.Name, v, g.encoder(b.Type))
	}
	return fmt.Sprintf("%s(%q, %s)", g.encoder(b.Type), b.Name, v)
}

// channel is word for a channel of a script that may call SPUBLISH.
func (g *generator) channel(b *parse.Binding) string {
	method := "Channel"
	if b.Prefix {
		method = "ChannelPrefix"
	}
	key := g.value(g.Header.Keys()[0])
	if g.Header.Keys()[0].Type.List {
		key += "..."
	}
	return fmt.Sprintf("c.%s(%q, %s, %s, %s)", method, b.Name, g.value(b), g.sharded(), key)
}

// encoder returns the Go expression for what makes the word of one value.
func (g *generator) encoder(t parse.Type) string {
	if t.Bounded {
		return "c.In(" + g.bounds(t) + ")." + types[t.Name].method
	}
	return "c." + types[t.Name].method
}
