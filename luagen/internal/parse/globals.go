package parse

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed words.txt
var wordsText string

var wordLists = Lists(wordsText)

// Lists reads lines of "name: word word". Comments begin with #.
func Lists(text string) map[string][]string {
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

// GlobalNames returns the names of all globals that the servers give.
func GlobalNames() []string {
	all := slices.Clone(Words("globals"))
	for name := range wordLists {
		if library, ok := strings.CutPrefix(name, "library "); ok {
			all = append(all, library)
		}
	}
	return all
}

// Members returns the members of a global library, nil if name is none.
func Members(name string) []string { return Words("library " + name) }
