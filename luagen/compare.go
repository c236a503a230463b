package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
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
	return j.leftOver(func(f file) {
		j.differ(f.path, leftOver, unified(f.path+" ("+leftOver+")", "/dev/null", f.content, nil))
	})
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

// leftOver passes on the generated files in folders that no script accounts for. Single scripts say nothing about others.
func (j *job) leftOver(left func(file)) error {
	folders := j.folders
	if j.out != "" && len(folders) > 0 {
		folders = []string{j.out}
	}
	var paths []string
	for _, dir := range folders {
		paths = append(append(paths, glob(dir, "*.lua"+suffix)...), glob(dir, "*"+fuzzSuffix)...)
	}
	for _, path := range paths {
		have, err := existing(path)
		if err != nil {
			return err
		}
		if generated(have) && !j.makes(path) {
			left(file{path, have})
		}
	}
	return nil
}

// glob returns the files of a folder whose names match. What the folder is called is no pattern.
func glob(dir, pattern string) (paths []string) {
	names, _ := fs.Glob(os.DirFS(dir), pattern)
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// makes reports whether a file belongs to a script of this run. A fuzz target does without -fuzz, too.
func (j *job) makes(path string) bool {
	if script, ok := strings.CutSuffix(path, fuzzSuffix); ok {
		path = script + ".lua" + suffix
	}
	return slices.ContainsFunc(j.made, func(f file) bool { return f.path == path })
}

func generated(content []byte) bool { return bytes.HasPrefix(content, []byte(emit.Header+"\n")) }

// unified returns the difference of two texts in the unified format, in one hunk: from the first line that differs to the
// last. A file that is not current mostly differs in one place, or in its whole script.
func unified(oldName, newName string, oldText, newText []byte) string {
	a, b := slices.Collect(strings.Lines(string(oldText))), slices.Collect(strings.Lines(string(newText)))
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", oldName, newName, span(head, len(a)-tail), span(head, len(b)-tail))
	for i, lines := range [][]string{a[head : len(a)-tail], b[head : len(b)-tail]} {
		for _, line := range lines {
			fmt.Fprintf(&out, "%c%s\n", "-+"[i], strings.TrimSuffix(line, "\n"))
		}
	}
	return out.String()
}

// span writes the lines that a hunk has of one text. An empty range is written with the line before it.
func span(from, to int) string { return fmt.Sprintf("%d,%d", from+min(to-from, 1), to-from) }
