package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/emit"
)

// compare prints how the files on disk differ from what they should be.
func (j *job) compare() error {
	for _, f := range j.made {
		if err := j.compareFile(f); err != nil {
			return err
		}
	}
	left, err := j.leftOver()
	if err != nil {
		return err
	}
	for _, f := range left {
		j.differ(f.path, leftOver, unified(f.path+" ("+leftOver+")", "/dev/null", f.content, nil))
	}
	return nil
}

func (j *job) compareFile(f file) error {
	have, err := existing(f.path)
	switch {
	case err != nil:
		return err
	case have == nil:
		j.differ(f.path, "missing", unified("/dev/null", f.path+" (missing)", nil, f.content))
	case !bytes.Equal(have, f.content):
		j.differ(f.path, "stale", unified(f.path+" (stale)", f.path, have, f.content))
	}
	return nil
}

// leftOver is what is wrong with a file without a script, and the cure.
const leftOver = "left over: its script is gone; delete it"

// leftOver returns the generated files in the folders of this run that no script accounts for. Single scripts say nothing
// about others.
func (j *job) leftOver() (left []file, err error) {
	folders := j.folders
	if j.out != "" && len(folders) > 0 {
		folders = []string{j.out}
	}
	var paths []string
	for _, dir := range folders {
		for _, end := range []string{".lua" + suffix, fuzzSuffix} {
			found, err := filepath.Glob(filepath.Join(dir, "*"+end))
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
	}
	for _, path := range paths {
		have, err := existing(path)
		if err != nil {
			return nil, err
		}
		if generated(have) && !j.makes(path) {
			left = append(left, file{path, have})
		}
	}
	return left, nil
}

// makes reports whether a file belongs to a script of this run. A fuzz target does without -fuzz, too.
func (j *job) makes(path string) bool {
	if script, ok := strings.CutSuffix(path, fuzzSuffix); ok {
		path = script + ".lua" + suffix
	}
	return slices.ContainsFunc(j.made, func(f file) bool { return f.path == path })
}

// generated reports whether luagen wrote a file.
func generated(content []byte) bool { return bytes.HasPrefix(content, []byte(emit.Header+"\n")) }

// around is the number of equal lines that a hunk shows on each side.
const around = 3

// edit is one line of a difference: ' ' in both, '-' only old, '+' only new.
type edit struct {
	kind byte
	line string
}

// unified returns the difference of two texts in the unified format.
func unified(oldName, newName string, oldText, newText []byte) string {
	edits := difference(lines(oldText), lines(newText))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
	for start, end := hunk(edits, 0); start < end; start, end = hunk(edits, end) {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(edits, start, end, '+'), span(edits, start, end, '-'))
		for _, e := range edits[start:end] {
			fmt.Fprintf(&b, "%c%s\n", e.kind, e.line)
		}
	}
	return b.String()
}

// span writes the lines that a hunk has of one text: those of the other kind are none. An empty range is written with
// the line before it.
func span(edits []edit, start, end int, other byte) string {
	var from, n int
	for i, e := range edits[:end] {
		switch {
		case e.kind == other:
		case i < start:
			from++
		default:
			n++
		}
	}
	return fmt.Sprintf("%d,%d", from+min(n, 1), n)
}

// hunk returns where the next hunk at or after i begins and ends; both are the end if none follows.
func hunk(edits []edit, i int) (start, end int) {
	first := i
	for first < len(edits) && edits[first].kind == ' ' {
		first++
	}
	if first == len(edits) {
		return first, first
	}
	last := first
	for k := first; k < len(edits) && k <= last+2*around; k++ {
		if edits[k].kind != ' ' {
			last = k
		}
	}
	return max(i, first-around), min(len(edits), last+1+around)
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// difference returns the edits that turn a into b, by the longest common subsequence of what lies
// between their equal ends.
func difference(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return slices.Concat(equal(a[:head]), middle(a[head:len(a)-tail], b[head:len(b)-tail]), equal(a[len(a)-tail:]))
}

// equal returns lines that both texts have.
func equal(lines []string) (edits []edit) {
	for _, line := range lines {
		edits = append(edits, edit{' ', line})
	}
	return edits
}

// middle compares two texts of generated files, which are small: the table has len(a) x len(b)
// entries.
func middle(a, b []string) []edit {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}
