// Package parse reads annotated Redis scripts: Lua exactly as version 5.1 has it, with columns,
// comments and scopes, and the header that declares what a script takes and returns.
package parse

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Col count from 1; Col counts bytes. Offset counts from 0 in
// the source after [Normalize].
type Pos struct {
	Offset int `json:"-"`
	Line   int `json:"line"`
	Col    int `json:"column"`
}

// Add returns the place n bytes to the right, on the same line.
func (p Pos) Add(n int) Pos { return Pos{p.Offset + n, p.Line, p.Col + n} }

// Finding is one fault of a script. In JSON, fields may be added, never changed or removed.
type Finding struct {
	File string `json:"file"` // the path as it was given
	Pos
	Rule string `json:"rule"` // the name that "---@allow" takes
	Msg  string `json:"message"`
}

// String returns the finding as "file:line:col: message [rule]".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s [%s]", f.File, f.Pos.Line, f.Pos.Col, f.Msg, f.Rule)
}

// Sort sorts findings by file, place and text, drops repetitions, and joins what two servers refuse.
func Sort(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Msg, b.Msg))
	})
	findings = slices.Compact(findings)
	kept := findings[:0]
	for _, f := range findings {
		if len(kept) == 0 || !kept[len(kept)-1].join(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// join makes one finding of two: "Redis 7.0.15 does not know X" and "Valkey 8.0.1 does not know X".
func (f *Finding) join(next Finding) bool {
	server, does, ok := strings.Cut(next.Msg, " does not ")
	first, same := strings.CutSuffix(f.Msg, " does not "+does)
	if !ok || !same || f.File != next.File || f.Pos != next.Pos {
		return false
	}
	f.Msg = first + " and " + server + " do not " + does
	return true
}

// The rules of this package. None of them can be allowed away.
const (
	RuleSyntax = "syntax" // not Lua 5.1
	RuleLimit  = "limit"  // beyond what the server's compiler takes
	RuleHeader = "header" // an annotation that is unknown, misplaced, repeated or malformed
	RuleName   = "name"   // a declared name that Lua or Go cannot have
)

// Normalize returns src with every end of line as Lua counts them ("\r\n", "\n\r", "\r") written "\n". Lua itself reads them
// so, in strings too, and the shipped text is then the same whatever the checkout did to it.
func Normalize(src []byte) []byte {
	if !bytes.ContainsRune(src, '\r') {
		return src
	}
	out, _ := Ends(src)
	return out
}

// Ends is Normalize, and returns for each byte where it stands in src.
func Ends(src []byte) (out []byte, at []int) {
	for i := 0; i < len(src); i++ {
		c := src[i]
		at = append(at, i)
		if c != '\n' && c != '\r' {
			out = append(out, c)
			continue
		}
		out = append(out, '\n')
		if i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r') && src[i+1] != c {
			i++
		}
	}
	return out, at
}

// ReadFile reads a regular file: a read of another, such as a named pipe, may block for ever.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.ReadFile(path)
}

var serverWord = regexp.MustCompile(`\b(redis|server)\s*\.\s*p?call\b|\bKEYS\b|\bARGV\b|---@(key|arg|include|library)\b`)

// ownRedis is a library, or a table for tests, in the place of the server's. It begins with a text that is found fast.
var ownRedis = regexp.MustCompile(`local\s+redis\s*=\s*(require\b|\{)`)

// ForServer reports whether Lua is meant for a server: other programs have Lua, too. A text without one of these words is
// none, which is found sooner.
func ForServer(src []byte) bool {
	words := []string{"redis", "server", "KEYS", "ARGV", "---@"}
	found := slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(src, []byte(word)) })
	return found && serverWord.Match(src) && !ownRedis.Match(src)
}
