// Package emit writes what luagen ships: the text that the server gets, and the Go file around it.
package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Source returns the text that the server gets for a script without syntax findings: names bound
// on the lines of their annotations, comments blanked, no line moved.
func Source(s *parse.Script) string {
	l := link(s)
	bound := bindings(s, l)
	p := &printer{linker: l, unit: l.units[len(l.units)-1], main: true}
	var b strings.Builder
	end := 0
	for i := 0; i < len(s.Tokens); {
		tok := s.Tokens[i]
		gap := string(s.Source[end:tok.Pos.Offset])
		switch {
		case i == 0:
			b.WriteString(preamble(bound, tok) + indentation(gap))
		case strings.Contains(gap, "\n"):
			b.WriteString(strings.Repeat("\n", strings.Count(gap, "\n")) + indentation(gap))
		case strings.TrimLeft(gap, " \t\v\f") != "":
			b.WriteString(" ")
		default:
			b.WriteString(gap)
		}
		for _, function := range l.made(tok.Pos.Offset, s) {
			b.WriteString(function + " ")
		}
		text, next := p.next(i)
		b.WriteString(text)
		end = s.Tokens[next-1].End
		if next > i+1 {
			b.WriteString(strings.Repeat("\n", bytes.Count(s.Source[tok.Pos.Offset:end], []byte("\n"))))
		}
		i = next
	}
	return strings.TrimRight(b.String(), " \t\n\v\f") + "\n"
}

// Flags returns the first line of a script that has flags, else "". It is no Lua.
func Flags(s *parse.Script) string {
	if len(s.Header.Flags) == 0 {
		return ""
	}
	return "#!lua flags=" + strings.Join(s.Header.Flags, ",")
}

// indentation returns the white space that the last line of a gap between tokens is, "" if the gap has one line.
func indentation(gap string) string {
	last := gap[strings.LastIndexByte(gap, '\n')+1:]
	if len(last) == len(gap) || strings.TrimLeft(last, " \t\v\f") != "" {
		return ""
	}
	return last
}

// preamble returns the lines above the first token, with what is bound on them.
func preamble(bound map[int]string, first parse.Token) string {
	var b strings.Builder
	for line := 1; line < first.Pos.Line; line++ {
		b.WriteString(bound[line] + "\n")
	}
	text := b.String()
	if code := strings.TrimSpace(text); first.Text == "(" && code != "" && !strings.HasSuffix(code, "end") {
		return text[:len(text)-1] + ";\n" // The "(" would be taken for a call.
	}
	return text
}

// bindings returns the text that stands for each annotation, by line.
func bindings(s *parse.Script, l *linker) map[int]string {
	bound := map[int]string{}
	index := "i" // of loops: a name that no binding has
	for slices.ContainsFunc(s.Header.Bindings, func(b *parse.Binding) bool { return b.Name == index }) {
		index += "i"
	}
	bindFrom(bound, index, "KEYS", s.Header.Keys())
	bindFrom(bound, index, "ARGV", s.Header.Args())
	for _, inc := range s.Header.Includes {
		bound[inc.Pos.Line] = strings.Join(l.joined(inc.Script), " ")
	}
	if flags := Flags(s); flags != "" { // The header has a second line: that of a key.
		bound[1], bound[2] = flags, strings.TrimSpace(bound[1]+" "+bound[2])
	}
	return bound
}

func bindFrom(bound map[int]string, index, from string, all []*parse.Binding) {
	for i, b := range all {
		switch {
		case !b.Type.List:
			bound[b.Pos.Line] = bindOne(b, from, i+1)
		case len(all) == 1 && b.Type.Name != "bool":
			bound[b.Pos.Line] = fmt.Sprintf("local %s = %s", b.Name, from)
		default:
			bindLists(bound, index, from, all[:i], all[i:])
			return
		}
	}
}

// bindOne binds one key or argument. They are texts in Lua, but for a bool; an absent one is nil.
func bindOne(b *parse.Binding, from string, n int) string {
	text := fmt.Sprintf("local %s = %s[%d]", b.Name, from, n)
	switch {
	case b.Kind == parse.Key: // an absent one was not sent
	case b.Type.Name == "bool":
		text += " == '1'"
	case b.Type.Optional:
		text += fmt.Sprintf(" if %s == '' then %s = nil end", b.Name, b.Name)
	}
	return text
}

// bindLists binds the lists that follow the fixed keys, or arguments, by loops, because unpack fails from 8000 on. A list
// of arguments per a list of keys has the length of that list of keys; the others share what is left.
func bindLists(bound map[int]string, index, from string, fixed, lists []*parse.Binding) {
	var before []string // how many elements stand before a list
	if len(fixed) > 0 {
		before = []string{strconv.Itoa(len(fixed))}
	}
	left, sharing := append([]string{"#" + from}, before...), 0
	for _, b := range lists {
		if perKeys(b, lists) {
			left = append(left, "#"+b.Per)
		} else {
			sharing++
		}
	}
	share := strings.Join(left, " - ")
	if sharing > 1 {
		share = fmt.Sprintf("(%s) / %d", share, sharing)
	}
	for _, b := range lists {
		length, value := share, ""
		if perKeys(b, lists) {
			length = "#" + b.Per
		} else if sharing > 0 { // The others are as long as this one.
			share, sharing = "#"+b.Name, 0
		}
		if b.Type.Name == "bool" {
			value = " == '1'"
		}
		value = fmt.Sprintf("%s[%s]%s", from, strings.Join(append(before, index), " + "), value)
		text := "local %s = {} for %s = 1, %s do %[1]s[%[2]s] = %[4]s end"
		bound[b.Pos.Line] = fmt.Sprintf(text, b.Name, index, length, value)
		before = append(before, "#"+b.Name)
	}
}

// perKeys reports whether b has the length of a list of keys: of one that is not among lists, the arguments'.
func perKeys(b *parse.Binding, lists []*parse.Binding) bool {
	return b.Per != "" && !slices.ContainsFunc(lists, func(other *parse.Binding) bool { return other.Name == b.Per })
}

// oneLine returns a token so that it fits on one line.
func oneLine(tok parse.Token) string {
	if tok.Kind != parse.String || !strings.Contains(tok.Text, "\n") {
		return tok.Text
	}
	return "'" + escaped.Replace(tok.Value) + "'"
}

// escaped writes what a quoted text cannot have as it is.
var escaped = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\000`)

// Plain returns the command, in capitals, that a script consists of, or "": its whole body returns
// one literal call with the keys and then the arguments, each as it came, in their order.
func Plain(s *parse.Script) string {
	keys, args := s.Header.Keys(), s.Header.Args()
	if len(s.Body.Stmts) != 1 || len(s.Tokens) < 6 || len(s.Header.Flags) > 0 {
		return ""
	}
	command := s.Tokens[5]
	code := "return redis . call ( " + command.Text
	for _, b := range append(keys, args...) {
		if b.Prefix || b.Kind == parse.Command || b.Type.List || b.Type.Optional || b.Type.Name == "bool" {
			return "" // It is not passed on as it came.
		}
		code += " , " + b.Name
	}
	var have []string
	for _, tok := range s.Tokens {
		have = append(have, tok.Text)
	}
	name := strings.ToLower(command.Value)
	plain := len(keys) == 1 && slices.Contains(parse.Words("plain"), name) || len(args) == 0 && slices.Contains(parse.Words("plain of keys"), name)
	if !plain || strings.TrimRight(strings.Join(have, " "), " ;") != code+" )" {
		return ""
	}
	return strings.ToUpper(name)
}
