package parse

import (
	"cmp"
	_ "embed"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

var nameShape = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// badName says why name cannot be declared, or returns "". A result has a name in Go alone.
func badName(name string, result bool) string {
	switch {
	case !nameShape.MatchString(name):
		return "is no name: a letter, then letters, digits and _"
	case result && token.IsKeyword(name):
		return "is a word of Go"
	case result:
	case slices.Contains(keywords, name):
		return "is a word of Lua"
	case KnownGlobal(name) && (Members(name) != nil || name == "KEYS" || name == "ARGV" || name[0] == '_'): // A script may do without next, or type.
		return "is a name of the server's own"
	}
	return ""
}

// CanDeclare reports whether a name can be that of a key or an argument and hides nothing.
func CanDeclare(name string) bool {
	return badName(name, false) == "" && !KnownGlobal(name) && !token.IsKeyword(name)
}

// initialisms are written in capitals, as Go has them.
var initialisms = map[string]string{"id": "ID", "ids": "IDs", "ttl": "TTL", "uuid": "UUID", "url": "URL"}

// GoName returns name in CamelCase, with a capital at its front if it is exported.
func GoName(name string, exported bool) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' }) {
		if i == 0 && !exported {
			b.WriteString(strings.ToLower(part[:1]) + part[1:])
		} else {
			b.WriteString(cmp.Or(initialisms[part], strings.ToUpper(part[:1])+part[1:]))
		}
	}
	return b.String()
}

// Nearest returns the candidate that word is most likely a misspelling of, or "".
func Nearest(word string, candidates []string) string {
	if len(word) > 50 {
		return ""
	}
	best, bestDistance := "", min(len(word), 1+max(1, len(word)/3))
	for _, c := range candidates {
		switch long := min(len(c), len(word)) >= 3; {
		case long && strings.HasPrefix(c, word):
			return c
		case long && best == "" && strings.HasPrefix(word, c):
			best = c
		}
		if max(len(c)-len(word), len(word)-len(c)) >= bestDistance {
			continue
		}
		if d := Distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Distance is the number of letters to insert, drop, change or swap that makes a of b.
func Distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			case i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1], rows[i-2][j-2])
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
		}
	}
	return rows[len(a)][len(b)]
}

// suggest returns ": did you mean X?" for the nearest of the valid words, else all of them behind what they are.
func suggest(word string, valid []string, are string) string {
	if near := Nearest(word, valid); near != "" {
		return ": did you mean " + near + "?"
	}
	return "; " + are + " " + strings.Join(valid, ", ")
}

//go:embed words.txt
var wordsText string

var wordLists = readLists(wordsText)

// readLists reads lines of "name: word word". Comments begin with #.
func readLists(text string) map[string][]string {
	lists := map[string][]string{}
	for line := range strings.Lines(text) {
		if name, list, ok := strings.Cut(line, ": "); ok && line[0] != '#' {
			lists[name] = strings.Fields(list)
		}
	}
	return lists
}

// Words returns a list of words.txt.
func Words(name string) []string { return wordLists[name] }

// KnownGlobal reports whether the servers give scripts a global of this name.
func KnownGlobal(name string) bool {
	return Members(name) != nil || slices.Contains(Words("globals"), name)
}

// Listed returns what stands behind a word in the names of lists: the libraries that the servers give, for one.
func Listed(word string) (all []string) {
	for name := range wordLists {
		if rest, ok := strings.CutPrefix(name, word); ok {
			all = append(all, rest)
		}
	}
	return all
}

// Members returns the members of a global library, nil if name is none.
func Members(name string) []string { return Words("library " + name) }
