package golua

import (
	_ "embed"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// language is how a language writes texts, as far as scripts need it.
type language struct {
	texts *regexp.Regexp // texts, and comments
	hole  *regexp.Regexp // what begins a piece of a text that is known at run time only
	join  *regexp.Regexp // what stands between two texts that are one
	holey string         // a text that begins with one of these may have such pieces
	plain string         // one that begins with one of these has no escapes but of its quote and the backslash
	keeps bool           // a backslash without meaning stays
}

// languageFile has a paragraph for each language: the ends of its files' names, and what type language needs.
//
//go:embed languages.txt
var languageFile string

// languages returns the languages by the ends of file names.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(languageFile), "\n\n") {
		ends, lines, _ := strings.Cut(paragraph, "\n")
		has := map[string][]string{}
		for line := range strings.SplitSeq(lines, "\n") {
			name, value, _ := strings.Cut(line, " ")
			has[name] = append(has[name], value)
		}
		one := func(name string) string { return strings.Join(has[name], "|") }
		for _, end := range strings.Fields(ends) {
			all[end] = &language{
				regexp.MustCompile("(?m)" + one("texts")), regexp.MustCompile(one("hole")), regexp.MustCompile(one("join")),
				one("holey"), one("plain"), has["keeps"] != nil,
			}
		}
	}
	return all
})

var opening = regexp.MustCompile("^(?:<<<?[~-]?(['\"]?)[A-Z_][^\n]*\n|%q.|[rRbBfFuU]{0,2}(?:\"\"\"|'''|[\"'`]))")
var closing = regexp.MustCompile("(?:\n[ \t]*[A-Z_]\\w*[;,)]*|\"\"\"|'''|[\"'`}])$")
var changes = regexp.MustCompile(`^(?:%[^=>]|\+|\.(?:format|replace|replaceAll|gsub|sub|tr)\b|\.\s*[$"'])`) // what stands behind a text
var changed = regexp.MustCompile(`(?:[+.]|\b(?:sprintf|format|str_replace|strtr)\([^()\n]*)$`)              // and what before it

// IsText reports whether ReadText knows the language of a file, by its name.
func IsText(path string) bool { return languages()[filepath.Ext(path)] != nil }

// ReadText finds the scripts in the texts of a file that is no Go. Its code is not read: a text that Lua takes is a script.
func ReadText(path string, src []byte) *Folder {
	r, l, all := newReader(), languages()[filepath.Ext(path)], string(src)
	r.sources[path] = src
	base, from, end := r.open(path, src), 0, 0
	var sum text
	for _, m := range append(l.texts.FindAllStringIndex(all, -1), []int{len(all), len(all)}) {
		t := l.text(all[m[0]:m[1]], base+token.Pos(m[0]))
		if t.pieces != nil && sum.pieces != nil && l.join.MatchString(all[end:m[0]]) {
			sum, end = joined(sum, t), m[1]
			continue
		}
		if calling.Match(sum.bytes) {
			before, behind := strings.TrimSpace(all[max(0, from-80):from]), strings.TrimSpace(all[end:min(end+40, len(all))])
			sum.changed = changed.MatchString(before) || changes.MatchString(behind)
			r.found = append(r.found, &candidate{begin: sum.pieces[0], text: sum, in: []string{path}})
		}
		sum, from, end = t, m[0], m[1]
	}
	r.decide()
	for i := range r.Unseen {
		r.Unseen[i].Sent = true // It is not known which of them are.
	}
	return &r.Folder
}

// text reads a text as it is written. A comment has no pieces, nor has the page around PHP, which may begin as a text does.
func (l *language) text(written string, at token.Pos) (t text) {
	m, ends := opening.FindStringSubmatchIndex(written), closing.FindStringIndex(written)
	if m == nil || ends == nil {
		return t
	}
	open, end := written[:m[1]], ends[0]
	single := strings.HasSuffix(open, "'") || m[2] >= 0 && written[m[2]:m[3]] == "'"
	plain := strings.ContainsAny(open[:1], l.plain) || single && strings.Contains(l.plain, "'")
	holey := !plain && strings.ContainsAny(open, l.holey)
	t.pieces = []token.Pos{at + token.Pos(m[1])}
	for i := m[1]; i < end; {
		rest := written[i:end]
		piece, n := rest[:1], 1
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			piece, n = l.escape(rest, plain, open[len(open)-1])
		case holey && l.hole.MatchString(rest):
			if piece, n = l.skip(rest); piece == "" {
				t = joined(t, hole(at+token.Pos(i)))
			}
		}
		t.add(piece, at+token.Pos(i), 0)
		i += n
	}
	return t
}

// escape returns what a backslash and the bytes behind it mean, and how many they are.
func (l *language) escape(rest string, plain bool, quote byte) (piece string, n int) {
	_, _, tail, err := strconv.UnquoteChar(rest, 0)
	switch c := rest[1]; {
	case c == quote, plain && c == '\\', !plain && strings.IndexByte("'\"`$", c) >= 0:
		return rest[1:2], 2
	case plain:
		return rest[:1], 1
	case c == '\n':
		return "", 2
	case err == nil:
		piece, _ = strconv.Unquote(`"` + strings.TrimSuffix(rest, tail) + `"`)
		return piece, len(rest) - len(tail)
	case l.keeps:
		return rest[:2], 2
	}
	return rest[1:2], 2
}

// skip returns how long a piece is that is known at run time only; and a brace, if it only writes one.
func (l *language) skip(rest string) (piece string, n int) {
	begin := l.hole.FindString(rest)
	if begin == "{{" || begin == "}}" {
		return begin[:1], 2
	}
	n = len(begin)
	for depth := strings.Count(begin, "{"); depth > 0 && n < len(rest); n++ {
		depth += strings.Count(rest[n:n+1], "{") - strings.Count(rest[n:n+1], "}")
	}
	return "", n
}
